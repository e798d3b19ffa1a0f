package console

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sources are what the console is built from, as in console/tools/sum.mjs.
var sources = []string{"index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts", "public", "src", "tools"}

func TestConsole_BuiltFilesAreThoseOfTheSources(t *testing.T) {
	root := filepath.Join("..", "..", "console")
	if _, err := os.Stat(root); err != nil {
		t.Skip("the sources of the console are not here")
	}
	var names []string
	for _, source := range sources {
		err := filepath.WalkDir(filepath.Join(root, source), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err = filepath.Rel(root, name)
			if name = filepath.ToSlash(name); name != "src/api/schema.d.ts" { // made by the build, and not in the built files
				names = append(names, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	all := sha256.New()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(all, "%x  %s\n", sha256.Sum256(data), name)
	}
	want, err := os.ReadFile("dist.sum")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", all.Sum(nil)); got != strings.TrimSpace(string(want)) {
		t.Error("the built files are stale; build them again with: scripts/console -update")
	}
}
