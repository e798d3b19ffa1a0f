package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/awaken-go/awaken/internal/testenv"
)

// maxBinary is how large the stripped program may become, in bytes, with everything that is
// planned. One SDK of a model provider more would break it.
const maxBinary = 51_000_000

// TestBudget_BinarySize links the program.
func TestBudget_BinarySize(t *testing.T) {
	if testenv.Race {
		t.Skip("the program is linked without the race detector; the budgets are tested without it")
	}
	t.Parallel()
	file := filepath.Join(t.TempDir(), "awaken")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", file, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", info.Size())
	if info.Size() > maxBinary {
		t.Errorf("the stripped program has %d bytes, want %d at most: `go list -deps ./cmd/awaken` shows what it links", info.Size(), maxBinary)
	}
}
