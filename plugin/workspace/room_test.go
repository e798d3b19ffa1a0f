package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Files are counted. What makes a full folder no larger has room.
func TestRoom_CountsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 9 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	const full = "the workspace is full: it has at most 10 files and folders (workspace.max_files); delete some first"
	j := &jail{maxFiles: 10}
	for _, tt := range []struct {
		name string
		size int
		want string
	}{
		{"new", 5000, "<nil>"},
		{"folder/new", 1, full},
		{"f0", 5000, "<nil>"},
		{"f0", 0, "<nil>"},
	} {
		bytes, files := growth(root, tt.name, tt.size)
		if got := fmt.Sprint(j.room(root, bytes, files)); got != tt.want {
			t.Errorf("%d bytes in %s: %s, want %s", tt.size, tt.name, got, tt.want)
		}
	}
}
