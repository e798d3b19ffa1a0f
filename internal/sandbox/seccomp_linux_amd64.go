package sandbox

import "syscall"

const (
	auditArch  = 0xc000003e
	sysSeccomp = 317
	sysClone3  = 435
)

// deniedHere are further denied calls, by their numbers on this architecture: reading and writing
// other processes, modules, programs in the kernel, scheduling, files by handle, namespaces,
// memory in a file without a name, notices.
var deniedHere = []uint32{303, 304, 308, 310, 311, 312, 313, 314, 319, 320, 321, 323, syscall.SYS_IOPL, syscall.SYS_IOPERM, syscall.SYS_INOTIFY_INIT, 300}

// deniedToOwners are the calls by which a program could change files that it cannot open.
var deniedToOwners = []uint32{
	syscall.SYS_CHMOD, syscall.SYS_FCHMODAT, 452, syscall.SYS_CHOWN, syscall.SYS_LCHOWN, syscall.SYS_FCHOWNAT, syscall.SYS_UTIME, syscall.SYS_UTIMES, syscall.SYS_FUTIMESAT,
	syscall.SYS_SETXATTR, syscall.SYS_LSETXATTR, syscall.SYS_REMOVEXATTR, syscall.SYS_LREMOVEXATTR, 463, 466,
}
