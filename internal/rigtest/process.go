//go:build unix

package rigtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/testenv"
)

// Process is a process of a test. Its methods are for one goroutine, except Log.
type Process struct {
	tb      testing.TB
	command func() *exec.Cmd
	cmd     *exec.Cmd
	out     *Output
	over    chan struct{} // closed once the process is gone
}

// Start starts a process. It is killed at the end of the test. If the test has failed by then, the process prints its stacks, and
// the test logs what the process wrote. Command returns the command anew for every [Process.Again].
func Start(tb testing.TB, command func() *exec.Cmd) *Process {
	tb.Helper()
	p := &Process{tb: tb, command: command}
	p.Again()
	tb.Cleanup(func() {
		if tb.Failed() && !p.Ended() {
			_, _ = p.cmd.Process.Signal(syscall.SIGQUIT), p.cmd.Process.Signal(syscall.SIGCONT)
			p.within(5 * time.Second)
		}
		p.Kill()
		if tb.Failed() {
			tb.Logf("process %d wrote:\n%s", p.PID(), p.Log())
		}
	})
	return p
}

// Job returns the command of a process that does a job of the test binary; see [testenv.WithJobs].
func Job(job any, env ...string) func() *exec.Cmd {
	return func() *exec.Cmd { return testenv.JobCommand(context.Background(), job, env...) }
}

// Again starts the process that has ended again.
func (p *Process) Again() {
	p.tb.Helper()
	p.cmd, p.out, p.over = p.command(), &Output{}, make(chan struct{})
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.WaitDelay = p.out, p.out, 5*time.Second // processes of its own may have the output open
	if err := p.cmd.Start(); err != nil {
		p.tb.Fatal(err)
	}
	go func(cmd *exec.Cmd, out *Output, over chan struct{}) {
		defer close(over)
		_ = cmd.Wait()
		if strings.Contains(out.String(), "DATA RACE") {
			p.tb.Errorf("process %d has a data race:\n%s", cmd.Process.Pid, out)
		}
	}(p.cmd, p.out, p.over)
}

// PID returns the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log returns what the process has written.
func (p *Process) Log() string { return p.out.String() }

// Over returns a channel that is closed once the process is gone.
func (p *Process) Over() <-chan struct{} { return p.over }

// Ended reports whether the process is gone.
func (p *Process) Ended() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// within waits until the process is gone, and reports whether it was in time.
func (p *Process) within(limit time.Duration) bool {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-p.over:
		return true
	case <-late.C:
		return false
	}
}

// Says waits until the process has written a text. It fails the test if the process ends first, or is silent for too long.
func (p *Process) Says(text string) {
	p.tb.Helper()
	late, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if !p.out.await(text, p.over, late.Done()) {
		p.tb.Fatalf("the process does not say %q:\n%s", text, p.Log())
	}
}

// Signal sends a signal to the process, which may be gone.
func (p *Process) Signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// Kill kills the process and waits until it is gone.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.over
}

// Stop asks the process to end, waits until it has, and returns how it did.
func (p *Process) Stop() error {
	p.Signal(syscall.SIGTERM)
	if !p.within(Patience) {
		p.Kill()
		return errors.New("the process does not stop")
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the process ended with %s", p.cmd.ProcessState)
	}
	return nil
}

// Dies waits until the process kills itself, as one does at a failpoint, and reports whether it did. One that has not after a
// while is stopped, and must end without an error.
func (p *Process) Dies(within time.Duration) bool {
	p.tb.Helper()
	if !p.within(within) {
		p.Signal(syscall.SIGTERM)
		<-p.over
	}
	ws, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	killed := ws.Signaled() && ws.Signal() == syscall.SIGKILL
	if !killed && ws.ExitStatus() != 0 {
		p.tb.Errorf("the process ended with %v:\n%s", p.cmd.ProcessState, p.Log())
	}
	return killed
}

// Pause stops all that the process does, and returns when it has stopped.
func (p *Process) Pause() {
	p.tb.Helper()
	p.Signal(syscall.SIGSTOP)
	p.Paused()
}

// Paused waits until the process has stopped, by its own signal or the test's.
func (p *Process) Paused() {
	p.tb.Helper()
	stopped := make(chan error, 1)
	go func(pid int) {
		var ws syscall.WaitStatus
		_, err := syscall.Wait4(pid, &ws, syscall.WUNTRACED, nil)
		for errors.Is(err, syscall.EINTR) {
			_, err = syscall.Wait4(pid, &ws, syscall.WUNTRACED, nil)
		}
		if err == nil && !ws.Stopped() {
			err = fmt.Errorf("it has ended with %v", ws)
		}
		stopped <- err
	}(p.PID())
	late := time.NewTimer(Patience)
	defer late.Stop()
	select {
	case err := <-stopped:
		if err != nil {
			p.tb.Fatalf("the process does not pause: %v\n%s", err, p.Log())
		}
	case <-late.C:
		p.tb.Fatalf("the process does not pause:\n%s", p.Log())
	}
}

// Continue lets a paused process continue.
func (p *Process) Continue() { p.Signal(syscall.SIGCONT) }

// Peak returns how many MiB of memory the process that has ended had at most.
func (p *Process) Peak() int64 {
	if usage, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss >> 10
	}
	return 0
}

var residentSize = regexp.MustCompile(`VmRSS:\s+(\d+)`)

// Memory returns how many MiB of memory the process takes now. It needs /proc.
func (p *Process) Memory() float64 {
	p.tb.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	kib := residentSize.FindSubmatch(data)
	if err != nil || kib == nil {
		p.tb.Errorf("the memory of process %d is not known: %v", p.PID(), err)
		return 0
	}
	n, _ := strconv.ParseFloat(string(kib[1]), 64)
	return n / 1024
}
