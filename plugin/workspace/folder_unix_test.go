//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A pipe in the place of a folder, which a command can put there while tools list it, is not waited for.
func TestReadFolder_Pipe(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	if err := syscall.Mkfifo(filepath.Join(root.Name(), "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := readFolder(root, "pipe")
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a pipe is listed")
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for the other end of the pipe")
	}
}
