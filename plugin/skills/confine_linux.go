//go:build linux && (amd64 || arm64)

package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// launcher is the name under which the program confines a script: it limits itself and then becomes
// the script's interpreter.
const launcher = "awaken-skill-script"

func init() {
	if len(os.Args) > 0 && os.Args[0] == launcher {
		confine()
	}
}

// order is what the launcher is told, through its file 3.
type order struct {
	Argv, Env, Read []string
	Dir             string
	Memory          int64
	FileBytes       int64
	Processes       int
	Files           int
	Seconds         int
}

// prepare returns the command that runs the job, and what to call when it has started.
func (j *job) prepare(unconfined bool) (cmd *exec.Cmd, started func(), err error) {
	if landlockVersion() < minLandlock {
		if !unconfined {
			return nil, nil, &refusal{"sandbox_unavailable", "this system cannot confine scripts: want Linux 6.2 or later with Landlock"}
		}
		cmd = &exec.Cmd{Path: j.argv[0], Args: j.argv, Env: j.env, Dir: j.dir, SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
		return cmd, func() {}, nil
	}
	o := order{Argv: j.argv, Env: j.env, Read: j.read, Dir: j.dir, Memory: j.limits.Memory, FileBytes: j.limits.FileBytes, Processes: j.limits.Processes,
		Files: j.limits.Files, Seconds: int(j.limits.Time.Seconds()) + 5}
	data, err := json.Marshal(&o)
	if err != nil {
		return nil, nil, err
	}
	in, out, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd = &exec.Cmd{Path: "/proc/self/exe", Args: []string{launcher}, Env: []string{"GOTRACEBACK=none"}, Dir: j.dir, ExtraFiles: []*os.File{in},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	return cmd, func() {
		_ = in.Close()
		go func() {
			_, _ = out.Write(data) // if it fails, the launcher has ended and says why
			_ = out.Close()
		}()
	}, nil
}

// launch starts a command. The channel is closed when its process has ended, which keeps its number
// until wait is called. The thread that starts it waits for it, because the process is ended with
// that thread.
func launch(cmd *exec.Cmd) (exited <-chan struct{}, wait func() error, err error) {
	started, done := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(done)
		err := cmd.Start()
		if started <- err; err != nil {
			return
		}
		var info [128]byte
		for {
			const pPid, wExited, wNoWait = 1, 4, 0x01000000
			_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPid, uintptr(cmd.Process.Pid), uintptr(unsafe.Pointer(&info)), wExited|wNoWait, 0, 0)
			if errno != syscall.EINTR {
				return
			}
		}
	}()
	return done, cmd.Wait, <-started
}

// killGroup ends all processes of a script.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// confine limits this process and executes the script. It does not return.
func confine() {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	fail := func(what string, err error) {
		fmt.Fprintf(os.Stderr, "%s%s: %v\n", confinementPrefix, what, err)
		os.Exit(confinementFailed)
	}
	must := func(what string, err error) {
		if err != nil {
			fail(what, err)
		}
	}
	var o order
	in := os.NewFile(3, "order")
	data, err := io.ReadAll(in)
	must("order", err)
	must("order", json.Unmarshal(data, &o))
	must("order", in.Close())
	must("files", closeOthers())
	rules, err := newRuleset(&o)
	must("landlock", err)
	owner := os.Geteuid() != 0
	existing := 0
	if owner {
		existing = processes(os.Getuid())
	} else {
		must("user", becomeNobody(o.Dir))
	}
	path, argv, env, err := program(&o)
	must("program", err)
	must("pdeathsig", prctl(syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL)))
	must("no_new_privs", prctl(38, 1))
	must("landlock", restrictSelf(rules))
	for resource, n := range map[int]uint64{syscall.RLIMIT_CORE: 0, syscall.RLIMIT_CPU: uint64(o.Seconds), syscall.RLIMIT_FSIZE: uint64(o.FileBytes), syscall.RLIMIT_NOFILE: uint64(o.Files),
		rlimitNproc: uint64(existing + o.Processes)} {
		must("rlimit "+strconv.Itoa(resource), limit(resource, n))
	}
	must("seccomp", filter(owner, landlockVersion() < 6))
	// Nothing is allocated between the limit of memory and the new program.
	must("rlimit data", limit(syscall.RLIMIT_DATA, uint64(o.Memory)))
	_, _, errno := syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])))
	fail("execute "+o.Argv[0], errno)
}

const rlimitNproc = 6

// closeOthers keeps files that the server has inherited from the script: the process that started the server may
// have left them open, without the mark that closes them.
func closeOthers() error {
	const sysCloseRange, onExec = 436, 4
	_, _, errno := syscall.RawSyscall(sysCloseRange, 3, 1<<32-1, onExec)
	return asError(errno)
}

// limit sets both limits of a resource. The syscall package would restore its own limit of files.
func limit(resource int, n uint64) error {
	l := syscall.Rlimit{Cur: n, Max: n}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, uintptr(resource), uintptr(unsafe.Pointer(&l)), 0, 0, 0)
	return asError(errno)
}

func asError(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

func prctl(option int, arg uintptr) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, uintptr(option), arg, 0, 0, 0, 0)
	return asError(errno)
}

// program returns the arguments of execve.
func program(o *order) (path *byte, argv, env []*byte, err error) {
	if len(o.Argv) == 0 {
		return nil, nil, nil, errors.New("no program")
	}
	if path, err = syscall.BytePtrFromString(o.Argv[0]); err != nil {
		return nil, nil, nil, err
	}
	if argv, err = syscall.SlicePtrFromStrings(o.Argv); err != nil {
		return nil, nil, nil, err
	}
	env, err = syscall.SlicePtrFromStrings(o.Env)
	return path, argv, env, err
}

// becomeNobody makes this process, which is root, one of a user without rights, who owns dir. The
// user has no other processes, if the system permits it, so that their number is the script's alone.
func becomeNobody(dir string) error {
	own, other := 1_500_000_000+os.Getpid(), 65534
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	id := own
	if syscall.Setresgid(id, id, id) != nil {
		if id = other; syscall.Setresgid(id, id, id) != nil {
			return errors.New("cannot give up the rights of root")
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return root.Lchown(name, id, id)
	})
	if err = errors.Join(err, root.Close()); err != nil {
		return err
	}
	return syscall.Setresuid(id, id, id)
}

// processes counts the threads of a user, as the limit of processes does.
func processes(uid int) (n int) {
	list, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range list {
		info, err := os.Stat(dir)
		if err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != uid {
			continue
		}
		tasks, _ := os.ReadDir(filepath.Join(dir, "task"))
		n += len(tasks)
	}
	return n
}

// The calls of Landlock have the same numbers on all architectures.
const (
	sysLandlockCreate   = 444
	sysLandlockAdd      = 445
	sysLandlockRestrict = 446
	// minLandlock is the first version that controls truncation.
	minLandlock = 3
)

// landlockVersion returns the kernel's version of Landlock, or 0.
func landlockVersion() int {
	n, _, errno := syscall.RawSyscall(sysLandlockCreate, 0, 0, 1)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// Rights of Landlock.
const (
	execute = 1 << iota
	writeFile
	readFile
	readDir
	removeDir
	removeFile
	makeChar
	makeDir
	makeReg
	makeSock
	makeFIFO
	makeBlock
	makeSym
	refer
	truncate
	ioctlDev
)

const (
	readable = execute | readFile | readDir
	ownDir   = readable | writeFile | removeDir | removeFile | makeDir | makeReg | makeFIFO | makeSym | refer | truncate
	ofFiles  = execute | writeFile | readFile | truncate | ioctlDev
)

// system are the files that programs need: themselves, their libraries, and little else. There are
// no processes among them (/proc), no sockets, and nothing that is configured on the machine.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/python*"}

// newRuleset returns the rules that a script may reach its folder and the system's programs. It
// returns the file of the rules.
func newRuleset(o *order) (int, error) {
	version := landlockVersion()
	attr := struct{ fs, net, scoped uint64 }{fs: 1<<15 - 1, net: 3, scoped: 3}
	size := uintptr(24)
	if version >= 5 {
		attr.fs |= ioctlDev
	}
	if version < 6 {
		attr.scoped, size = 0, 16
	}
	if version < 4 {
		attr.net, size = 0, 8
	}
	fd, _, errno := syscall.RawSyscall(sysLandlockCreate, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return 0, errno
	}
	add := func(name string, rights uint64, required bool) error {
		err := addRule(int(fd), name, rights&attr.fs)
		if !required && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	err := add(o.Dir, ownDir, true)
	for _, pattern := range system {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			err = errors.Join(err, add(name, readable, false))
		}
	}
	for _, name := range o.Read {
		err = errors.Join(err, add(name, readable, true))
	}
	for name, rights := range map[string]uint64{"/dev/null": readFile | writeFile, "/dev/zero": readFile, "/dev/urandom": readFile, "/dev/random": readFile, "/dev/full": readFile | writeFile} {
		err = errors.Join(err, add(name, rights, false))
	}
	if filepath.IsAbs(o.Argv[0]) && !strings.HasPrefix(o.Argv[0], "/usr/") {
		err = errors.Join(err, add(o.Argv[0], readable, true))
	}
	return int(fd), err
}

// addRule permits the rights below the file or folder with that name.
func addRule(rules int, name string, rights uint64) error {
	const oPath = 0x200000
	fd, err := syscall.Open(name, oPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer func() { _ = syscall.Close(fd) }()
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		rights &= ofFiles
	}
	var attr [12]byte // packed: the rights, the file
	*(*uint64)(unsafe.Pointer(&attr[0])) = rights
	*(*int32)(unsafe.Pointer(&attr[8])) = int32(fd)
	_, _, errno := syscall.RawSyscall6(sysLandlockAdd, uintptr(rules), 1, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	return asError(errno)
}

func restrictSelf(rules int) error {
	_, _, errno := syscall.RawSyscall(sysLandlockRestrict, uintptr(rules), 0, 0)
	if errno != 0 {
		return errno
	}
	return syscall.Close(rules)
}
