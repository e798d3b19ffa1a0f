// Shape measures this module's code and checks it against limits.
//
//	go run ./scripts/shape            print the figures
//	go run ./scripts/shape -check     print violations; exit status 1 if there are any
//	go run ./scripts/shape -imports   print the table of imports, for imports.txt
//	go run ./scripts/shape -map       write the map of packages in docs/design.md
//
// Code is of three kinds. A kit is a package that only tests import: its name ends in "test", or it
// is internal/testenv. Examples and scripts are programs beside the product: they are left out of the
// figures and the limits. The rest is product code. Test files, testdata and generated files are left out.
//
// What is counted:
//
//   - exported names: top-level types, functions, constants and variables of a package;
//   - exported methods: those of exported types, and of exported interfaces;
//   - code lines: lines that hold more than blanks and comments;
//   - fields of a struct: each name, and each embedded type;
//   - methods of a type: declared ones, with pointer and value receiver together, or the ones that an
//     interface names itself;
//   - lines of a file: all of them;
//   - lines of a function: from "func" to the closing brace. A function literal counts by itself only
//     when it is in no other function.
//
// The limits and their exceptions are in limits.go; who may import whom is in imports.go and imports.txt.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	check := flag.Bool("check", false, "check the limits instead of printing the figures")
	imports := flag.Bool("imports", false, "print the table of imports instead of the figures")
	chart := flag.Bool("map", false, "write the map of packages in docs/design.md instead of printing the figures")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "shape: unexpected argument:", flag.Arg(0))
		os.Exit(2)
	}
	if err := run(os.Stdout, *check, *imports, *chart); err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, check, imports, chart bool) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	t, err := readModule(root)
	if err != nil {
		return err
	}
	switch {
	case check:
		found := t.violations()
		for _, v := range found {
			fmt.Fprintln(out, v)
		}
		if len(found) > 0 {
			return fmt.Errorf("the tree breaks %d rules", len(found))
		}
		return nil
	case imports:
		return t.writeImports(out)
	case chart:
		return t.updateMap(filepath.Join(root, mapFile))
	default:
		return t.print(out)
	}
}

// moduleRoot returns the folder that holds the go.mod of the working folder.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	file := strings.TrimSpace(string(out))
	if file == "" || file == os.DevNull {
		return "", fmt.Errorf("no go.mod at or above the working folder")
	}
	return filepath.Dir(file), nil
}
