//go:build unix

package workspace

import (
	"os"
	"syscall"
)

// ofRoot reports whether a folder belongs to root, and this process is root.
func ofRoot(root *os.Root) bool {
	if os.Geteuid() != 0 {
		return false
	}
	info, err := root.Stat(".")
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0
}

// adopt gives a new file or folder to the owner of the workspace, if this process is root: commands run as that user.
func adopt(root *os.Root, name string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return root.Lchown(name, int(st.Uid), int(st.Gid))
	}
	return nil
}
