package main

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/trace"
	"github.com/awaken-go/awaken/trace/goldentest"
)

// testForm is what --as-test writes: txtar or go.
type testForm string

func (f *testForm) String() string { return string(*f) }

func (f *testForm) Type() string { return "form" }

// Set refuses other forms.
func (f *testForm) Set(text string) error {
	if text != "txtar" && text != "go" {
		return errors.New("want txtar or go")
	}
	*f = testForm(text)
	return nil
}

// exportTest writes a test of a run: a file, or with Go in a folder.
func exportTest(ctx context.Context, con *console, s *settings.Settings, b *backend, rec *trace.Recording, form testForm, agents, out string) error {
	past := &pastVersions{settings: s, backend: b, run: rec.Run}
	defer past.close()
	reg, _, err := past.registry(ctx, con, agents)
	if err != nil {
		return err
	}
	spec := reg.Agent(rec.Run.AgentID)
	if spec == nil {
		return configError("agent %q of the run does not exist any more; -f names a file that has it", rec.Run.AgentID)
	}
	data, err := goldentest.Export(ctx, rec, spec, reg.Offered(spec.Base()))
	if err != nil {
		return failed(err)
	}
	if form == "go" {
		return writeGoTest(con, rec.Run.RunID, out, data)
	}
	if out == "" {
		_, err := con.out.Write(data)
		return written(err)
	}
	return writeNew(out, data)
}

// writeGoTest writes the file of a run below a folder, and the test that plays it.
func writeGoTest(con *console, runID, dir string, data []byte) error {
	if dir == "" {
		dir = "."
	}
	name := "run_" + strings.ReplaceAll(runID[max(0, len(runID)-12):], "-", "_")
	if err := os.MkdirAll(filepath.Join(dir, "testdata"), 0o755); err != nil {
		return configError("%w", err)
	}
	test := fmt.Sprintf(`package %s

import (
	"testing"

	"github.com/awaken-go/awaken/trace/goldentest"
)

// Run %s, as it was recorded. It asks no model and has no effects.
func TestRun_%s(t *testing.T) {
	goldentest.Test(t, "testdata/%s.txtar")
}
`, testPackage(dir), runID, strings.TrimPrefix(name, "run_"), name)
	for _, f := range []struct {
		path string
		data []byte
	}{{filepath.Join(dir, "testdata", name+".txtar"), data}, {filepath.Join(dir, name+"_test.go"), []byte(test)}} {
		if err := writeNew(f.path, f.data); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(con.out, printable(f.path, false)); err != nil {
			return written(err)
		}
	}
	return nil
}

// writeNew writes a file that does not exist yet.
func writeNew(name string, data []byte) error {
	f, err := newFile(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// testPackage returns the name of the package of tests in a folder.
func testPackage(dir string) string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go")) // the pattern is valid
	for _, file := range files {
		if f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly); err == nil {
			return strings.TrimSuffix(f.Name.Name, "_test") + "_test"
		}
	}
	return "agent_test"
}
