package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/awaken-go/awaken/internal/testenv"
)

// The commands of docs/migration.md work as written on documents in the original's form, and a server
// then has all of them.
func TestMigration_CommandsWorkOnDocumentsOfTheOriginal(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), "docs", "migration.md"))
	if err != nil {
		t.Fatal(err)
	}
	documents, err := os.ReadFile(filepath.Join("testdata", "original.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	// What each command prints.
	said := []string{
		"stdout '^\\+ agents/researcher$'\nstdout '^\\+ providers/gateway$'\nstderr '^would change 11 documents$'",
		"stdout '^\\+ skills/review$'\n! stdout retired\nstderr '^published version 2$'",
		"! stdout .",
		"stderr '^wrote 11 documents to documents$'\n! stdout sk-gateway",
		"! stdout .\nstderr '^nothing to do$'",
	}
	script := &bytes.Buffer{}
	fmt.Fprintln(script, "env GATEWAY_KEY=sk-gateway\nenv PARTNER_TOKEN=partner-token")
	n := 0
	for _, block := range shellBlock.FindAllStringSubmatch(string(page), -1) {
		for _, line := range commands(block[1]) {
			if n == len(said) {
				t.Fatalf("docs/migration.md has a command that is not tested: %s", line)
			}
			fmt.Fprintf(script, "exec %s\n%s\n", line, said[n])
			n++
		}
	}
	if n != len(said) {
		t.Fatalf("docs/migration.md has %d commands, want %d", n, len(said))
	}
	script.WriteString(`
exec awaken config apply lists.json
stdout '^\+ agents/listed$'
serves a
curl -s -H 'Authorization: Bearer '$KEY $URL/v1/config/agents/researcher
stdout '"model_id":"research"'
stdout '"max_rounds":12'
stdout '"system_prompt":"Find sources."'
curl -s -H 'Authorization: Bearer '$KEY $URL/v1/config/agents/helper
stdout '"system_prompt":"Help briefly."'
stdout '"retry":{"max_retries":1}'
curl -s -H 'Authorization: Bearer '$KEY $URL/v1/config/agents/modern
stdout '"max_rounds":5'
curl -s -H 'Authorization: Bearer '$KEY $URL/v1/config/providers/gateway
stdout '"has_api_key":true'
! stdout sk-gateway
curl -s -H 'Authorization: Bearer '$KEY $URL/v1/config/agents/retired
stdout not_found
stops a TERM 0
`)
	file := filepath.Join(t.TempDir(), "migration.txtar")
	if err := os.WriteFile(file, append(script.Bytes(), documents[strings.Index(string(documents), "\n-- "):]...), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files:               []string{file},
		Setup:               func(env *testscript.Env) error { env.Setenv("GORACE", "atexit_sleep_ms=10"); return nil },
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"serves": startServer, "stops": stopServer, "curl": scriptCurl},
		RequireExplicitExec: true,
	})
}
