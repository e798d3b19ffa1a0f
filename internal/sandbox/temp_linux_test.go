package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/sandbox"
)

// left returns what a folder holds.
func left(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A process that is killed leaves its temporary folder to the next one, which removes it. Folders of processes that live, and
// what is not a temporary folder, stay.
func TestTemp_OfAKilledProcess(t *testing.T) {
	dir := t.TempDir()
	if at := os.Getenv("SANDBOX_TEMP_TEST"); at != "" { // the process that is killed
		if _, err := sandbox.NewTemp(at, "mine-"); err != nil {
			t.Fatal(err)
		}
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		_ = self.Kill()
		select {}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTemp_OfAKilledProcess$")
	cmd.Env = append(os.Environ(), "SANDBOX_TEMP_TEST="+dir)
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the process was not killed: %v", err)
	}
	names := left(t, dir)
	if len(names) != 2 {
		t.Fatalf("the process has left %q, want a folder and its lock", names)
	}
	folder := filepath.Join(dir, names[0])
	for _, name := range []string{"deep/deeper/file", "file"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "kept"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mine-link", "mine-other.lock"} {
		if err := os.Symlink(outside, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "mine-link.lock"), nil, 0o600); err != nil { // the folder beside it is a link
		t.Fatal(err)
	}
	alive, err := sandbox.NewTemp(dir, "mine-")
	if err != nil {
		t.Fatal(err)
	}
	other, err := sandbox.NewTemp(dir, "other-")
	if err != nil {
		t.Fatal(err)
	}
	sandbox.SweepTemp(dir, "mine-")
	got := left(t, dir)
	if len(got) != 7 || strings.Contains(strings.Join(got, " "), names[0]) {
		t.Errorf("%q are left, want two folders with their locks, and the links", got)
	}
	if names := left(t, outside); len(names) != 1 {
		t.Errorf("outside of the folder, %q are left", names)
	}
	alive.Remove()
	other.Remove()
	if got := left(t, dir); len(got) != 3 {
		t.Errorf("%q are left, want the links", got)
	}
}
