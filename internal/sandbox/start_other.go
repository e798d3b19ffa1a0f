//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"os"
	"os/exec"
)

// Available returns an *[UnavailableError].
func Available() error { return &UnavailableError{"want Linux on amd64 or arm64"} }

// prepare returns the process that runs the command. This system cannot confine it.
func (c *Command) prepare() (*process, error) {
	if !c.Unconfined {
		return nil, Available()
	}
	cmd := &exec.Cmd{Path: c.Argv[0], Args: c.Argv, Env: c.Env, Dir: c.Dir.Name()}
	return &process{cmd: cmd, order: func() {}, finish: func() {}}, nil
}

// launch starts a process. The channel is closed when it has ended; wait returns how.
func launch(p *process) (exited <-chan struct{}, wait func() error, err error) {
	if err := p.cmd.Start(); err != nil {
		return nil, nil, err
	}
	done := make(chan struct{})
	var end error
	go func() {
		defer close(done)
		end = p.cmd.Wait()
	}()
	return done, func() error { <-done; return end }, nil
}

// killGroup ends the process. The system has no groups that this package knows.
func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

// awaitGroup does nothing: there is none.
func awaitGroup(int) {}

// memoryOf returns 0: this system does not say it.
func memoryOf(int) int64 { return 0 }
