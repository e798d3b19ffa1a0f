package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// maxReport is the size up to which a line of a file of reports is read.
const maxReport = 16 << 20

// ReadReports reads reports, one JSON object per line, as items without variants. It skips blank lines and accepts fields that it does
// not know, because newer programs write more. Errors name the line.
func ReadReports(r io.Reader) ([]Item, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxReport)
	var items []Item
	seen := map[string]int{}
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var report Report
		if err := json.Unmarshal(line, &report); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if report.FixtureID == "" {
			return nil, fmt.Errorf("line %d: fixture_id is missing; want the report of a case", n)
		}
		if report.Passed != (len(report.Failures) == 0) {
			return nil, fmt.Errorf("line %d: passed is %t with %d failures; want true with none, or false", n, report.Passed, len(report.Failures))
		}
		if first, ok := seen[report.FixtureID]; ok {
			return nil, fmt.Errorf("line %d: fixture_id is %q, as in line %d; want one report per case", n, report.FixtureID, first)
		}
		seen[report.FixtureID] = n
		items = append(items, Item{FixtureID: report.FixtureID, Report: &report})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return items, nil
}

// WriteReports writes the reports of items, one JSON object per line.
func WriteReports(w io.Writer, items []Item) error {
	enc := json.NewEncoder(w)
	for i := range items {
		if err := enc.Encode(items[i].Report); err != nil {
			return err
		}
	}
	return nil
}
