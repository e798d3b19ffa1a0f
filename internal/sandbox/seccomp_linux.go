//go:build linux && (amd64 || arm64)

package sandbox

import (
	"syscall"
	"unsafe"
)

// instruction is an instruction of the filter, in the kernel's form.
type instruction struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

// Codes of instructions, and what a filter returns.
const (
	bpfLoad  = 0x20 // a word of the call's description
	bpfEqual = 0x15
	bpfAtMin = 0x35 // greater or equal
	bpfBits  = 0x45 // has one of these bits
	bpfAnd   = 0x54
	bpfRet   = 0x06

	retAllow = 0x7fff0000
	retKill  = 0x80000000
	retErrno = 0x00050000

	offNumber = 0
	offArch   = 4
	offArg0   = 16 // the low half; both architectures are little-endian
	offArg1   = 24
	offArg3   = 40
)

// refusedFlags are the flags of clone that make new namespaces, in which a process has rights that it
// does not have elsewhere, and CLONE_PARENT, which makes a process a child of the warden.
const refusedFlags = 0x7e020000 | 0x8000

// filter limits the system calls of this thread, and of the program that it becomes. A call that is
// refused fails with EPERM. Known says that the program's user may have files elsewhere, which their rights do not
// protect: it is the user of the process that started it, or one that was not made for the folder.
func filter(o *order, known bool) error {
	refused := retErrno | uint32(syscall.EPERM)
	prog := []instruction{
		{bpfLoad, 0, 0, offArch}, {bpfEqual, 1, 0, auditArch}, {bpfRet, 0, 0, retKill},
		{bpfLoad, 0, 0, offNumber}, {bpfAtMin, 0, 1, 0x40000000}, {bpfRet, 0, 0, retKill}, // other numbers of the same calls
		{bpfEqual, 0, 1, sysClone3}, {bpfRet, 0, 0, retErrno | uint32(syscall.ENOSYS)}, // its flags are in memory; programs use clone instead
	}
	deny := func(numbers ...uint32) {
		for _, n := range numbers {
			prog = append(prog, instruction{bpfEqual, 0, 1, n}, instruction{bpfRet, 0, 0, refused})
		}
	}
	denyKinds := func(number uint32, second ...uint32) {
		prog = append(prog, instruction{bpfEqual, 0, uint8(2*len(second) + 2), number}, instruction{bpfLoad, 0, 0, offArg1})
		for _, v := range second {
			prog = append(prog, instruction{bpfEqual, 0, 1, v}, instruction{bpfRet, 0, 0, refused})
		}
		prog = append(prog, instruction{bpfLoad, 0, 0, offNumber})
	}
	deny(denied...)
	deny(deniedHere...)
	if !o.Alone { // a program could leave the group of processes that is ended with it
		deny(syscall.SYS_SETSID, syscall.SYS_SETPGID)
	}
	if !o.Network {
		deny(syscall.SYS_SOCKET)
	} else {
		prog = append(prog, // streams and datagrams of IPv4 and IPv6
			instruction{bpfEqual, 0, 9, syscall.SYS_SOCKET},
			instruction{bpfLoad, 0, 0, offArg0}, instruction{bpfEqual, 1, 0, syscall.AF_INET}, instruction{bpfEqual, 0, 4, syscall.AF_INET6},
			instruction{bpfLoad, 0, 0, offArg1}, instruction{bpfAnd, 0, 0, 0xf}, instruction{bpfEqual, 2, 0, syscall.SOCK_STREAM}, instruction{bpfEqual, 1, 0, syscall.SOCK_DGRAM},
			instruction{bpfRet, 0, 0, refused},
			instruction{bpfLoad, 0, 0, offNumber})
	}
	denyKinds(syscall.SYS_FCNTL, 8, 15)          // F_SETOWN, F_SETOWN_EX: signals to other processes
	denyKinds(syscall.SYS_IOCTL, 0x8901, 0x8902, // FIOSETOWN, SIOCSPGRP: the same
		0x5412, 0x541c) // TIOCSTI, TIOCLINUX: input for a terminal
	if known {
		deny(deniedToOwners...)
		prog = append(prog, // futimens, which takes an open file and no path, is allowed
			instruction{bpfEqual, 0, 6, syscall.SYS_UTIMENSAT},
			instruction{bpfLoad, 0, 0, offArg1}, instruction{bpfEqual, 0, 2, 0},
			instruction{bpfLoad, 0, 0, offArg1 + 4}, instruction{bpfEqual, 1, 0, 0},
			instruction{bpfRet, 0, 0, refused},
			instruction{bpfLoad, 0, 0, offNumber})
	}
	if landlockVersion() < 6 && !o.Alone { // the kernel does not confine signals
		deny(syscall.SYS_KILL, syscall.SYS_TKILL, syscall.SYS_TGKILL, syscall.SYS_RT_SIGQUEUEINFO, syscall.SYS_RT_TGSIGQUEUEINFO, 424)
	}
	prog = append(prog, // memory that is shared and in no file is not in the limit of memory
		instruction{bpfEqual, 0, 5, syscall.SYS_MMAP},
		instruction{bpfLoad, 0, 0, offArg3}, instruction{bpfBits, 0, 2, syscall.MAP_ANONYMOUS}, instruction{bpfBits, 0, 1, syscall.MAP_SHARED},
		instruction{bpfRet, 0, 0, refused},
		instruction{bpfLoad, 0, 0, offNumber})
	prog = append(prog,
		instruction{bpfEqual, 0, 2, syscall.SYS_CLONE}, instruction{bpfLoad, 0, 0, offArg0}, instruction{bpfBits, 4, 3, refusedFlags},
		instruction{bpfEqual, 0, 2, syscall.SYS_PRLIMIT64}, instruction{bpfLoad, 0, 0, offArg0}, instruction{bpfEqual, 0, 1, 0}, // only its own limits
		instruction{bpfRet, 0, 0, retAllow}, instruction{bpfRet, 0, 0, refused})
	p := struct {
		n    uint16
		prog *instruction
	}{uint16(len(prog)), &prog[0]}
	const setModeFilter = 1
	_, _, errno := syscall.RawSyscall(sysSeccomp, setModeFilter, 0, uintptr(unsafe.Pointer(&p)))
	return asError(errno)
}

// denied are the calls that no program needs: namespaces, mounts, modules, other processes, keys, the kernel's log, and
// notices of what other programs do with files.
var denied = []uint32{
	syscall.SYS_UNSHARE, syscall.SYS_MOUNT, syscall.SYS_UMOUNT2, syscall.SYS_PIVOT_ROOT, syscall.SYS_CHROOT,
	syscall.SYS_PTRACE, syscall.SYS_ACCT, syscall.SYS_SWAPON, syscall.SYS_SWAPOFF, syscall.SYS_REBOOT, syscall.SYS_INIT_MODULE, syscall.SYS_DELETE_MODULE, syscall.SYS_KEXEC_LOAD,
	syscall.SYS_PERF_EVENT_OPEN, syscall.SYS_ADD_KEY, syscall.SYS_REQUEST_KEY, syscall.SYS_KEYCTL,
	syscall.SYS_SHMGET, syscall.SYS_SHMAT, syscall.SYS_SEMGET, syscall.SYS_MSGGET, syscall.SYS_MQ_OPEN, syscall.SYS_SETPRIORITY, syscall.SYS_IOPRIO_SET, syscall.SYS_SCHED_SETSCHEDULER,
	syscall.SYS_SCHED_SETPARAM, syscall.SYS_SCHED_SETAFFINITY, syscall.SYS_MIGRATE_PAGES, syscall.SYS_MOVE_PAGES, syscall.SYS_QUOTACTL, syscall.SYS_SETTIMEOFDAY, syscall.SYS_CLOCK_SETTIME,
	syscall.SYS_SETHOSTNAME, syscall.SYS_SETDOMAINNAME, syscall.SYS_SYSLOG, syscall.SYS_INOTIFY_INIT1,
	425, 426, 427, // io_uring, which could do all of this without calls
	428, 429, 430, 431, 432, 433, 442, 467, // mounts by file
	457, 458, // statmount, listmount: what is mounted
	469,           // file_setattr, which needs no open file
	438, 440, 443, // pidfd_getfd, process_madvise, quotactl_fd
	447, // memfd_secret, memory that is in no limit
}
