package skills

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"github.com/awaken-go/awaken/internal/sandbox"
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
	Time        time.Duration // 60 seconds
	Output      int           // bytes of the output, and of the errors, that are returned: 32 KiB
	Flood       int           // bytes of output after which the script is ended: 8 MiB
	Memory      int64         // bytes of memory of a process: 512 MiB
	TotalMemory int64         // bytes of memory of all its processes: 1 GiB
	FileBytes   int64         // bytes of a file that the script writes: 64 MiB
	DiskBytes   int64         // bytes of all files in its folder: 256 MiB
	Processes   int           // 32
	Files       int           // open files of a process: 128
	Parallel    int           // scripts of the process that run at the same time: 4
}

// confined returns the limits of the sandbox.
func (l Limits) confined() sandbox.Limits {
	return sandbox.Limits{Time: l.Time, Output: l.Output, Flood: l.Flood, Memory: l.Memory, TotalMemory: l.TotalMemory, FileBytes: l.FileBytes, DiskBytes: l.DiskBytes,
		Processes: l.Processes, Files: l.Files}
}

// Runner runs the scripts of skills. A script runs without a shell, in a copy of its skill's folder,
// with a short environment. The kernel (Linux with Landlock and seccomp, on amd64 and arm64) keeps it
// from reading other files than those of the system's programs, from writing outside of its folder,
// from all networks, and from other processes. Where that is impossible, scripts are refused; see
// RunnerOptions.Unconfined. A process that is root runs scripts as a user without rights.
//
// To confine a script before it begins, the runner starts the program itself anew, under another
// name, which it notices before main is called.
type Runner struct {
	interpreters map[string]string // paths by extension
	env, read    []string
	temp         string
	limits       sandbox.Limits
	unconfined   bool
	slots        chan struct{}
}

// NewRunner returns a runner. Interpreters that the system does not have are left out.
func NewRunner(o RunnerOptions) *Runner {
	r := &Runner{interpreters: map[string]string{}, env: o.Env, read: o.Read, temp: cmp.Or(o.TempDir, os.TempDir()), limits: o.Limits.confined().WithDefaults(), unconfined: o.Unconfined}
	r.slots = make(chan struct{}, cmp.Or(o.Limits.Parallel, 4))
	programs := o.Interpreters
	if programs == nil {
		programs = map[string]string{".py": "python3", ".sh": "bash", ".js": "node"}
	}
	for ext, name := range programs {
		if found := sandbox.Lookup(name); found != "" {
			r.interpreters[ext] = found
		}
	}
	sandbox.SweepTemp(r.temp, tempPrefix)
	return r
}

// tempPrefix begins the names of the folders that scripts run in.
const tempPrefix = "awaken-skill-"

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
	Ended           string `json:"ended,omitempty"` // why the script was ended: script_timeout, output_limit, memory_limit or disk_limit
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
	temp, err := sandbox.NewTemp(r.temp, tempPrefix)
	if err != nil {
		return nil, err
	}
	defer temp.Remove()
	root, err := os.OpenRoot(temp.Path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if err := unpack(s, root); err != nil {
		return nil, err
	}
	res, err := sandbox.Run(ctx, &sandbox.Command{Argv: append(argv, args...), Dir: root, Env: r.environment(s, temp.Path, key), Read: r.read, Limits: r.limits, Unconfined: r.unconfined})
	if e, ok := errors.AsType[*sandbox.UnavailableError](err); ok {
		return nil, &refusal{"sandbox_unavailable", e.Error()}
	}
	if err != nil {
		return nil, err
	}
	return newOutput(res), nil
}

// newOutput returns the result of a script that has run.
func newOutput(r *sandbox.Result) *output {
	out := &output{OK: r.OK(), ExitCode: r.ExitCode, Stdout: r.Stdout, Stderr: r.Stderr, StdoutTruncated: r.StdoutTruncated, StderrTruncated: r.StderrTruncated, Ended: string(r.Ended)}
	if r.Ended == sandbox.Timeout {
		out.Ended = "script_timeout"
	}
	return out
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
	env := []string{"PATH=" + sandbox.Path, "HOME=" + dir, "TMPDIR=" + dir, "LANG=C.UTF-8", "AWAKEN_SKILL=" + s.Name, "AWAKEN_IDEMPOTENCY_KEY=" + key}
	for _, name := range r.env {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// unpack writes the files of a skill to a folder that is new and empty.
func unpack(s *Skill, root *os.Root) error {
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
