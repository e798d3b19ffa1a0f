package providertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/testenv"
)

// The documentation has the table of faults that adapters are held to, and that has a row for
// each of them.
func TestFaultTable_IsInTheDocumentation(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), "docs", "providers.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "\n\n"+FaultTable+"\n") {
		t.Errorf("docs/providers.md does not have this table:\n%s", FaultTable)
	}
	rows := strings.Split(strings.TrimSpace(FaultTable), "\n")[2:]
	if len(rows) != len(faults()) {
		t.Fatalf("the table has %d rows, want %d", len(rows), len(faults()))
	}
	for i, f := range faults() {
		if !strings.HasPrefix(rows[i], "| "+f.name+" | `"+string(f.want.Kind)+"` | ") {
			t.Errorf("row %d is %s, want %s", i, rows[i], f.name)
		}
	}
}
