package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/internal/sandbox"
)

// Approval decides how a call of the tool shell is handled, if the agent has no permission rules.
type Approval string

// The approvals of commands.
const (
	Ask   Approval = "ask"   // a person decides about every call
	Allow Approval = "allow" // calls need no decision
)

// ShellConfig is the part "shell" of the section.
type ShellConfig struct {
	Enabled        bool     `json:"enabled,omitempty" jsonschema:"whether the agent may run commands; the program must permit it, too"`
	Approval       Approval `json:"approval,omitempty" jsonschema:"ask a person before each command (unless the agent has permission rules), or allow"`
	TimeoutSeconds int      `json:"timeout_seconds,omitempty" jsonschema:"time of a command"`
	MaxOutputBytes int      `json:"max_output_bytes,omitempty" jsonschema:"bytes of the output, and of the errors, that the model sees"`
	MemoryBytes    int64    `json:"memory_bytes,omitempty" jsonschema:"memory of a process of a command; all of them together have twice as much"`
	Processes      int      `json:"processes,omitempty" jsonschema:"processes of a command"`
	MaxFileBytes   int64    `json:"max_file_bytes,omitempty" jsonschema:"bytes of a file that a command writes"`
	OpenFiles      int      `json:"open_files,omitempty" jsonschema:"files that a process of a command may have open"`
	Network        bool     `json:"network,omitempty" jsonschema:"whether commands may connect to other hosts, and to all that this machine reaches; the program must permit it, too"`
	Env            []string `json:"env,omitempty" jsonschema:"environment variables of the program that commands get; the program must permit them"`
}

var defaultShell = ShellConfig{Approval: Ask, TimeoutSeconds: 60, MaxOutputBytes: 32 << 10, MemoryBytes: 512 << 20, Processes: 32, MaxFileBytes: 64 << 20, OpenFiles: 128}

func (c *ShellConfig) validate(bad *check.Problems) {
	bad.OneOf("shell.approval", string(c.Approval), string(Ask), string(Allow))
	inRange(bad, "shell.timeout_seconds", int64(c.TimeoutSeconds), 1, 3600)
	inRange(bad, "shell.max_output_bytes", int64(c.MaxOutputBytes), 1, 1<<20)
	inRange(bad, "shell.memory_bytes", c.MemoryBytes, 16<<20, 1<<40)
	inRange(bad, "shell.processes", int64(c.Processes), 1, 1000)
	inRange(bad, "shell.max_file_bytes", c.MaxFileBytes, 1, 1<<40)
	inRange(bad, "shell.open_files", int64(c.OpenFiles), 16, 10_000)
}

func inRange(bad *check.Problems, name string, n, least, most int64) {
	bad.When(n < least || n > most, "%s is %d, want %d to %d", name, n, least, most)
}

// limits returns the limits of a command that may add so many bytes to the workspace.
func (c *ShellConfig) limits(disk int64) sandbox.Limits {
	return sandbox.Limits{Time: time.Duration(c.TimeoutSeconds) * time.Second, Output: c.MaxOutputBytes, Memory: c.MemoryBytes, TotalMemory: 2 * c.MemoryBytes, FileBytes: c.MaxFileBytes,
		DiskBytes: disk, Processes: c.Processes, Files: c.OpenFiles}
}

// shell runs commands for the agents of a program.
type shell struct {
	program string // absolute path
	network bool
	env     []string // variables that commands may get
	slots   chan struct{}
}

func newShell(o *Shell) *shell {
	sandbox.SweepTemp(os.TempDir(), tempPrefix)
	return &shell{program: cmp.Or(sandbox.Lookup("bash"), "/bin/sh"), network: o.Network, env: o.Env, slots: make(chan struct{}, cmp.Or(o.Parallel, 4))}
}

// tempPrefix begins the names of the folders that commands have beside the workspace.
const tempPrefix = "awaken-shell-"

// check reports what an agent wants that the program does not permit.
func (s *shell) check(c *ShellConfig) error {
	switch {
	case !c.Enabled:
		return nil
	case s == nil:
		return errors.New("shell.enabled is true, but this program does not run commands")
	case c.Network && !s.network:
		return errors.New("shell.network is true, but this program gives commands no network")
	}
	for i, name := range c.Env {
		if !slices.Contains(s.env, name) {
			return fmt.Errorf("shell.env[%d] is %q, want one of the variables that this program permits: %q", i, name, s.env)
		}
	}
	return nil
}

type shellArgs struct {
	Command        string `json:"command" jsonschema:"a command line for the shell; it starts in the workspace"`
	TimeoutSeconds int    `json:"timeout_seconds,omitempty" jsonschema:"minimum=0,description=a shorter time for this command"`
}

// shellOutput is the result of a command.
type shellOutput struct {
	OK              bool   `json:"ok"`
	ExitCode        int    `json:"exit_code"`
	Stdout          string `json:"stdout"`
	Stderr          string `json:"stderr"`
	StdoutTruncated bool   `json:"stdout_truncated,omitempty"`
	StderrTruncated bool   `json:"stderr_truncated,omitempty"`
	Ended           string `json:"ended,omitempty"` // why the command was ended: timeout, output_limit, memory_limit or disk_limit
}

// maxCommand is how long a command line may be.
const maxCommand = 32 << 10

// shellTool runs commands. It is effectful: a command that was interrupted is not run again without the model's or a
// person's knowledge.
func (j *jail) shellTool() awaken.Tool {
	about := "Runs a command line in the workspace, confined: it can write only there"
	if !j.Write {
		about = "Runs a command line in the workspace, confined: it can write nowhere but in $TMPDIR, which is removed afterwards"
	}
	if j.Shell.Network {
		about += "."
	} else {
		about += ", and has no network."
	}
	return awaken.NewTool(awaken.ToolSpec{
		ID:          "shell",
		Category:    "workspace",
		Description: about,
		Untrusted:   j.shared() || j.Shell.Network,
		Egress:      awaken.Egress{None: !j.Shell.Network},
		Timeout:     time.Duration(j.Shell.TimeoutSeconds)*time.Second + 10*time.Second,
	},
		func(ctx context.Context, call *awaken.ToolCall, in shellArgs) (*awaken.ToolResult, error) {
			if strings.TrimSpace(in.Command) == "" || len(in.Command) > maxCommand || strings.ContainsRune(in.Command, 0) || !utf8.ValidString(in.Command) {
				return awaken.ErrorResult("invalid_arguments", fmt.Sprintf("command has %d bytes, want 1 to %d, valid UTF-8, without NUL characters", len(in.Command), maxCommand)), nil
			}
			out, err := j.run(ctx, call, in)
			if e, ok := errors.AsType[*sandbox.UnavailableError](err); ok {
				return awaken.ErrorResult("sandbox_unavailable", e.Error()), nil
			}
			if err != nil {
				return nil, err
			}
			data, err := json.Marshal(out)
			if err != nil {
				return nil, err
			}
			return &awaken.ToolResult{Data: data}, nil
		})
}

// run runs a command in the folder of a call.
func (j *jail) run(ctx context.Context, call *awaken.ToolCall, in shellArgs) (*shellOutput, error) {
	root, err := j.open(ctx, call)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	limits, err := j.commandLimits(root)
	if err != nil {
		return nil, err
	}
	select {
	case j.shell.slots <- struct{}{}:
		defer func() { <-j.shell.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	home, err := sandbox.NewTemp(os.TempDir(), tempPrefix)
	if err != nil {
		return nil, err
	}
	defer home.Remove()
	temp, err := os.OpenRoot(home.Path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = temp.Close() }()
	if n := in.TimeoutSeconds; n > 0 {
		limits.Time = min(limits.Time, time.Duration(n)*time.Second)
	}
	again, err := j.markCommand(ctx, call)
	if err != nil {
		return nil, err
	}
	call.Progress(awaken.Progress{Message: firstLine(in.Command)})
	res, err := sandbox.Run(ctx, &sandbox.Command{Argv: []string{j.shell.program, "-c", in.Command}, Env: j.environment(home.Path, call.Key), Dir: root, Temp: temp, ReadOnly: !j.Write, AsOwner: true,
		Network: j.Shell.Network, Limits: limits, Output: call.Output})
	if err = errors.Join(err, again()); err != nil {
		return nil, err
	}
	call.Progress(awaken.Progress{Status: "done", Message: firstLine(in.Command)})
	return &shellOutput{OK: res.OK(), ExitCode: res.ExitCode, Stdout: res.Stdout, Stderr: res.Stderr, StdoutTruncated: res.StdoutTruncated, StderrTruncated: res.StderrTruncated, Ended: string(res.Ended)}, nil
}

// commandLimits returns the limits of a command in a folder. In a full one it can delete and truncate files, but write nothing. In one that
// has become much larger than it may be, which a command can bring about before it is ended, only file_delete works.
func (j *jail) commandLimits(root *os.Root) (sandbox.Limits, error) {
	const more = 256 << 20 // of a folder without a limit
	used, files := sandbox.Measure(root)
	limits := j.Shell.limits(j.MaxBytes)
	if limits.DiskFiles = j.maxFiles; j.maxFiles == 0 {
		limits.DiskFiles = max(100_000, files)
	}
	if j.MaxBytes == 0 {
		if limits.DiskBytes = used; used < 1<<62 { // otherwise there is too much in it to count
			limits.DiskBytes += more
		}
	}
	if j.MaxBytes == 0 && j.maxFiles == 0 || used < limits.DiskBytes && files < limits.DiskFiles {
		return limits, nil
	}
	switch {
	case used/2 > limits.DiskBytes:
		return limits, fmt.Errorf("the workspace has far more than %d bytes (max_bytes); delete files with file_delete first", limits.DiskBytes)
	case files/2 > limits.DiskFiles:
		return limits, fmt.Errorf("the workspace has far more than %d files and folders (workspace.max_files); "+
			"delete some with file_delete first",
			limits.DiskFiles)
	}
	limits.FileBytes, limits.DiskBytes, limits.DiskFiles = 1, used+1<<20, files+1000
	return limits, nil
}

// environment returns the whole environment of a command.
func (j *jail) environment(home, key string) []string {
	env := []string{"PATH=" + sandbox.Path, "HOME=" + home, "TMPDIR=" + home, "LANG=C.UTF-8", "AWAKEN_IDEMPOTENCY_KEY=" + key}
	for _, name := range j.Shell.Env {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// firstLine returns the beginning of a command, for people.
func firstLine(command string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(command), "\n")
	if r := []rune(line); len(r) > 100 {
		line = string(r[:99]) + "…"
	}
	return line
}

// gate asks a person about commands.
func (j *jail) gate(_ context.Context, h *awaken.HookCall) (awaken.Verdict, error) {
	if h.Tool.Tool != "shell" {
		return awaken.Allow(), nil
	}
	return awaken.SuspendCall(awaken.Ticket{
		Suspension: awaken.Suspension{ID: "shell_" + h.Tool.ID, Action: "tool:PermissionConfirm", Message: "The agent wants to run a command", Parameters: h.Tool.Args},
		ResumeMode: awaken.ReplayToolCall}), nil
}
