// Command performance measures this module and writes the tables of docs/performance.md, all from one run: it executes the benchmarks and
// the tests that count, and fills in the templates in tables.
//
//	go run ./scripts/performance                       measure, and print the tables
//	go run ./scripts/performance -update               measure, and write the tables into docs/performance.md
//	go run ./scripts/performance -only 'floor|growth'  measure a part; cells of the others are –, and their tables are not written
//	go run ./scripts/performance -save out.txt         keep the output of the benchmarks
//	go run ./scripts/performance -from out.txt         do not measure, but read such output
//
// A whole run takes about an hour, most of it the growth to 200,000 threads. Nothing else should run on the machine.
package main

import (
	"bytes"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
)

// tables has the templates of the tables. See [render] for their functions.
//
//go:embed tables
var tables embed.FS

// step is a part of the measurement.
type step struct {
	name string
	args []string // of go test
	env  []string
}

var steps = []step{
	{"engine", []string{"-bench", "W[1-5]", "./engine"}, nil},
	{"stores", []string{"-bench", "W4d|W7|W8", "-benchtime", "1x", "./store/sqlite", "./store/postgres"}, nil},
	{"server", []string{"-bench", "W5s|W6$|W6p|Watchers", "-benchtime", "1x", "./server"}, nil},
	{"floor", []string{"-bench", "W6d", "-benchtime", "1x", "./server"}, nil},
	{"growth", []string{"-bench", "Growth", "-benchtime", "1x", "./server"}, []string{"AWAKEN_LONG=1"}},
	{"counts", []string{"-run", "TestRequest_", "-v", "./store/sqlite", "./store/postgres"}, nil},
}

func main() {
	only := flag.String("only", "", "measure only the parts that match this regular expression: engine, stores, server, floor, growth, counts")
	from := flag.String("from", "", "read the output of the benchmarks from this file")
	save := flag.String("save", "", "write the output of the benchmarks to this file")
	update := flag.Bool("update", false, "write the tables whose figures were all measured into docs/performance.md")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "performance: unexpected argument:", flag.Arg(0))
		os.Exit(2)
	}
	if err := run(*only, *from, *save, *update); err != nil {
		fmt.Fprintln(os.Stderr, "performance:", err)
		os.Exit(1)
	}
}

func run(only, from, save string, update bool) error {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	var output []byte
	if from != "" {
		output, err = os.ReadFile(from)
	} else {
		output, err = measure(chosen)
	}
	if save != "" {
		err = errors.Join(err, os.WriteFile(save, output, 0o644))
	}
	if err != nil {
		return err
	}
	return write(parse(output), update)
}

// write prints the tables, or writes those that are complete into the document.
func write(r results, update bool) error {
	files, err := tables.ReadDir("tables")
	if err != nil {
		return err
	}
	for _, file := range files {
		template, err := tables.ReadFile(path.Join("tables", file.Name()))
		if err != nil {
			return err
		}
		text, missing, err := render(string(template), r)
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
		name := strings.TrimSuffix(file.Name(), ".md")
		if len(missing) > 0 {
			fmt.Fprintf(os.Stderr, "performance: table %s: %d figures were not measured, such as %s\n", name, len(missing), missing[0])
		}
		switch {
		case !update:
			fmt.Printf("%s\n\n%s\n", name, text)
		case len(missing) == 0:
			if err := replace("docs/performance.md", name, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure executes the chosen steps one after the other, shows their output, and returns it.
func measure(chosen *regexp.Regexp) ([]byte, error) {
	var out bytes.Buffer
	for _, s := range steps {
		if !chosen.MatchString(s.name) {
			continue
		}
		args := []string{"test", "-p", "1", "-timeout", "3h"}
		if s.args[0] == "-bench" {
			args = append(args, "-run", "^$")
		}
		cmd := exec.Command("go", append(args, s.args...)...)
		cmd.Env = append(os.Environ(), s.env...)
		cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, os.Stderr), os.Stderr
		if err := cmd.Run(); err != nil {
			return out.Bytes(), fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
		}
	}
	return out.Bytes(), nil
}

// A table of a document is between two such lines.
const begin, end = "<!-- figures %s: go run ./scripts/performance -update -->\n", "<!-- end of figures -->\n"

// replace writes a table into a document.
func replace(document, name, text string) error {
	data, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	first := fmt.Sprintf(begin, name)
	before, rest, ok := strings.Cut(string(data), first)
	_, after, also := strings.Cut(rest, end)
	if !ok || !also {
		return fmt.Errorf("%s does not have the lines %q and %q", document, first, end)
	}
	return os.WriteFile(document, []byte(before+first+text+end+after), 0o644)
}
