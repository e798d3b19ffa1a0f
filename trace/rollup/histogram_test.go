package rollup

import "testing"

// A percentile lies in the bar that has the duration of its rank.
func TestHistogram_QuantilesAreExactToTheirBar(t *testing.T) {
	var h Histogram
	if got := h.Quantile(0.5); got != 0 {
		t.Errorf("half of nothing is %v", got)
	}
	for ms := range int64(10_000) {
		h.add(ms)
	}
	for _, q := range []float64{0.01, 0.5, 0.95, 0.99, 1} {
		want := q * 10_000
		if got := h.Quantile(q); got < want*2/3 || got > want*3/2 {
			t.Errorf("quantile %v is %v, want about %v", q, got, want)
		}
	}
	h.add(1 << 60)
	if got := h.Quantile(1); got <= float64(Bounds[len(Bounds)-1]) {
		t.Errorf("the longest is %v, want more than the last bound", got)
	}
	for i := 1; i < len(Bounds); i++ {
		if Bounds[i] <= Bounds[i-1] {
			t.Errorf("bound %d is not greater than the one before", i)
		}
	}
}
