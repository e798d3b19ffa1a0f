package replicatest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/testenv"
)

// The suites of real client packages pass if every request is served by another replica than the one
// before: AI SDK, AG-UI and OpenAI. By default some of their cases run, with AWAKEN_LONG all. AWAKEN_BIN
// names the program, and the packages are installed; scripts/test sees to both.
func TestClients_AreServedByAlternatingReplicas(t *testing.T) {
	program := os.Getenv("AWAKEN_BIN")
	if program == "" {
		t.Skip("AWAKEN_BIN names no program")
	}
	p, err := testenv.StartPostgres("max_connections=300")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	root := testenv.ModuleRoot(t)
	for _, suite := range []struct{ folder, file, core string }{
		{"internal/e2e", "chat.test.js", "text streams|an approval is given$|a reload in the middle of a text|stop stops the run|another answer$"},
		{"internal/e2e", "openai.test.js", "text and a conversation|a tool of the client|cut off and read again|cancelled and deleted"},
		{"internal/e2e/agui", "agui.test.js", "text comes in pieces|a call that a person approves|state is shared|stopped from elsewhere|two tabs see"},
	} {
		t.Run(suite.file, func(t *testing.T) {
			var databases []string
			for range 12 {
				databases = append(databases, p.Database())
			}
			args := []string{"--test", "--test-timeout=600000"}
			if !testenv.Long() {
				args = append(args, "--test-name-pattern="+suite.core)
			}
			cmd := exec.CommandContext(t.Context(), "node", append(args, filepath.Join("dist", suite.file))...)
			cmd.Dir = filepath.Join(root, suite.folder)
			cmd.Env = append(os.Environ(), "AWAKEN_REPLICAS=3", "AWAKEN_DATABASES="+strings.Join(databases, " "))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			for line := range strings.Lines(string(out)) {
				if strings.HasPrefix(line, "# pass") || strings.HasPrefix(line, "ℹ pass") {
					t.Log(strings.TrimSpace(line))
				}
			}
		})
	}
}
