//go:build !linux || !(amd64 || arm64)

package skills

import (
	"os"
	"os/exec"
)

// prepare returns the command that runs the job. This system cannot confine it.
func (j *job) prepare(unconfined bool) (cmd *exec.Cmd, started func(), err error) {
	if !unconfined {
		return nil, nil, &refusal{"sandbox_unavailable", "this system cannot confine scripts: want Linux on amd64 or arm64"}
	}
	return &exec.Cmd{Path: j.argv[0], Args: j.argv, Env: j.env, Dir: j.dir}, func() {}, nil
}

// launch starts a command. The channel is closed when its process has ended; wait returns how.
func launch(cmd *exec.Cmd) (exited <-chan struct{}, wait func() error, err error) {
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	done := make(chan struct{})
	var end error
	go func() {
		defer close(done)
		end = cmd.Wait()
	}()
	return done, func() error { <-done; return end }, nil
}

// killGroup ends the process. The system has no groups that this package knows.
func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
