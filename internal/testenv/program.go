//go:build unix

package testenv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Program is a running program of internal/thirdparty. It ends when the test process ends, however it ends.
type Program struct {
	// Address is where the program listens, as it printed it.
	Address string

	stdin io.Closer // closing it ends the program
	cmd   *exec.Cmd
	stop  func() error // closes stdin and waits
}

// Run starts a program of internal/thirdparty until the end of the test.
func Run(tb testing.TB, name string, args ...string) *Program {
	tb.Helper()
	p, err := StartProgram(name, args...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return p
}

// StartProgram starts a program of internal/thirdparty and returns when it listens. What it writes to standard error appears where the tests
// write theirs.
func StartProgram(name string, args ...string) (*Program, error) {
	path, err := build(name)
	if err != nil {
		return nil, err
	}
	p := &Program{cmd: exec.Command(path, args...)}
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt from the terminal must only reach the tests
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.stop = sync.OnceValue(func() error { return errors.Join(p.stdin.Close(), p.cmd.Wait()) })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s does not say where it listens: %w", name, err), p.Stop())
	}
	p.Address = strings.TrimSpace(line)
	return p, nil
}

// Stop ends the program and waits until it has ended.
func (p *Program) Stop() error { return p.stop() }

// build returns the path of a program of internal/thirdparty.
func build(name string) (string, error) {
	built.Lock()
	defer built.Unlock()
	if path := built.paths[name]; path != "" {
		return path, nil
	}
	path, err := goBuild(name, "build", filepath.Join(root.dir, "internal", "thirdparty"), "./"+name)
	if err == nil {
		built.paths[name] = path
	}
	return path, err
}

// Awaken returns the path of the command: AWAKEN_BIN, or a program built from the current sources without the race detector.
func Awaken() (string, error) { return awaken() }

var awaken = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("AWAKEN_BIN"); path != "" {
		return path, nil
	}
	return goBuild("awaken", "build", root.dir, "./cmd/awaken")
})

// JobProgram returns the program of processes that a test starts to kill them. It is the test binary, but in short tests built without the
// race detector: there are hundreds of such processes, and what they do is tested with the detector elsewhere.
func JobProgram() (string, error) { return jobProgram() }

var jobProgram = sync.OnceValues(func() (string, error) {
	if !Race || Long() {
		return os.Args[0], nil
	}
	rel, err := filepath.Rel(root.dir, root.start)
	if err != nil {
		return "", err
	}
	return goBuild(strings.ReplaceAll(rel, "/", "-")+".test", "test", root.start, "-c", "-vet=off", ".")
})

// goBuild has the go command build a program, and returns its path. The processes of all tests share what one of them has built: each has
// the go command check whether the program is built from the current sources, one process at a time.
func goBuild(name, command, folder string, args ...string) (string, error) {
	if root.err != nil {
		return "", root.err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "awaken-tests", strings.ReplaceAll(strings.TrimPrefix(root.dir, "/"), "/", "-"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, name+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	path := filepath.Join(dir, name)
	cmd := exec.Command("go", append([]string{command, "-C", folder, "-o", path}, args...)...)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off") // the flags of the tests may be for another module, or with the race detector
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return path, nil
}

// built is the programs that this process may start.
var built = struct {
	sync.Mutex
	paths map[string]string
}{paths: map[string]string{}}

// root is the folder of the module, and where the tests started. A test may change its working folder later.
var root = func() (r struct {
	dir, start string
	err        error
}) {
	r.start, r.err = os.Getwd()
	if r.err == nil {
		r.dir, r.err = moduleRoot()
	}
	return r
}()
