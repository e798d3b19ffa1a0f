package file_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/failpoint"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/store/file"
)

// crashVar makes the test binary the process that is killed. Its value is the folder.
const crashVar = "AWAKEN_FILE_CRASH"

func TestMain(m *testing.M) {
	job, dir, _ := strings.Cut(os.Getenv(crashVar), ":")
	switch job {
	case "":
		os.Exit(m.Run())
	case "work":
		work(dir)
	case "lock":
		_, err := file.Open(dir, nil)
		fmt.Print(err)
	case "config":
		workOnConfig(dir)
	case "full":
		fillUp(dir)
	}
	os.Exit(0)
}

// child does a job in another process, see [testenv.JobProgram].
func child(t *testing.T, job, dir, failpoints string) (out string, killed bool) {
	t.Helper()
	program, err := testenv.JobProgram()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^$")
	cmd.Env = append(os.Environ(), crashVar+"="+job+":"+dir, "AWAKEN_FAILPOINT="+failpoints)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	data, err := cmd.Output()
	if err != nil && !strings.Contains(err.Error(), "killed") {
		t.Fatalf("%s with %q: %v\n%s%s", job, failpoints, err, data, stderr.String())
	}
	return string(data), err != nil
}

// crashSteps are the changes that the process makes: one of each kind, and deletions, which
// change several journals.
func crashSteps() []step {
	del := func(id string, children awaken.ChildStrategy) func(t testing.TB, s *file.Store) {
		return func(t testing.TB, s *file.Store) {
			if err := s.DeleteThread(t.Context(), id, children); err != nil {
				t.Fatal(err)
			}
		}
	}
	fork := func(from string, seq int, id string) func(t testing.TB, s *file.Store) {
		return func(t testing.TB, s *file.Store) {
			if _, err := s.Fork(t.Context(), from, seq, id, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return append(steps(), []step{
		{"fork again", "g", fork("t", 4, "g")},
		{"fork the fork", "ff", fork("f", 4, "ff")},
		{"delete what was forked", "t", del("t", awaken.DetachChildren)},
		{"make it again", "t", func(t testing.TB, s *file.Store) { acquire(t, s, "t", "") }},
		{"fork of a fork again", "fg", fork("g", 2, "fg")},
		{"fork of a fork of a fork", "ffg", fork("fg", 1, "ffg")},
		{"delete all of them", "g", del("g", awaken.CascadeChildren)},
		{"prune", "f", func(t testing.TB, s *file.Store) {
			if _, err := s.Prune(t.Context(), farFuture); err != nil {
				t.Fatal(err)
			}
		}},
	}...)
}

// processT runs steps outside a test.
type processT struct{ testing.TB }

func (processT) Helper() {}
func (processT) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}
func (p processT) Fatalf(format string, args ...any) { p.Fatal(fmt.Sprintf(format, args...)) }

// work makes all changes and reports each after it returned.
func work(dir string) {
	t := processT{background{}}
	if err := failpoint.EnableFromEnv(); err != nil {
		t.Fatal(err)
	}
	s, err := file.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, st := range crashSteps() {
		st.do(t, s)
		fmt.Println(i)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Println("closed")
}

// Wherever the process is killed, every change that it reported is stored, and at most the
// one in flight besides: completely, even if it changes several journals.
func TestKill(t *testing.T) {
	t.Parallel()
	// The state after each change.
	dir := t.TempDir()
	s := quick(t, dir, nil)
	after := []string{dumpDir(t, cloned(t, dir))}
	for _, st := range crashSteps() {
		st.do(t, s)
		after = append(after, dumpDir(t, cloned(t, dir)))
	}
	kills, partly := 0, 0
	for _, point := range []string{"file.before_write", "file.after_write", "file.after_sync", "file.before_projection", "file.after_projection", "file.before_removal"} {
		n := 0
		for hit := 1; ; hit++ {
			dir := t.TempDir()
			out, killed := child(t, "work", dir, fmt.Sprintf("%s:%d", point, hit))
			if !killed {
				break
			}
			kills++
			n++
			acked := 0
			for sc := bufio.NewScanner(strings.NewReader(out)); sc.Scan(); {
				acked++
			}
			got := dumpDir(t, cloned(t, dir))
			switch {
			case got == after[min(acked, len(after)-1)]:
			case acked+1 < len(after) && got == after[acked+1]:
				partly++
			default:
				t.Fatalf("killed at hit %d of %s, after %d changes: it is\n%s\nwant\n%s", hit, point, acked, got, after[min(acked, len(after)-1)])
			}
			checkCopies(t, dir)
			if !testenv.Long() && n%4 == 0 { // a sample in the short mode
				hit += 5
			}
		}
		if n < 3 {
			t.Errorf("only %d processes were killed at %s", n, point)
		}
	}
	t.Logf("%d processes killed; %d had made a change they could not say any more", kills, partly)
	if partly == 0 {
		t.Error("no process was killed between making a change and saying so")
	}
}

func TestOpen_RefusesASecondProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "the folder")
	s := open(t, dir, nil)
	if _, err := file.Open(dir, nil); !errors.Is(err, file.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("in the same process: error is %v, want ErrLocked and the folder", err)
	}
	out, _ := child(t, "lock", dir, "")
	if !strings.Contains(out, file.ErrLocked.Error()) || !strings.Contains(out, dir) || !strings.Contains(out, fmt.Sprint(os.Getpid())) {
		t.Errorf("in another process: error is %s, want that the folder %s is in use by %d", out, dir, os.Getpid())
	}
	acquire(t, s, "t", "r").commit(nil, "it still works")
	closing(t, s)
	if out, _ := child(t, "lock", dir, ""); out != "<nil>" {
		t.Errorf("after Close: %s", out)
	}
	open(t, dir, nil) // the other process died without closing
}
