package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var guideCommand = regexp.MustCompile("(?s)```sh\n(awaken [^\n]*)\n```\n\n```\n(.*?)```")

// The commands of the guide to evaluations work as written, in their order, and print what it says.
func TestDocs_Evals(t *testing.T) {
	docs := readDocs(t, "evals.md")
	t.Chdir(t.TempDir())
	_, block, ok := strings.Cut(docs, "```json\n")
	fixture, _, _ := strings.Cut(block, "```")
	if err := os.Mkdir("cases", 0o755); err != nil || !ok {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("cases", "refund.json"), []byte(fixture), 0o644); err != nil {
		t.Fatal(err)
	}
	commands := guideCommand.FindAllStringSubmatch(docs, -1)
	if len(commands) < 4 {
		t.Fatalf("the guide has %d commands", len(commands))
	}
	for _, c := range commands {
		line, status, _ := strings.Cut(c[1], " # ")
		want, _ := strconv.Atoi(status)
		var out, errs bytes.Buffer
		got := execute(t.Context(), &console{in: strings.NewReader(""), out: &out, err: &errs}, strings.Fields(line)[1:])
		if diff := cmp.Diff(c[2], out.String()); diff != "" || got != want {
			t.Errorf("%s: exit status %d, want %d\n%s(-want +got):\n%s", line, got, want, errs.String(), diff)
		}
	}
}
