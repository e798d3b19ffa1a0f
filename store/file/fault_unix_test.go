//go:build unix

package file_test

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/awaken-go/awaken/store/file"
)

// fillUp writes to the store in dir until a limit on the size of files, which stands for a
// full disk, and continues with a smaller commit.
func fillUp(dir string) {
	t := processT{background{}}
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 64 << 10, Max: 64 << 10}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	s, err := file.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := acquire(t, s, "t", "r")
	o.commit(nil, "before")
	if err := o.try(nil, strings.Repeat("x", 100<<10)); err == nil {
		t.Fatal("a commit of 100 kB fitted into 64 kB")
	}
	o.seq--
	o.commit(nil, "after")
	fmt.Print(texts(t, s, "t"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A write that fails half way is undone, and the thread stays writable.
func TestCommit_OnAFullDiskChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, _ := child(t, "full", dir, ""); out != "[before after]" {
		t.Errorf("the process saw %s", out)
	}
	if info, err := os.Stat(journal(dir, "t")); err != nil || info.Size() > 32<<10 {
		t.Errorf("the journal is %v, %v", info, err)
	}
	equal(t, "texts", []string{"before", "after"}, texts(t, quick(t, dir, nil), "t"))
}
