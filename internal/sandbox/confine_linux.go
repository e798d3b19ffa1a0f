//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"unsafe"
)

// confine limits this process and becomes the program. It does not return.
func confine() {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	must := func(what string, err error) {
		if err != nil {
			refuse(what, err)
		}
	}
	var o order
	in := os.NewFile(orderFile, "order")
	data, err := io.ReadAll(in)
	must("order", err)
	must("order", json.Unmarshal(data, &o))
	must("order", in.Close())
	must("files", closeOthers())
	rules, err := newRuleset(&o)
	must("landlock", err)
	must("folder", syscall.Fchdir(dirFile))
	same := os.Geteuid() != 0
	if !same {
		must("user", become(&o))
	}
	existing := 0
	if same || o.AsOwner {
		existing = processes(os.Getuid())
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // before others, if memory runs out
	path, argv, env, err := program(&o)
	must("program", err)
	must("pdeathsig", prctl(syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL)))
	must("no_new_privs", prctl(38, 1))
	must("landlock", restrictSelf(rules))
	for resource, n := range map[int]uint64{syscall.RLIMIT_CORE: 0, syscall.RLIMIT_CPU: uint64(o.Seconds), syscall.RLIMIT_FSIZE: uint64(o.FileBytes), syscall.RLIMIT_NOFILE: uint64(o.Files),
		rlimitNproc: uint64(existing + o.Processes)} {
		must("rlimit "+strconv.Itoa(resource), limit(resource, n))
	}
	must("seccomp", filter(&o, same || os.Getuid() < firstUser))
	// Nothing is allocated between the limit of memory and the new program.
	must("rlimit data", limit(syscall.RLIMIT_DATA, uint64(o.Memory)))
	_, _, errno := syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])))
	refuse("execute "+o.Argv[0], errno)
}

const rlimitNproc = 6

// closeOthers keeps files that the caller has inherited from the program: the process that started the caller may
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

// become makes this process, which is root, one of a user without rights: the owner of the folder, or one that gets the
// folder. That one has no other processes, if the system permits it, so that their number is the program's alone.
func become(o *order) error {
	uid, gid, err := owner(dirFile)
	if err != nil {
		return err
	}
	if !o.AsOwner {
		uid, gid = o.User, o.User
	}
	if uid == 0 {
		return errOfRoot
	}
	if gid == 0 {
		gid = uid
	}
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setresgid(gid, gid, gid); err != nil {
		if o.AsOwner {
			return err
		}
		if uid, gid = noUser, noUser; syscall.Setresgid(gid, gid, gid) != nil {
			return errors.New("cannot give up the rights of root")
		}
	}
	if !o.AsOwner {
		err = give(dirFile, uid, gid)
	}
	if o.Temp {
		err = errors.Join(err, give(tempFile, uid, gid))
	}
	return errors.Join(err, syscall.Setresuid(uid, uid, uid))
}

// noUser is the user that programs run as in containers that have no others.
const noUser = 65534

var errOfRoot = errors.New("the folder belongs to root, and programs run as its owner: give it to a user without rights")

// owner returns the user and the group that a folder belongs to.
func owner(fd int) (uid, gid int, err error) {
	var st syscall.Stat_t
	err = syscall.Fstat(fd, &st)
	return int(st.Uid), int(st.Gid), err
}

// give gives a folder, with all that is in it, to a user.
func give(fd, uid, gid int) error {
	root, err := os.OpenRoot("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return err
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return root.Lchown(name, uid, gid)
	})
	return errors.Join(err, root.Close())
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
