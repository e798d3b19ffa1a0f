//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A working folder is removed with few open files, however deep its folders are and whatever their rights.
func TestRemoveAll_DeepFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "work")
	deep, above := filepath.Join(dir, "deep"), filepath.Join(dir, "above")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 600 { // each new folder is put above the others
		if err := errors.Join(os.Mkdir(above, 0o700), os.Rename(deep, filepath.Join(above, strconv.Itoa(i))), os.Rename(above, deep)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2500 {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("/etc/passwd", filepath.Join(deep, "link")), os.Mkdir(filepath.Join(dir, "closed"), 0), os.Chmod(deep, 0)); err != nil {
		t.Fatal(err)
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 200, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	RemoveAll(dir)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}

// The output of a program ends with it, although a process that has left its group holds the pipes open.
func TestAttend_ProcessThatStays(t *testing.T) {
	t.Parallel()
	setsid, err := exec.LookPath("setsid")
	if err != nil {
		t.Skip("no program setsid")
	}
	ready := filepath.Join(t.TempDir(), "ready")
	cmd := exec.Command("/bin/sh", "-c", setsid+" sh -c 'echo $$ > "+ready+"; exec sleep 60' & while ! test -s "+ready+"; do sleep 0.02; done; cat "+ready)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	start := time.Now()
	out, err := (&Command{Dir: folder(t), Limits: Limits{}.WithDefaults()}).attend(context.Background(), &process{cmd: cmd, order: func() {}, finish: func() {}})
	if err != nil || !out.OK() || time.Since(start) > 30*time.Second {
		t.Fatalf("%+v, %v, after %v", out, err, time.Since(start))
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(out.Stdout)); err == nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
