package testenv

import (
	"maps"
	"slices"
	"strconv"
	"testing"
)

// Report reports the median of values as a metric of a benchmark, and their range as
// unit-min and unit-max.
func Report(b *testing.B, unit string, values []float64) {
	b.Helper()
	sorted := slices.Sorted(slices.Values(values))
	b.ReportMetric(sorted[len(sorted)/2], unit)
	b.ReportMetric(sorted[0], unit+"-min")
	b.ReportMetric(sorted[len(sorted)-1], unit+"-max")
}

// Attributes prints numbers that a test has counted as its attributes, for programs that read its output.
func Attributes(tb testing.TB, values map[string]float64) {
	tb.Helper()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		tb.Attr(name, strconv.FormatFloat(values[name], 'f', -1, 64))
	}
}
