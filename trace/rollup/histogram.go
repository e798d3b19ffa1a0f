package rollup

import (
	"math"
	"slices"
)

// Bounds are the upper bounds of the buckets of a [Histogram], in milliseconds, each about 1.5 times the previous one. A last bucket counts
// the durations above all bounds.
var Bounds = [...]int64{1, 2, 3, 5, 8, 11, 17, 26, 38, 58, 86, 130, 195, 292, 438, 657, 985, 1478, 2217, 3325, 4988, 7482, 11223, 16834, 25251,
	37877, 56815, 85223, 127834, 191751, 287627, 431440, 647160, 970740, 1456110, 2184164, 3276247, 4914370, 7371555}

// Histogram counts durations by bucket. Histograms of several processes can be added.
type Histogram [len(Bounds) + 1]int64

func (h *Histogram) add(ms int64) {
	i, _ := slices.BinarySearch(Bounds[:], ms)
	h[i]++
}

// Quantile returns the q-quantile of the durations, in milliseconds, or 0 if there are none. Its error is at most the width of a bucket, a
// third.
func (h *Histogram) Quantile(q float64) float64 {
	total := int64(0)
	for _, n := range h {
		total += n
	}
	if total == 0 {
		return 0
	}
	rank := max(1, math.Ceil(q*float64(total)))
	seen := 0.0
	for i, n := range h {
		if seen+float64(n) < rank || n == 0 {
			seen += float64(n)
			continue
		}
		low, high := 0.0, float64(Bounds[len(Bounds)-1])*1.5
		if i > 0 {
			low = float64(Bounds[i-1])
		}
		if i < len(Bounds) {
			high = float64(Bounds[i])
		}
		return low + (high-low)*(rank-seen)/float64(n)
	}
	return 0
}
