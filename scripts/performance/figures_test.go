package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const sample = `goos: linux
pkg: github.com/awaken-go/awaken/server
BenchmarkW6d/sqlite/threads=new/clients=64
    bench_test.go:228: floor: 2227 runs/s
BenchmarkW6d/sqlite/threads=new/clients=64-2 	 1	 0.2572 runs/floor	 0.3097 runs/floor-max	 0.1442 runs/floor-min	 5419.4 floor-runs/s
BenchmarkW6/clients=1 	       1	         0.5 CPU/relay
PASS
ok  	github.com/awaken-go/awaken/server	16.614s
=== ATTR  TestRequest_BytesOfARun/on_new_threads log-bytes 169127
ok  	github.com/awaken-go/awaken/store/sqlite	6.184s
`

func TestRender_FillsInWhatWasMeasured(t *testing.T) {
	const text = `{{least 0.25 (ratio "server" "W6d/sqlite/threads=new/clients=64" "runs/floor")}}|` +
		`{{least 0.3 (ratio "server" "W6d/sqlite/threads=new/clients=64" "runs/floor")}}|` +
		`{{value "server" "W6d/sqlite/threads=new/clients=64" "floor-runs/s"}}|{{most 0.6 (ratio "server" "W6/clients=1" "CPU/relay")}}|` +
		`{{most 100.0 (times 0.001 (value "store/sqlite" "TestRequest_BytesOfARun/on_new_threads" "log-bytes"))}}|{{value "server" "W9" "ms"}}`
	got, missing, err := render(text, parse([]byte(sample)))
	const want = "**0.26x** [0.14–0.31]|0.26x [0.14–0.31]|5,419|**0.50x**|169|–"
	if err != nil || got != want {
		t.Errorf("the text is %q, %v, want %q", got, err, want)
	}
	if !slices.Equal(missing, []string{"server W9 ms"}) {
		t.Errorf("not measured is %q, want W9", missing)
	}
}

// Every row of a table has as many cells as its head, and every table has a place in the document.
func TestTables_HaveWholeRowsAndAPlace(t *testing.T) {
	files, err := tables.ReadDir("tables")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d tables, %v", len(files), err)
	}
	document, err := os.ReadFile(filepath.Join("..", "..", "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := tables.ReadFile("tables/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		text, missing, err := render(string(data), nil)
		if err != nil || len(missing) < 10 {
			t.Fatalf("%s: %d figures, %v", file.Name(), len(missing), err)
		}
		head, _, _ := strings.Cut(text, "\n")
		for line := range strings.Lines(text) {
			if n, want := strings.Count(line, "|"), strings.Count(head, "|"); n != want {
				t.Errorf("%s: a row has %d bars, want %d: %s", file.Name(), n, want, line)
			}
		}
		if !strings.Contains(string(document), fmt.Sprintf(begin, strings.TrimSuffix(file.Name(), ".md"))) {
			t.Errorf("docs/performance.md has no place for %s", file.Name())
		}
	}
}

func TestReplace_KeepsWhatIsAround(t *testing.T) {
	document := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(document, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, b := fmt.Sprintf(begin, "a"), fmt.Sprintf(begin, "b")
	write("before\n" + a + "old\n" + end + "between\n" + b + "old\n" + end + "after\n")
	if err := replace(document, "b", "new\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(document)
	if want := "before\n" + a + "old\n" + end + "between\n" + b + "new\n" + end + "after\n"; err != nil || string(got) != want {
		t.Errorf("the page is %q, %v, want %q", got, err, want)
	}
	write("no table\n")
	if err := replace(document, "a", "new\n"); err == nil {
		t.Error("a page without a table was changed")
	}
}
