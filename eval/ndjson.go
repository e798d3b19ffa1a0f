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

// line is a report in a file, with its variant and sample.
type line struct {
	*Report
	Cell        *Cell `json:"cell,omitempty"`
	SampleIndex *int  `json:"sample_index,omitempty"`
}

// ReadReports reads reports, one JSON object per line. It skips blank lines and accepts fields that it does not know, because newer
// programs write more. Errors name the line.
func ReadReports(r io.Reader) ([]Item, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxReport)
	var items []Item
	seen := map[place]int{}
	n := 0
	for lines.Scan() {
		n++
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		report := line{Report: &Report{}}
		if err := json.Unmarshal(text, &report); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if report.FixtureID == "" {
			return nil, fmt.Errorf("line %d: fixture_id is missing; want the report of a case", n)
		}
		if report.Passed != (len(report.Failures) == 0) {
			return nil, fmt.Errorf("line %d: passed is %t with %d failures; want true with none, or false", n, report.Passed, len(report.Failures))
		}
		item := Item{FixtureID: report.FixtureID, Report: report.Report, Cell: report.Cell, SampleIndex: report.SampleIndex}
		if first, ok := seen[item.place()]; ok {
			return nil, fmt.Errorf("line %d: fixture_id is %q, as in line %d; want one report per case, variant and sample", n, report.FixtureID, first)
		}
		seen[item.place()] = n
		items = append(items, item)
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
		it := &items[i]
		if err := enc.Encode(line{it.Report, it.Cell, it.SampleIndex}); err != nil {
			return err
		}
	}
	return nil
}
