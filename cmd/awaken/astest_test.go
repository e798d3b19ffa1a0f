package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// makeFolder is the script command
//
//	inmodule
//
// It makes a folder of the module in which tests can be compiled, until the script ends, and sets $DIR.
func makeFolder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: inmodule")
	}
	dir, err := os.MkdirTemp("testdata", "tmp-")
	ts.Check(err)
	dir, err = filepath.Abs(dir)
	ts.Check(err)
	ts.Defer(func() { _ = os.RemoveAll(dir) })
	ts.Setenv("DIR", dir)
}

// playTest is the script command
//
//	plays pass|fail [OLD NEW]
//
// It runs the test in $DIR, which the go tool compiles once, without a network. OLD and NEW are texts to replace in its file for
// this time.
func playTest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 && len(args) != 3 {
		ts.Fatalf("usage: plays pass|fail [OLD NEW]")
	}
	dir := ts.Getenv("DIR")
	files, err := filepath.Glob(filepath.Join(dir, "testdata", "*.txtar"))
	ts.Check(err)
	if len(files) != 1 {
		ts.Fatalf("there are %d files, want 1", len(files))
	}
	if len(args) == 3 {
		data, err := os.ReadFile(files[0])
		ts.Check(err)
		changed := bytes.Replace(data, []byte(args[1]), []byte(args[2]), 1)
		if bytes.Equal(changed, data) {
			ts.Fatalf("%q is not in the file:\n%s", args[1], data)
		}
		ts.Check(os.WriteFile(files[0], changed, 0o600))
		defer func() { ts.Check(os.WriteFile(files[0], data, 0o600)) }()
	}
	program := filepath.Join(dir, "play.test")
	if _, err := os.Stat(program); err != nil {
		cmd := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program, ".")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly")
		if out, err := cmd.CombinedOutput(); err != nil {
			ts.Fatalf("the test does not compile: %v\n%s", err, out)
		}
	}
	cmd := exec.Command(program)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	ts.Logf("%s", out)
	if (err == nil) != (args[0] == "pass") {
		ts.Fatalf("the test does not %s: %v", args[0], err)
	}
}

// A line of --as-test that is neither is refused where it is read.
func TestTestForm_RefusesOthers(t *testing.T) {
	t.Parallel()
	var f testForm
	if err := f.Set("java"); err == nil || f != "" {
		t.Errorf("java is accepted as %q, %v", f, err)
	}
}
