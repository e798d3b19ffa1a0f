package testenv

import (
	"slices"
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
