package claimtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// said are the texts outside of calltext.go that say that a call was not made. Each is about an attempt that did not leave this
// process; the runtime adds what is not known about earlier ones (awaken.CallState.WithDoubt).
var said = map[string][]string{
	"engine/step.go":           {"were not valid JSON, so the call was not made"},
	"plugin/fork/fork.go":      {"in which calls are not made"},
	"plugin/mcp/account.go":    {"so the call was not made", "The call was not made"},
	"plugin/mcp/asking.go":     {"so the call was not made"},
	"plugin/mcp/connection.go": {"so the call was not made"},
	"plugin/mcp/tool.go":       {"so the call was not made"},
}

// other are texts that are not about what became of a call.
var other = map[string][]string{
	"protocol/openai/responses.go": {"it was made with store false"},
	"plugin/genui/instructions.go": {"It was made by the interface"},
	"server/runs/run.go":           {"of which it was not known whether it took effect"},
}

// Only calltext.go makes texts that say whether a call took effect.
func TestTexts_AreMadeInOnePlace(t *testing.T) {
	t.Parallel()
	words := []string{"not made", "was made", "took effect", "taken effect", "not been made", "did not run", "was not called", "was not run"}
	literals := 0
	for _, dir := range []string{"automate", "engine", "eventlog", "mailbox", "protocol", "plugin", "state", "trace", "server"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, d fs.DirEntry, err error) error {
			name, _ := filepath.Rel(filepath.Join("..", ".."), path)
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.Dir(name), "test") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				literals++
				text, _ := strconv.Unquote(lit.Value)
				for _, allowed := range slices.Concat(said[filepath.ToSlash(name)], other[filepath.ToSlash(name)]) {
					text = strings.ReplaceAll(text, allowed, "")
				}
				for _, w := range words {
					if strings.Contains(text, w) {
						t.Errorf("%s says %q, want the texts of calltext.go", name, text)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if literals < 1000 {
		t.Errorf("%d texts were read, want all texts of the program", literals)
	}
}
