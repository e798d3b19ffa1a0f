package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

var errTimeout = errors.New("the program exceeded its time limit")

// process is the process that runs a command.
type process struct {
	cmd    *exec.Cmd
	report *os.File // says why the command could not be confined, which has then not run; nil if it need not be
	order  func()   // called when it has started
	finish func()   // called when it has ended
}

// refusal returns why the command could not be confined, or "".
func (p *process) refusal() string {
	if p.report == nil {
		return ""
	}
	_ = p.report.SetReadDeadline(time.Now().Add(lingering))
	why, _ := io.ReadAll(io.LimitReader(p.report, 4<<10))
	return string(why)
}

// attend starts a process and waits for the end of the command.
func (c *Command) attend(ctx context.Context, p *process) (*Result, error) {
	defer p.finish()
	var live sync.Mutex
	stdout, stderr := c.newCapture(&live), c.newCapture(&live)
	flooded := make(chan struct{})
	var once sync.Once
	var pipes, ins []*os.File
	var readers sync.WaitGroup
	closeAll := func() {
		for _, p := range pipes {
			_ = p.Close()
		}
	}
	for _, to := range []*capture{stdout, stderr} {
		in, out, err := os.Pipe()
		if err != nil {
			closeAll()
			readers.Wait()
			return nil, err
		}
		pipes, ins = append(pipes, out), append(ins, in)
		if to == stdout {
			p.cmd.Stdout = out
		} else {
			p.cmd.Stderr = out
		}
		readers.Go(func() {
			defer func() { _ = in.Close() }()
			if _, err := io.CopyN(to, in, int64(c.Limits.Flood)); err == nil {
				once.Do(func() { close(flooded) })
				_, _ = io.Copy(io.Discard, in)
			}
		})
	}
	exited, wait, err := launch(p)
	closeAll() // the program has its own
	if err != nil {
		readers.Wait()
		return nil, fmt.Errorf("start program: %w", err)
	}
	p.order()
	ended := c.watch(ctx, p.cmd.Process.Pid, exited, flooded)
	killGroup(p.cmd.Process.Pid) // before the process is reaped: its number is its group's
	<-exited
	err = wait()
	awaitGroup(p.cmd.Process.Pid)
	defer time.AfterFunc(lingering, func() { // a process that has left the group may hold the pipes open
		for _, in := range ins {
			_ = in.Close()
		}
	}).Stop()
	readers.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return nil, err
	}
	if ended == Timeout && !errors.Is(context.Cause(ctx), errTimeout) {
		return nil, context.Cause(ctx)
	}
	if why := p.refusal(); why != "" {
		return nil, &UnavailableError{why}
	}
	return result(p.cmd.ProcessState.ExitCode(), ended, stdout, stderr), nil
}

// lingering is how long output is read that comes after a program's end.
const lingering = 2 * time.Second

// watchEvery is how often the memory and the files of a program are looked at. Looking at them takes at most a tenth of the time.
const watchEvery = 200 * time.Millisecond

// watch waits until the program has exited, or must be ended, and says why. A ctx that is done is a timeout.
func (c *Command) watch(ctx context.Context, pid int, exited, flooded <-chan struct{}) Reason {
	timer := time.NewTimer(watchEvery)
	defer timer.Stop()
	for {
		select {
		case <-exited:
			return ""
		case <-flooded:
			return OutputLimit
		case <-ctx.Done():
			return Timeout
		case <-timer.C:
			start := time.Now()
			if memoryOf(pid) > c.Limits.TotalMemory {
				return MemoryLimit
			}
			if c.overDisk() {
				return DiskLimit
			}
			timer.Reset(max(watchEvery, 10*time.Since(start)))
		}
	}
}

// result describes how a program ended.
func result(code int, ended Reason, stdout, stderr *capture) *Result {
	return &Result{ExitCode: code, Stdout: stdout.text(), Stderr: stderr.text(), StdoutTruncated: stdout.cut, StderrTruncated: stderr.cut, Ended: ended}
}

// capture keeps the beginning of what is written to it, and passes all of it on.
type capture struct {
	most   int
	data   []byte
	cut    bool
	live   *sync.Mutex // held while output is passed on
	output func(text string)
}

func (c *Command) newCapture(live *sync.Mutex) *capture {
	return &capture{most: c.Limits.Output, live: live, output: c.Output}
}

func (c *capture) Write(p []byte) (int, error) {
	keep := min(len(p), c.most-len(c.data))
	c.data = append(c.data, p[:keep]...)
	c.cut = c.cut || keep < len(p)
	if c.output != nil && keep > 0 {
		c.live.Lock()
		defer c.live.Unlock()
		c.output(strings.ToValidUTF8(string(p[:keep]), "\ufffd"))
	}
	return len(p), nil
}

func (c *capture) text() string { return strings.ToValidUTF8(string(c.data), "\ufffd") }
