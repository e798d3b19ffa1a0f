package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/testenv"
)

// maxFolders is how many folders the top level may have.
const maxFolders = 28

// TestMap compares what documents say about the tree with the tree: the map of packages, the layout of the README, and the wings in the
// documentation of the server.
func TestMap(t *testing.T) {
	root := testenv.ModuleRoot(t)
	touchSources(t, root)
	listed, err := goList(root)
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	have, _, _, err := mapOf(read(mapFile))
	if err != nil {
		t.Fatal(err)
	}
	want, err := packageMap(listed)
	if err != nil {
		t.Fatal(err)
	}
	if have != want {
		t.Errorf("the map of packages in %s is not the tree's; write it with: go run ./scripts/shape -map", mapFile)
	}

	_, layout, _ := strings.Cut(read("README.md"), "\n## Layout\n")
	layout, _, _ = strings.Cut(layout, "\n## ")
	named := make(map[string]bool)
	for line := range strings.Lines(layout) {
		if rest, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ := strings.Cut(rest, "`")
			named[strings.TrimSuffix(name, "/")] = true
		}
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	folders := 0
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || !hasSources(t, filepath.Join(root, e.Name())) {
			continue
		}
		folders++
		if !named[e.Name()] {
			t.Errorf("the layout in README.md does not name %s/", e.Name())
		}
		delete(named, e.Name())
	}
	for name := range named {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Errorf("the layout in README.md names %s, which does not exist", name)
		}
	}
	if folders > maxFolders {
		t.Errorf("the top level has %d folders, at most %d are allowed", folders, maxFolders)
	}

	doc := read("server/doc.go")
	for _, p := range listed {
		name, ok := strings.CutPrefix(relative(p.ImportPath), "./server/")
		if ok && !strings.Contains(name, "/") && kindOf("./server/"+name) == product && !strings.Contains(doc, "//\t"+name+" ") {
			t.Errorf("the documentation of server does not name the package %s", name)
		}
	}
}

// hasSources reports whether a folder has files that are not fetched or built. Git leaves the others behind when it removes a folder.
func hasSources(t *testing.T, folder string) (found bool) {
	t.Helper()
	if err := filepath.WalkDir(folder, func(_ string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !e.IsDir():
			found = true
			return filepath.SkipAll
		case e.Name() == "node_modules" || e.Name() == "dist":
			return filepath.SkipDir
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestMapOf_NoMarks(t *testing.T) {
	if _, _, _, err := mapOf("# Design\n"); err == nil {
		t.Error("a document without marks has a map")
	}
}
