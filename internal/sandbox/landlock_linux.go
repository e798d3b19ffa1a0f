//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"
)

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

// ofNetworks are the files with which programs find hosts and check certificates.
var ofNetworks = []string{"/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services", "/etc/ssl", "/etc/ca-certificates", "/etc/pki", "/etc/crypto-policies"}

// The rights of Landlock on networks.
const (
	bindTCP    = 1
	connectTCP = 2
)

// newRuleset returns the rules that a program may reach its folders and the system's programs. It
// returns the file of the rules.
func newRuleset(o *order) (int, error) {
	version := landlockVersion()
	attr := struct{ fs, net, scoped uint64 }{fs: 1<<15 - 1, net: bindTCP | connectTCP, scoped: 3}
	if o.Network {
		attr.net = bindTCP
	}
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
		err := addPath(int(fd), name, rights&attr.fs)
		if !required && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	dir := uint64(ownDir)
	if o.ReadOnly {
		dir = readable
	}
	err := addRule(int(fd), dirFile, dir&attr.fs)
	if o.Temp {
		err = errors.Join(err, addRule(int(fd), tempFile, ownDir&attr.fs))
	}
	patterns := system
	if o.Network {
		patterns = slices.Concat(system, ofNetworks)
	}
	for _, pattern := range patterns {
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

// addPath permits the rights below the file or folder with that name.
func addPath(rules int, name string, rights uint64) error {
	const oPath = 0x200000
	fd, err := syscall.Open(name, oPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer func() { _ = syscall.Close(fd) }()
	return addRule(rules, fd, rights)
}

// addRule permits the rights below an open file or folder.
func addRule(rules, fd int, rights uint64) error {
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
