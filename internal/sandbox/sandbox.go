// Package sandbox runs programs that the kernel confines.
//
//	res, err := sandbox.Run(ctx, &sandbox.Command{
//		Argv: []string{"/bin/sh", "-c", "make"}, Dir: root, Env: []string{"PATH=" + sandbox.Path},
//	})
//
// The program can write to its folder only, and read that and the programs and libraries of the system. It has no
// network, cannot reach other processes, and has limits of time, memory, processes, files and output. It ends with all
// that it has started, also if the process that called Run is killed. Where the kernel cannot do that, Run refuses with
// an [UnavailableError].
//
// The kernel must be Linux 6.2 or later with Landlock and seccomp, on amd64 or arm64. Where the system permits them, the program
// has namespaces of its own, too: of processes, of networks and of System V IPC. A process that is root runs
// programs as a user without rights.
//
// To confine a program before it begins, Run starts the executable itself anew, under two other names, which this
// package notices before main is called: a warden, which ends what is left when the program or the caller ends, and, below it,
// a process that limits itself and then becomes the program.
package sandbox

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Command is a program to run.
type Command struct {
	// Argv is the program, an absolute path or one below Dir that begins with ./, and its arguments.
	Argv []string
	Env  []string // the whole environment
	Dir  *os.Root // the working folder, which the program can write to
	Temp *os.Root // another folder that it can write to, or nil
	Read []string // files and folders that it can read, beside the system's programs and libraries
	// ReadOnly lets the program write to Temp only.
	ReadOnly bool
	// AsOwner runs the program as the user that Dir belongs to, if this process is root; a folder of root's is
	// refused. Without it, Dir is given to a user without rights that is made for the program.
	AsOwner bool
	// Network permits connections to all hosts that the machine reaches, its own services among them. It permits no local sockets.
	Network bool
	Limits  Limits
	// Unconfined permits the program on systems that cannot confine it.
	Unconfined bool
	// Output, if it is not nil, gets the output while the program runs. It is called by one goroutine at a time.
	Output func(text string)
}

// Limits are the limits of a program. A field that is 0 has its default.
type Limits struct {
	Time        time.Duration // 60 seconds
	Output      int           // bytes of the output, and of the errors, that are returned: 32 KiB
	Flood       int           // bytes of output after which the program is ended: 8 MiB
	Memory      int64         // bytes of memory of a process: 512 MiB
	TotalMemory int64         // bytes of memory of all processes, which are looked at while they run: 1 GiB
	FileBytes   int64         // bytes of a file that the program writes: 64 MiB
	DiskBytes   int64         // bytes of all files in Dir and Temp, which are looked at while it runs: 256 MiB
	DiskFiles   int           // files and folders in Dir and Temp: 100,000
	Processes   int           // 32
	Files       int           // open files of a process: 128
}

// WithDefaults returns the limits with defaults in the fields that are 0.
func (l Limits) WithDefaults() Limits {
	l.Time = cmp.Or(l.Time, time.Minute)
	l.Output = cmp.Or(l.Output, 32<<10)
	l.Flood = cmp.Or(l.Flood, 8<<20)
	l.Memory = cmp.Or(l.Memory, 512<<20)
	l.TotalMemory = cmp.Or(l.TotalMemory, 1<<30)
	l.FileBytes = cmp.Or(l.FileBytes, 64<<20)
	l.DiskBytes = cmp.Or(l.DiskBytes, 256<<20)
	l.DiskFiles = cmp.Or(l.DiskFiles, 100_000)
	l.Processes = cmp.Or(l.Processes, 32)
	l.Files = cmp.Or(l.Files, 128)
	return l
}

// Result is the outcome of a program that has run.
type Result struct {
	ExitCode        int // -1 if a signal ended it
	Stdout          string
	Stderr          string
	StdoutTruncated bool
	StderrTruncated bool
	Ended           Reason // why the program was ended, or ""
}

// Reason is why a program was ended.
type Reason string

// The reasons to end a program.
const (
	Timeout     Reason = "timeout"
	OutputLimit Reason = "output_limit"
	MemoryLimit Reason = "memory_limit"
	DiskLimit   Reason = "disk_limit"
)

// OK reports whether the program has succeeded.
func (r *Result) OK() bool { return r.ExitCode == 0 && r.Ended == "" }

// UnavailableError reports that this system cannot confine a program, which has therefore not run.
type UnavailableError struct{ Reason string }

func (e *UnavailableError) Error() string { return "this system cannot confine programs: " + e.Reason }

// Run runs the program until it ends, and ends all its processes. The error is the cause of ctx if that is done first,
// an *[UnavailableError], or that the program could not start.
func Run(ctx context.Context, c *Command) (*Result, error) {
	own := *c
	own.Limits = c.Limits.WithDefaults()
	ctx, cancel := context.WithTimeoutCause(ctx, own.Limits.Time, errTimeout)
	defer cancel()
	p, err := own.prepare()
	if err != nil {
		return nil, err
	}
	return own.attend(ctx, p)
}

// Path is the search path of the system's programs.
const Path = "/usr/local/bin:/usr/bin:/bin"

// Lookup finds a program in the system's folders, or at an absolute path; "" means that there is none. It does not
// search folders of the user that started the process, which confined programs cannot read.
func Lookup(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	for dir := range strings.SplitSeq(Path, ":") {
		full := filepath.Join(dir, name)
		if _, err := exec.LookPath(full); err == nil {
			return full
		}
	}
	return ""
}
