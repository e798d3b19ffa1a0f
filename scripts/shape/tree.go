package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

const module = "github.com/awaken-go/awaken"

// pkg is the part of the output of go list that the program needs.
type pkg struct {
	ImportPath     string
	Doc            string // the first sentence of its documentation
	Standard       bool
	Module         *struct{ Path string }
	GoFiles        []string
	CgoFiles       []string
	IgnoredGoFiles []string // of other platforms and build tags
	Imports        []string
	TestImports    []string
	XTestImports   []string
	Deps           []string
}

// kind says which figures and limits apply to a package.
type kind int

const (
	product kind = iota
	kit
	beside // an example or a script
)

// kindOf returns the kind of the package at a path relative to the module.
func kindOf(rel string) kind {
	switch {
	case strings.HasPrefix(rel, "./examples/"), strings.HasPrefix(rel, "./scripts/"):
		return beside
	case strings.HasSuffix(rel, "test"), rel == "./internal/testenv":
		return kit
	default:
		return product
	}
}

// tree holds the measurements of the module.
type tree struct {
	listed   []pkg      // of this module and of everything that it imports
	packages []*measure // product code and kits, ordered by path
}

// readModule measures the module in the folder root.
func readModule(root string) (*tree, error) {
	listed, err := goList(root)
	if err != nil {
		return nil, err
	}
	return readTree(listed, os.DirFS(root))
}

// readTree measures the listed packages that belong to this module.
func readTree(listed []pkg, module fs.FS) (*tree, error) {
	t := &tree{listed: listed}
	for _, p := range listed {
		rel := relative(p.ImportPath)
		if !isOurs(p.ImportPath) || kindOf(rel) == beside {
			continue
		}
		m := newMeasure(rel)
		for _, imported := range p.Imports {
			if isOurs(imported) {
				m.imports++
			}
		}
		for _, name := range slices.Sorted(slices.Values(slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles))) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file := path.Join(rel, name)
			src, err := fs.ReadFile(module, file)
			if err != nil {
				return nil, err
			}
			if err := m.addFile(file, src); err != nil {
				return nil, err
			}
		}
		t.packages = append(t.packages, m)
	}
	slices.SortFunc(t.packages, func(a, b *measure) int { return strings.Compare(a.path, b.path) })
	return t, nil
}

// goList lists the packages of the module in root and all of their dependencies.
func goList(root string) ([]pkg, error) {
	cmd := exec.Command("go", "list", "-deps",
		"-json=ImportPath,Doc,Standard,Module,GoFiles,CgoFiles,IgnoredGoFiles,Imports,TestImports,XTestImports,Deps", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	var listed []pkg
	for dec := json.NewDecoder(bytes.NewReader(stdout)); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return listed, nil
		}
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		listed = append(listed, p)
	}
}

func isOurs(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// relative returns the path of a package as the rules write it: "." or "./state".
func relative(path string) string {
	if path == module {
		return "."
	}
	if rest, ok := strings.CutPrefix(path, module+"/"); ok {
		return "./" + rest
	}
	return path
}

// absolute returns the import path of a package that is written as in the rules.
func absolute(rel string) string {
	if rel == "." {
		return module
	}
	if rest, ok := strings.CutPrefix(rel, "./"); ok {
		return module + "/" + rest
	}
	return rel
}
