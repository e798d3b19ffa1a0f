//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// The names under which the executable is started anew.
const (
	wardenName   = "awaken-sandbox-warden"
	launcherName = "awaken-sandbox"
)

func init() {
	if len(os.Args) == 0 {
		return
	}
	switch os.Args[0] {
	case wardenName:
		guard()
	case launcherName:
		confine()
	}
}

// The files of the warden, and of the process that becomes the program.
const (
	orderFile  = 3 // the order; the warden's stays open until the caller ends
	reportFile = 4 // why the program could not be confined; it is closed when the program begins
	dirFile    = 5
	tempFile   = 6 // if there is one
)

// refuse reports to the caller that the program could not be confined. It does not return.
func refuse(what string, err error) {
	_, _ = syscall.Write(reportFile, []byte(what+": "+err.Error()))
	syscall.Exit(confinementFailed)
}

// confinementFailed is the exit code of a process that could not confine a program.
const confinementFailed = 126

// order is what the warden is told, and passes on to the process that becomes the program.
type order struct {
	Argv, Env, Read []string
	ReadOnly        bool
	Temp            bool // there is one
	User            int  // to become, if the process is root
	AsOwner         bool // of Dir, instead
	Network         bool
	Alone           bool // in namespaces of its own
	Memory          int64
	FileBytes       int64
	Processes       int
	Files           int
	Seconds         int
}

// Available returns nil if this system can confine programs, and otherwise an *[UnavailableError].
func Available() error {
	if landlockVersion() < minLandlock {
		return &UnavailableError{"want Linux 6.2 or later with Landlock"}
	}
	return nil
}

// prepare returns the process that runs the command.
func (c *Command) prepare() (*process, error) {
	if err := Available(); err != nil {
		if !c.Unconfined {
			return nil, err
		}
		cmd := &exec.Cmd{Path: c.Argv[0], Args: c.Argv, Env: c.Env, Dir: c.Dir.Name(), SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
		return &process{cmd: cmd, order: func() {}, finish: func() {}}, nil
	}
	if c.AsOwner && os.Geteuid() == 0 {
		info, err := c.Dir.Stat(".")
		if err != nil {
			return nil, err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid == 0 {
			return nil, &UnavailableError{errOfRoot.Error()}
		}
	}
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	report, told, err := os.Pipe()
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, err
	}
	files := []*os.File{in, told}
	closeFiles := func() {
		for _, f := range files {
			_ = f.Close()
		}
	}
	for _, root := range []*os.Root{c.Dir, c.Temp} {
		if root == nil {
			continue
		}
		f, err := root.Open(".")
		if err != nil {
			closeFiles()
			_, _ = out.Close(), report.Close()
			return nil, err
		}
		files = append(files, f)
	}
	attr := &syscall.SysProcAttr{Setsid: true} // no terminal
	if !noNamespaces.Load() {
		c.isolate(attr)
	}
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{wardenName}, Env: []string{"GOTRACEBACK=none"}, Dir: "/", ExtraFiles: files, SysProcAttr: attr}
	p := &process{cmd: cmd, report: report,
		finish: func() {
			closeFiles()
			_, _ = out.Close(), report.Close()
		}}
	p.order = func() {
		pid, alone := p.cmd.Process.Pid, p.cmd.SysProcAttr.Cloneflags != 0
		o := order{Argv: c.Argv, Env: c.Env, Read: c.Read, ReadOnly: c.ReadOnly, Temp: c.Temp != nil, User: firstUser + pid, AsOwner: c.AsOwner, Network: c.Network, Alone: alone,
			Memory: c.Limits.Memory, FileBytes: c.Limits.FileBytes, Processes: c.Limits.Processes, Files: c.Limits.Files, Seconds: int(c.Limits.Time.Seconds()) + 5}
		closeFiles()
		go func() { _ = json.NewEncoder(out).Encode(&o) }() // if it fails, the warden has ended and says why
	}
	return p, nil
}

// firstUser is the first of the users that programs run as and folders are given to: no system has them.
const firstUser = 1_500_000_000

// noNamespaces says that the system refuses to give programs namespaces of their own.
var noNamespaces atomic.Bool

// isolate asks for namespaces: of processes, so that all end with the warden and see no others; of networks, unless the
// command has one; of System V IPC.
func (c *Command) isolate(attr *syscall.SysProcAttr) {
	attr.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC
	if !c.Network {
		attr.Cloneflags |= syscall.CLONE_NEWNET
	}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 { // who may make the others only within one of users
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
}

// launch starts a process. The channel is closed when it has ended; it keeps its number
// until wait is called. If the system refuses namespaces, the process has none.
func launch(p *process) (exited <-chan struct{}, wait func() error, err error) {
	was := p.cmd
	err = was.Start()
	if was.SysProcAttr.Cloneflags != 0 && slices.ContainsFunc([]error{syscall.EPERM, syscall.EINVAL, syscall.ENOSPC, syscall.EUSERS}, func(e error) bool { return errors.Is(err, e) }) {
		noNamespaces.Store(true)
		p.cmd = &exec.Cmd{Path: was.Path, Args: was.Args, Env: was.Env, Dir: was.Dir, ExtraFiles: was.ExtraFiles, Stdout: was.Stdout, Stderr: was.Stderr, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, nil, err
	}
	cmd := p.cmd
	done := make(chan struct{})
	go func() {
		defer close(done)
		var info [128]byte
		for {
			const pPid, wExited, wNoWait = 1, 4, 0x01000000
			_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPid, uintptr(cmd.Process.Pid), uintptr(unsafe.Pointer(&info)), wExited|wNoWait, 0, 0)
			if errno != syscall.EINTR {
				return
			}
		}
	}()
	return done, cmd.Wait, nil
}

// killGroup ends the warden and all processes of a program. With the warden, its namespace of processes ends.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// awaitGroup waits until no process of a group that was killed runs: some may still be ending.
func awaitGroup(pid int) {
	for range 200 {
		if syscall.Kill(-pid, 0) != nil || !runs(pid) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// guard is the warden: it starts the program, ends what it leaves behind, and ends all when the process that gave the order
// ends. It does not return. It exits without what package os does before: nothing is left to do, and the race detector would wait for a second.
func guard() {
	runtime.LockOSThread() // the program ends with the thread that starts it
	if err := closeOthers(); err != nil {
		refuse("files", err)
	}
	in := os.NewFile(orderFile, "order")
	var data json.RawMessage
	if err := json.NewDecoder(in).Decode(&data); err != nil {
		refuse("order", err)
	}
	var o order
	if err := json.Unmarshal(data, &o); err != nil {
		refuse("order", err)
	}
	if err := prctl(36, 1); err != nil { // PR_SET_CHILD_SUBREAPER: what the program leaves behind belongs to the warden
		refuse("subreaper", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in) // until the caller has ended
		_ = syscall.Kill(0, syscall.SIGKILL)
		syscall.Exit(confinementFailed) // the first process of a namespace does not kill itself
	}()
	pass, give, err := os.Pipe()
	if err != nil {
		refuse("order", err)
	}
	files := []*os.File{pass, os.NewFile(reportFile, "report"), os.NewFile(dirFile, "dir")}
	if o.Temp {
		files = append(files, os.NewFile(tempFile, "temp"))
	}
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{launcherName}, Env: []string{"GOTRACEBACK=none"}, Dir: "/", ExtraFiles: files, Stdout: os.Stdout, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	if err := cmd.Start(); err != nil {
		refuse("start", err)
	}
	_ = pass.Close()
	_, err = io.Copy(give, bytes.NewReader(data))
	if err = errors.Join(err, give.Close()); err != nil {
		refuse("order", err)
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR || err == nil && pid != cmd.Process.Pid:
		case err != nil:
			refuse("wait", err)
		case status.Signaled():
			syscall.Exit(128 + int(status.Signal()))
		default:
			syscall.Exit(status.ExitStatus())
		}
	}
}
