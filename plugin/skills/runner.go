package skills

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// RunnerOptions configures a [Runner]. The zero value has useful defaults.
type RunnerOptions struct {
	// Interpreters are the programs that run scripts, by the extension of the script. Nil means
	// python3 for .py, bash for .sh and node for .js. A script with another extension runs only if
	// it is an executable file.
	Interpreters map[string]string
	// Env lists the variables of the process that scripts get. They always have PATH, HOME, TMPDIR,
	// LANG, AWAKEN_SKILL and AWAKEN_IDEMPOTENCY_KEY, and no others.
	Env []string
	// Read lists further files and folders that scripts may read, beside the programs and libraries
	// of the system.
	Read []string
	// TempDir is where the working folders are made; "" means os.TempDir.
	TempDir string
	Limits  Limits
	// Unconfined permits scripts on systems that cannot confine them. They can then do all that the
	// process can do.
	Unconfined bool
}

// Limits are the limits of a script. A field that is 0 has its default.
type Limits struct {
	Time      time.Duration // 60 seconds
	Output    int           // bytes of the output, and of the errors, that are returned: 32 KiB
	Flood     int           // bytes of output after which the script is ended: 8 MiB
	Memory    int64         // bytes of memory of a process: 512 MiB
	FileBytes int64         // bytes of a file that the script writes: 64 MiB
	Processes int           // 32
	Files     int           // open files of a process: 128
	Parallel  int           // scripts of the process that run at the same time: 4
}

func (l Limits) withDefaults() Limits {
	l.Time = cmp.Or(l.Time, time.Minute)
	l.Output = cmp.Or(l.Output, 32<<10)
	l.Flood = cmp.Or(l.Flood, 8<<20)
	l.Memory = cmp.Or(l.Memory, 512<<20)
	l.FileBytes = cmp.Or(l.FileBytes, 64<<20)
	l.Processes = cmp.Or(l.Processes, 32)
	l.Files = cmp.Or(l.Files, 128)
	l.Parallel = cmp.Or(l.Parallel, 4)
	return l
}

// Runner runs the scripts of skills. A script runs without a shell, in a copy of its skill's folder,
// with a short environment. The kernel (Linux with Landlock and seccomp, on amd64 and arm64) keeps it
// from reading other files than those of the system's programs, from writing outside of its folder,
// from all networks, and from other processes. Where that is impossible, scripts are refused; see
// RunnerOptions.Unconfined. A process that is root runs scripts as a user without rights.
//
// To confine a script before it begins, the runner starts the program itself anew, under another
// name; package skills notices that before main is called.
type Runner struct {
	interpreters map[string]string // paths by extension
	env, read    []string
	temp         string
	limits       Limits
	unconfined   bool
	slots        chan struct{}
}

// NewRunner returns a runner. Interpreters that the system does not have are left out.
func NewRunner(o RunnerOptions) *Runner {
	r := &Runner{interpreters: map[string]string{}, env: o.Env, read: o.Read, temp: cmp.Or(o.TempDir, os.TempDir()), limits: o.Limits.withDefaults(), unconfined: o.Unconfined}
	r.slots = make(chan struct{}, r.limits.Parallel)
	programs := o.Interpreters
	if programs == nil {
		programs = map[string]string{".py": "python3", ".sh": "bash", ".js": "node"}
	}
	for ext, name := range programs {
		if found := lookup(name); found != "" {
			r.interpreters[ext] = found
		}
	}
	return r
}

// systemPath is the PATH of scripts.
const systemPath = "/usr/local/bin:/usr/bin:/bin"

// lookup finds a program in the system's folders, or at an absolute path. Folders of the user that
// starts the process are not searched: confined scripts cannot read them.
func lookup(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	for dir := range strings.SplitSeq(systemPath, ":") {
		full := filepath.Join(dir, name)
		if _, err := exec.LookPath(full); err == nil {
			return full
		}
	}
	return ""
}

// refusal is why a script did not run, with a code for the model.
type refusal struct{ code, message string }

func (r *refusal) Error() string { return "[" + r.code + "] " + r.message }

// output is the result of a script.
type output struct {
	OK              bool   `json:"ok"`
	ExitCode        int    `json:"exit_code"`
	Stdout          string `json:"stdout"`
	Stderr          string `json:"stderr"`
	StdoutTruncated bool   `json:"stdout_truncated"`
	StderrTruncated bool   `json:"stderr_truncated"`
	Ended           string `json:"ended,omitempty"` // why the script was ended: script_timeout or output_limit
}

// run runs a script of a skill and returns its output.
func (r *Runner) run(ctx context.Context, s *Skill, script string, args []string, key string) (*output, error) {
	argv, err := r.command(s, script)
	if err != nil {
		return nil, err
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	dir, err := os.MkdirTemp(r.temp, "awaken-skill-")
	if err != nil {
		return nil, err
	}
	defer func() { removeAll(dir) }()
	if err := unpack(s, dir); err != nil {
		return nil, err
	}
	j := &job{argv: append(argv, args...), dir: dir, env: r.environment(s, dir, key), read: r.read, limits: r.limits}
	ctx, cancel := context.WithTimeout(ctx, r.limits.Time)
	defer cancel()
	return r.start(ctx, j)
}

// command returns the program that runs a script, and its first arguments.
func (r *Runner) command(s *Skill, script string) ([]string, error) {
	f, ext := s.Files[script], path.Ext(script)
	if program, ok := r.interpreters[ext]; ok {
		return []string{program, script}, nil
	}
	if f.Exec && (bytes.HasPrefix(f.Data, []byte("#!/")) || bytes.HasPrefix(f.Data, []byte("\x7fELF"))) {
		return []string{"./" + script}, nil
	}
	return nil, &refusal{"unsupported_runtime", fmt.Sprintf("%s cannot run here: want an executable file, or one of %q", script, slices.Sorted(maps.Keys(r.interpreters)))}
}

// environment returns the whole environment of a script.
func (r *Runner) environment(s *Skill, dir, key string) []string {
	env := []string{"PATH=" + systemPath, "HOME=" + dir, "TMPDIR=" + dir, "LANG=C.UTF-8", "AWAKEN_SKILL=" + s.Name, "AWAKEN_IDEMPOTENCY_KEY=" + key}
	for _, name := range r.env {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// unpack writes the files of a skill below dir, which is new and empty.
func unpack(s *Skill, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if parent := path.Dir(name); parent != "." {
			if err := root.MkdirAll(parent, 0o700); err != nil {
				return err
			}
		}
		mode := fs.FileMode(0o600)
		if s.Files[name].Exec {
			mode = 0o700
		}
		if err := root.WriteFile(name, s.Files[name].Data, mode); err != nil {
			return err
		}
	}
	return nil
}

// removeAll removes a working folder. A script may have made folders that cannot be read, and more of them inside of
// each other than files can be open: folders are moved to one place before they are removed, so that none is deep.
func removeAll(dir string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer func() { _ = os.Remove(dir) }()
	defer func() { _ = root.Close() }()
	c := &clearing{root: root, trash: rand.Text()}
	_ = root.Chmod(".", 0o700)
	_ = root.Mkdir(c.trash, 0o700)
	c.clear(".")
	for len(c.folders) > 0 {
		at := c.folders[len(c.folders)-1]
		c.folders = c.folders[:len(c.folders)-1]
		c.clear(at)
		_ = root.Remove(at)
	}
	_ = root.Remove(c.trash)
}

// clearing is the removal of a working folder.
type clearing struct {
	root    *os.Root
	trash   string   // the folder that folders are moved to
	moved   int      // folders
	folders []string // that are to be removed
}

// clear removes the files in a folder, and moves the folders in it to the trash.
func (c *clearing) clear(at string) {
	_ = c.root.Chmod(at, 0o700)
	for progress := true; progress; {
		progress = false
		f, err := c.root.Open(at)
		if err != nil {
			return
		}
		entries, _ := f.ReadDir(1000)
		_ = f.Close()
		for _, e := range entries {
			name := path.Join(at, e.Name())
			if name == c.trash {
				continue
			}
			if !e.IsDir() {
				progress = c.root.Remove(name) == nil || progress
				continue
			}
			_ = c.root.Chmod(name, 0o700) // a folder that cannot be written cannot be moved
			top := path.Join(c.trash, strconv.Itoa(c.moved))
			if c.root.Rename(name, top) == nil {
				c.folders, c.moved, progress = append(c.folders, top), c.moved+1, true
			}
		}
	}
}

// job is a script that is about to run.
type job struct {
	argv, env, read []string
	dir             string
	limits          Limits
}

// start runs the job until it ends, and ends all its processes.
func (r *Runner) start(ctx context.Context, j *job) (*output, error) {
	cmd, ready, err := j.prepare(r.unconfined)
	if err != nil {
		return nil, err
	}
	return j.attend(ctx, cmd, ready)
}

// attend starts the command of the job and waits for its end. It calls ready when the command has started.
func (j *job) attend(ctx context.Context, cmd *exec.Cmd, ready func()) (*output, error) {
	stdout, stderr := &capture{most: j.limits.Output}, &capture{most: j.limits.Output}
	flooded := make(chan struct{})
	var once sync.Once
	var pipes, ins []*os.File
	var readers sync.WaitGroup
	closeAll := func() {
		for _, p := range pipes {
			_ = p.Close()
		}
	}
	for _, c := range []*capture{stdout, stderr} {
		in, out, err := os.Pipe()
		if err != nil {
			closeAll()
			return nil, err
		}
		pipes, ins = append(pipes, out), append(ins, in)
		if c == stdout {
			cmd.Stdout = out
		} else {
			cmd.Stderr = out
		}
		readers.Go(func() {
			defer func() { _ = in.Close() }()
			if _, err := io.CopyN(c, in, int64(j.limits.Flood)); err == nil {
				once.Do(func() { close(flooded) })
				_, _ = io.Copy(io.Discard, in)
			}
		})
	}
	exited, wait, err := launch(cmd)
	closeAll() // the script has its own
	if err != nil {
		readers.Wait()
		return nil, fmt.Errorf("start script: %w", err)
	}
	ready()
	ended := ""
	select {
	case <-exited:
	case <-flooded:
		ended = "output_limit"
	case <-ctx.Done():
		ended = "script_timeout"
	}
	killGroup(cmd.Process.Pid) // before the process is reaped: its number is its group's
	<-exited
	err = wait()
	defer time.AfterFunc(lingering, func() { // a process that has left the group may hold the pipes open
		for _, in := range ins {
			_ = in.Close()
		}
	}).Stop()
	readers.Wait()
	return result(ctx, err, ended, stdout, stderr, cmd)
}

// lingering is how long output is read that comes after a script's end.
const lingering = 2 * time.Second

// result describes how a script ended.
func result(ctx context.Context, err error, ended string, stdout, stderr *capture, cmd *exec.Cmd) (*output, error) {
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return nil, err
	}
	if ended == "script_timeout" && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return nil, context.Cause(ctx) // the call was cancelled
	}
	out := &output{ExitCode: cmd.ProcessState.ExitCode(), Stdout: stdout.text(), Stderr: stderr.text(),
		StdoutTruncated: stdout.cut, StderrTruncated: stderr.cut, Ended: ended}
	if out.ExitCode == confinementFailed && strings.HasPrefix(out.Stderr, confinementPrefix) {
		return nil, &refusal{"sandbox_unavailable", "this system cannot confine scripts: " + strings.TrimSpace(strings.TrimPrefix(out.Stderr, confinementPrefix))}
	}
	out.OK = out.ExitCode == 0 && ended == ""
	return out, nil
}

// How the program that confines a script says that it could not.
const (
	confinementFailed = 126
	confinementPrefix = "awaken: confine: "
)

// capture keeps the beginning of what is written to it.
type capture struct {
	most int
	data []byte
	cut  bool
}

func (c *capture) Write(p []byte) (int, error) {
	keep := min(len(p), c.most-len(c.data))
	c.data = append(c.data, p[:keep]...)
	c.cut = c.cut || keep < len(p)
	return len(p), nil
}

func (c *capture) text() string { return strings.ToValidUTF8(string(c.data), "\ufffd") }
