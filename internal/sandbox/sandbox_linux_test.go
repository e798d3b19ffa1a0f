//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SANDBOX_CALLER"); dir != "" {
		call(dir)
		return
	}
	os.Exit(m.Run())
}

// marks counts the marks of tests, which are seconds that processes sleep: nothing else sleeps that long.
var marks atomic.Int64

func newMark() string { return fmt.Sprint(20_000_000 + 1000*int64(os.Getpid()) + marks.Add(1)) }

// asleep lists the processes that sleep for a mark.
func asleep(mark string) (pids []int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range lines {
		if data, _ := os.ReadFile(f); string(data) == "sleep\x00"+mark+"\x00" {
			pid := 0
			_, _ = fmt.Sscanf(f, "/proc/%d/cmdline", &pid)
			pids = append(pids, pid)
		}
	}
	return pids
}

// folder returns a folder that programs of other users can reach.
func folder(t *testing.T) *os.Root {
	t.Helper()
	dir, err := os.MkdirTemp("", "awaken-sandbox-")
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = root.Close()
		RemoveAll(dir)
	})
	return root
}

func needSandbox(t *testing.T) {
	t.Helper()
	if err := Available(); err != nil {
		t.Skip(err)
	}
}

// inModes runs a test with namespaces, if the system has them, and without.
func inModes(t *testing.T, f func(t *testing.T)) {
	needSandbox(t)
	for _, without := range []bool{false, true} {
		t.Run(fmt.Sprintf("namespaces=%t", !without), func(t *testing.T) {
			was := noNamespaces.Load()
			noNamespaces.Store(was || without)
			defer noNamespaces.Store(was)
			f(t)
		})
	}
}

func sh(dir *os.Root, text string, l Limits) *Command {
	return &Command{Argv: []string{"/bin/sh", "-c", text}, Dir: dir, Env: []string{"PATH=" + Path}, Limits: l}
}

// daemons leaves processes behind in every way.
const daemons = `sleep MARK & (sleep MARK &) ; nohup sleep MARK >/dev/null 2>&1 & setsid sleep MARK & setsid -f sleep MARK; (trap '' TERM HUP INT; exec sleep MARK) & touch begun; sleep MARK`

// call runs a program, as a process that is about to be killed.
func call(dir string) {
	noNamespaces.Store(os.Getenv("SANDBOX_ALONE") == "")
	text := strings.ReplaceAll(daemons, "MARK", os.Getenv("SANDBOX_MARK"))
	if os.Getenv("SANDBOX_OFF") != "" {
		cmd := exec.Command("/bin/sh", "-c", text)
		cmd.Dir = dir
		_ = cmd.Run()
		return
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := Run(context.Background(), sh(root, text, Limits{})); err != nil {
		fmt.Println(err)
	}
}

// kills starts a caller, kills it when its program has begun, and returns the processes that are left when f says so.
func kills(t *testing.T, env []string, left func(pids []int) bool) []int {
	t.Helper()
	dir, mark := folder(t), newMark()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append([]string{"SANDBOX_CALLER=" + dir.Name(), "SANDBOX_MARK=" + mark, "PATH=" + Path}, env...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for tries := 0; len(asleep(mark)) < 3; tries++ {
		if tries == 3000 {
			t.Fatal("the program does not begin")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	pids := asleep(mark)
	for tries := 0; !left(pids) && tries < 2000; tries++ {
		time.Sleep(10 * time.Millisecond)
		pids = asleep(mark)
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return pids
}

// A program, with all that it has started, ends when the process that runs it is killed. Without the sandbox it would stay.
func TestRun_EndsWithItsCaller(t *testing.T) {
	needSandbox(t)
	t.Parallel()
	none := func(pids []int) bool { return len(pids) == 0 }
	for _, mode := range []string{"SANDBOX_ALONE=1", "SANDBOX_ALONE="} {
		if pids := kills(t, []string{mode}, none); len(pids) > 0 {
			t.Errorf("%s: %d processes are left", mode, len(pids))
		}
	}
	if pids := kills(t, []string{"SANDBOX_OFF=1"}, func(pids []int) bool { return len(pids) > 2 }); len(pids) == 0 {
		t.Error("the processes end without the sandbox, too: the test shows nothing")
	}
}

// What a program leaves behind ends with it, and with its time.
func TestRun_EndsAllProcesses(t *testing.T) {
	inModes(t, func(t *testing.T) {
		for _, end := range []string{"exit 0", "wait"} {
			dir, mark := folder(t), newMark()
			text := strings.ReplaceAll(strings.TrimSuffix(daemons, "sleep MARK")+end, "MARK", mark)
			res, err := Run(t.Context(), sh(dir, text, Limits{Time: 3 * time.Second}))
			if err != nil || end == "wait" && res.Ended != Timeout {
				t.Fatalf("%s: %+v, %v", end, res, err)
			}
			if pids := asleep(mark); len(pids) > 0 {
				t.Errorf("%s: %d processes are left", end, len(pids))
			}
		}
	})
}

// Every limit holds, and the result says which one ended the program.
func TestRun_Limits(t *testing.T) {
	inModes(t, func(t *testing.T) {
		for _, tt := range []struct {
			name, text string
			limits     Limits
			want       Reason
			out        string // in the output
		}{
			{"time", "sleep 100", Limits{Time: 200 * time.Millisecond}, Timeout, ""},
			{"flood", "yes", Limits{Flood: 1 << 16}, OutputLimit, "y\ny\n"},
			{"total memory", `for i in 1 2 3 4; do python3 -c "x=bytearray(40<<20); x[::4096]=b'x'*(len(x)//4096); import time; time.sleep(20)" & done; wait`, Limits{TotalMemory: 100 << 20}, MemoryLimit, ""},
			{"memory", `python3 -c "x=bytearray(200<<20)" || echo refused`, Limits{Memory: 100 << 20}, "", "refused"},
			{"disk", `i=0; while :; do i=$((i+1)); head -c 100000 /dev/zero > f$i; done`, Limits{DiskBytes: 5 << 20}, DiskLimit, ""},
			{"many small files", `i=0; while :; do i=$((i+1)); : > f$i; done`, Limits{DiskBytes: 1 << 20}, DiskLimit, ""},
			{"file", `head -c 3000000 /dev/zero > f || echo refused`, Limits{FileBytes: 1 << 20}, "", "refused"},
			{"files", `i=3; while [ $i -lt 200 ]; do eval "exec 5</dev/null" || exit 1; python3 -c "f=[open('/dev/null') for i in range(100)]" || echo refused; exit; done`, Limits{Files: 50}, "", "refused"},
			{"processes", `for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 2 & done 2>&1; echo refused`, Limits{Processes: 8, Time: 10 * time.Second}, "", "ork"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				if strings.Contains(tt.text, "python3") && Lookup("python3") == "" {
					t.Skip("no Python")
				}
				res, err := Run(t.Context(), sh(folder(t), tt.text, tt.limits))
				if err != nil || res.Ended != tt.want || !strings.Contains(res.Stdout+res.Stderr, tt.out) {
					t.Errorf("%+v, %v, want %q and %q", res, err, tt.want, tt.out)
				}
			})
		}
	})
}

// A program whose call is cancelled ends, and the error is the cause.
func TestRun_Cancelled(t *testing.T) {
	inModes(t, func(t *testing.T) {
		dir, mark, why := folder(t), newMark(), errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		c := sh(dir, "echo begun; setsid sleep "+mark+" & sleep "+mark, Limits{})
		c.Output = func(string) { cancel(why) }
		if res, err := Run(ctx, c); !errors.Is(err, why) {
			t.Errorf("%+v, %v", res, err)
		}
		if pids := asleep(mark); len(pids) > 0 {
			t.Errorf("%d processes are left", len(pids))
		}
	})
}

// A program of root's runs as the owner of its folder, if it shall, and not at all if that is root.
func TestRun_AsOwner(t *testing.T) {
	needSandbox(t)
	if os.Geteuid() != 0 {
		t.Skip("the process is not root")
	}
	dir := folder(t)
	c := sh(dir, "id -u; echo x > new", Limits{})
	c.AsOwner = true
	unavailable := &UnavailableError{}
	if res, err := Run(t.Context(), c); !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "belongs to root") {
		t.Errorf("in a folder of root's: %+v, %v", res, err)
	}
	if err := dir.Chown(".", 64001, 64001); err != nil {
		t.Fatal(err)
	}
	if res, err := Run(t.Context(), c); err != nil || res.Stdout != "64001\n" || !res.OK() {
		t.Errorf("%+v, %v", res, err)
	}
}

// A program of root's cannot change files that its user has elsewhere, unless that user was made for the folder and has none.
func TestRun_FilesOfItsUser(t *testing.T) {
	needSandbox(t)
	if os.Geteuid() != 0 {
		t.Skip("the process is not root: the attacks show it")
	}
	outside := filepath.Join(folder(t).Name(), "file")
	for _, uid := range []int{64001, firstUser + 100_000_000} {
		dir := folder(t)
		if err := errors.Join(os.WriteFile(outside, nil, 0o600), os.Chown(outside, uid, uid), os.Chmod(filepath.Dir(outside), 0o755), dir.Chown(".", uid, uid)); err != nil {
			t.Fatal(err)
		}
		c := sh(dir, "touch own; chmod 700 own && echo own; chmod 666 "+outside+" && echo other", Limits{})
		c.AsOwner = true
		want := ""
		if uid > firstUser {
			want = "own\nother\n" // no system has this user, so none has such a file
		}
		if res, err := Run(t.Context(), c); err != nil || res.Stdout != want {
			t.Errorf("user %d: %+v, %v", uid, res, err)
		}
	}
}

// A program that could not be confined has not run: the error says so, however little output is kept. A program that has run cannot feign it.
func TestRun_Refusal(t *testing.T) {
	needSandbox(t)
	unavailable := &UnavailableError{}
	c := &Command{Argv: []string{"./none"}, Dir: folder(t), Limits: Limits{Output: 1}}
	if res, err := Run(t.Context(), c); !errors.As(err, &unavailable) || unavailable.Reason != "execute ./none: no such file or directory" {
		t.Errorf("%+v, %v", res, err)
	}
	const text = "awaken: confine: feigned"
	if res, err := Run(t.Context(), sh(folder(t), "for i in 1 2 3 4 5 6 7; do echo "+text+" >&$i; done 2>/dev/null; echo "+text+" >&2; exit 126", Limits{})); err != nil || res.ExitCode != 126 || res.Stderr != text+"\n" {
		t.Errorf("%+v, %v", res, err)
	}
}

// A pipe in the place of a folder, which a program can put there while its files are counted, is not waited for.
func TestDiskUsed_PipeInPlaceOfFolder(t *testing.T) {
	t.Parallel()
	root := folder(t)
	if err := syscall.Mkfifo(filepath.Join(root.Name(), "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		(&survey{root: root}).folder("pipe", 0)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it waits for the other end of the pipe")
	}
}
