package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/awaken-go/awaken/cmd/awaken/internal/demo"
	"github.com/awaken-go/awaken/cmd/awaken/internal/specfile"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/testenv"
)

func readDocs(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The agent files in the documentation work.
func TestDocs_AgentFiles(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-test") // the key that a file of the documentation asks for
	blocks := regexp.MustCompile("(?s)\n```yaml\n(.*?)\n```").FindAllStringSubmatch(readDocs(t, "cli.md")+readDocs(t, "getting-started.md")+readDocs(t, "policies.md"), -1)
	if len(blocks) < 3 {
		t.Fatalf("the documentation has %d agent files", len(blocks))
	}
	for _, b := range blocks {
		file, err := specfile.Parse("docs.yaml", []byte(b[1]))
		if err != nil {
			t.Errorf("%v\n%s", err, b[1])
			continue
		}
		cfg := demo.Config()
		notes, err := outbound{}.use(&cfg, file)
		if err != nil || len(notes) > 0 {
			t.Errorf("%v %v\n%s", notes, err, b[1])
		}
		rt, err := engine.New(cfg)
		if err != nil {
			t.Errorf("%v\n%s", err, b[1])
			continue
		}
		for _, d := range rt.Registry().Diagnostics() {
			if d.Code != "rule_matches_nothing" { // rules may name tools of the reader's program
				t.Errorf("%v\n%s", d, b[1])
			}
		}
	}
}

// The documentation has every command and flag, and the same exit statuses as the
// help.
func TestDocs_FlagsAndStatuses(t *testing.T) {
	docs := readDocs(t, "cli.md")
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.HasParent() && !strings.Contains(docs, "`"+cmd.CommandPath()) {
			t.Errorf("docs/cli.md does not have %s", cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if cmd.HasParent() && !strings.Contains(docs, "`--"+f.Name) {
				t.Errorf("docs/cli.md does not have --%s of %s", f.Name, cmd.CommandPath())
			}
		})
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(rootCommand(&console{}))
	_, list, _ := strings.Cut(runHelp, "Exit status:\n")
	for line := range strings.Lines(list) {
		status, meaning, _ := strings.Cut(strings.TrimSpace(line), " ")
		meaning, _, _ = strings.Cut(strings.TrimSpace(meaning), ", for example")
		meaning, _, _ = strings.Cut(meaning, " (")
		if row := "| " + status + " | " + meaning + " |"; !strings.Contains(docs, row) {
			t.Errorf("docs/cli.md does not have the row %s", row)
		}
	}
}
