//go:build unix

package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// jobVar has the job of a process that a test started, as JSON.
const jobVar = "AWAKEN_TEST_JOB"

// WithJobs is [WithPostgres] for tests that start processes of their own program: a process that
// has a job does it with work, and exits.
//
//	func TestMain(m *testing.M) { os.Exit(testenv.WithJobs(m, work, &server)) }
func WithJobs[J any](m *testing.M, work func(J) error, p **Postgres, settings ...string) int {
	text := os.Getenv(jobVar)
	if text == "" {
		return WithPostgres(m, p, settings...)
	}
	var job J
	err := json.Unmarshal([]byte(text), &job)
	if err == nil {
		err = work(job)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// JobCommand returns the command of a process that does a job. Its program is [JobProgram]. It panics if the job is not JSON or the program
// cannot be built.
func JobCommand(ctx context.Context, job any, env ...string) *exec.Cmd {
	program, err := JobProgram()
	if err != nil {
		panic(err)
	}
	return jobCommand(ctx, program, job, env...)
}

func jobCommand(ctx context.Context, program string, job any, env ...string) *exec.Cmd {
	text, err := json.Marshal(job)
	if err != nil {
		panic(err)
	}
	cmd := exec.CommandContext(ctx, program, "-test.run=^$")
	// The race detector lets every process wait for a second at its end.
	cmd.Env = append(append(os.Environ(), jobVar+"="+string(text), "GORACE=atexit_sleep_ms=0"), env...)
	return cmd
}

// RunJob runs a process that does a job, and reports whether a failpoint killed it. Spec is the
// failpoint; the job enables it (failpoint.EnableFromEnv). A process that has not ended after a
// minute is an error that says where it hangs.
// Its program is [JobProgram].
func RunJob(ctx context.Context, job any, spec string) (killed bool, err error) {
	program, err := JobProgram()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := jobCommand(ctx, program, job, "AWAKEN_FAILPOINT="+spec)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // it prints its stacks
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if ctx.Err() != nil {
		return false, fmt.Errorf("worker with failpoint %q does not end: %w:\n%s", spec, ctx.Err(), out.Bytes())
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL && spec != "" {
			return true, nil
		}
	}
	if err != nil {
		return false, fmt.Errorf("worker with failpoint %q: %w:\n%s", spec, err, out.Bytes())
	}
	return false, nil
}
