package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken/internal/sandbox"
)

// process is a program that is a server. It leads a group of processes, which ends with it.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	temp   *sandbox.Temp // the working folder, if it was made for the program
	errors *tail         // the end of what it wrote to standard error
	heard  chan struct{} // closed when all of that was read
	ended  chan struct{}
	err    error // how it ended; set before ended is closed
	once   sync.Once
}

// stopGrace is how long a program may take to end after its input was closed, and again after it
// was asked to.
const stopGrace = 2 * time.Second

const tempPrefix = "awaken-mcp-"

// sweep removes the working folders that killed processes have left.
var sweep = sync.OnceFunc(func() { sandbox.SweepTemp(os.TempDir(), tempPrefix) })

// start starts the program of a server.
func start(s *Server, log *slog.Logger) (_ *process, err error) {
	p := &process{errors: &tail{}, heard: make(chan struct{}), ended: make(chan struct{})}
	dir := s.Dir
	if dir == "" {
		sweep()
		if p.temp, err = sandbox.NewTemp(os.TempDir(), tempPrefix); err != nil {
			return nil, fmt.Errorf("working folder: %w", err)
		}
		dir = p.temp.Path
	}
	var theirs []*os.File // the ends of the program
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
		if err != nil {
			p.release()
		}
	}()
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	in, stdin := pipe()
	stdout, out := pipe()
	stderr, errs := pipe()
	p.stdin, p.stdout = stdin, stdout
	for _, f := range []*os.File{in, out, errs} {
		if f != nil {
			theirs = append(theirs, f)
		}
	}
	if err != nil {
		return nil, err
	}
	path := s.Command
	if strings.ContainsRune(path, filepath.Separator) && !filepath.IsAbs(path) { // relative to this process, not to the program's folder
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	p.cmd = exec.Command(path, s.Args...)
	p.cmd.Dir, p.cmd.Env = dir, environment(s)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, out, errs
	lead(p.cmd)
	if err = p.cmd.Start(); err != nil {
		_ = stderr.Close()
		return nil, fmt.Errorf("cannot start %q: %w", s.Command, err)
	}
	go p.readErrors(stderr, s, log)
	go func() {
		p.err = p.cmd.Wait()
		endGroup(p.cmd) // what the program has started
		close(p.ended)
	}()
	return p, nil
}

// environment returns the variables that the program of a server gets.
func environment(s *Server) []string {
	var env []string
	for _, name := range s.Inherit {
		if _, own := s.Env[name]; own {
			continue
		}
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for name, v := range s.Env {
		env = append(env, name+"="+v.Expose())
	}
	slices.Sort(env)
	return env
}

// maxErrorLine limits a line of standard error, in bytes. The rest of a longer one is dropped.
const maxErrorLine = 4 << 10

// readErrors keeps the end of what the program writes to standard error, and logs it, without secrets.
func (p *process) readErrors(r *os.File, s *Server, log *slog.Logger) {
	defer close(p.heard)
	defer r.Close()
	secrets, longest := s.secrets(), 0
	if len(secrets) > 0 {
		longest = len(secrets[0])
	}
	lines := bufio.NewReaderSize(r, maxErrorLine)
	for rest := false; ; { // rest: what comes belongs to a line that was cut off
		part, err := lines.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		if line := without(secrets, string(bytes.TrimRight(part, "\r\n"))); line != "" && !rest {
			if long { // it may end within a secret
				line = line[:max(len(line)-longest, 0)]
			}
			p.errors.add(line)
			log.Debug("MCP server", "stderr", line)
		}
		if rest = long; err != nil && !long {
			return
		}
	}
}

// stop ends the program and everything that it has started: it closes its input, asks it to end, and
// kills it.
func (p *process) stop() {
	p.once.Do(func() {
		_ = p.stdin.Close()
		if !p.endsWithin(stopGrace) {
			askGroup(p.cmd)
			if !p.endsWithin(stopGrace) {
				endGroup(p.cmd)
				<-p.ended
			}
		}
		p.release()
	})
}

// kill ends the program and everything that it has started, at once.
func (p *process) kill() {
	if !p.endsWithin(0) {
		endGroup(p.cmd)
	}
	p.stop()
}

func (p *process) endsWithin(d time.Duration) bool {
	select {
	case <-p.ended:
		return true
	default:
	}
	select {
	case <-p.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// release gives back what the program had.
func (p *process) release() {
	for _, f := range []*os.File{p.stdin, p.stdout} {
		if f != nil {
			_ = f.Close()
		}
	}
	if p.temp != nil {
		p.temp.Remove()
	}
}

// why returns how the program ended, with the end of its standard error, or nil if it has not.
func (p *process) why() error {
	select {
	case <-p.ended:
	case <-time.After(100 * time.Millisecond): // its output ends shortly before it does
		return nil
	}
	select {
	case <-p.heard:
	case <-time.After(time.Second): // something outside its group keeps it open
	}
	how := "the program ended"
	if p.err != nil {
		how += ": " + p.err.Error()
	}
	if said := p.errors.String(); said != "" {
		how += ": " + said
	}
	return errors.New(how)
}

// tail keeps the last lines of a text.
type tail struct {
	mu    sync.Mutex
	lines []string
}

// tailLines and tailLine limit what is kept.
const (
	tailLines = 5
	tailLine  = 400 // bytes
)

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, strings.Clone(line[:min(len(line), tailLine)]))
	if len(t.lines) > tailLines {
		t.lines = slices.Delete(t.lines, 0, len(t.lines)-tailLines)
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(strings.Join(t.lines, " | "), "�")
}

// input writes to a program. One that does not read what it is sent must not hold up those who write: the
// write fails, and with it the session.
type input struct {
	*os.File
	limit time.Duration // of a write

	mu     sync.Mutex
	ending bool
}

func (in *input) Write(data []byte) (int, error) {
	in.mu.Lock()
	limit := in.limit
	if in.ending {
		limit = closeGrace
	}
	_ = in.SetWriteDeadline(time.Now().Add(limit)) // systems whose pipes have no deadlines wait
	in.mu.Unlock()
	return in.File.Write(data)
}

// end gives writes only a moment from now on, those in progress too.
func (in *input) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ending = true
	_ = in.SetWriteDeadline(time.Now().Add(closeGrace)) // the file may be closed
}

// objects reads the lines of r that are JSON objects. Programs that are no careful servers print other
// lines too. A line that exceeds limit is an error.
type objects struct {
	r     *bufio.Reader
	limit int
	line  []byte // not yet read
}

func newObjects(r io.Reader, limit int) *objects {
	return &objects{r: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

func (o *objects) Read(p []byte) (int, error) {
	for len(o.line) == 0 {
		line, err := o.next()
		if err != nil {
			return 0, err
		}
		if t := bytes.TrimSpace(line); len(t) > 0 && (t[0] == '{' || t[0] == '[') {
			o.line = append(t, '\n')
		}
	}
	n := copy(p, o.line)
	o.line = o.line[n:]
	return n, nil
}

// next returns the next line.
func (o *objects) next() ([]byte, error) {
	var line []byte
	for {
		part, err := o.r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > o.limit:
			return nil, fmt.Errorf("%w: a line exceeds %d bytes", errTooLong, o.limit)
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if len(bytes.TrimSpace(line)) > 0 && errors.Is(err, io.EOF) {
				return line, nil
			}
			return nil, err
		}
	}
}

var errTooLong = errors.New("message is too long")
