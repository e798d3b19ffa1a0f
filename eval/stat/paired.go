package stat

import (
	"math"
	"slices"
)

// exactRanks is the number of differences up to which SignedRank counts the orders of signs.
const exactRanks = 50

// SignedRank returns the p-value of Wilcoxon's signed-rank test that differences are symmetric about 0. It supposes no
// distribution, so it suits latencies and costs. Differences of 0 are left out; without others the p-value is 1.
// It is exact for up to 50 differences, also if some have the same size, otherwise approximated by a normal distribution with
// correction for ties and for continuity.
func SignedRank(differences []float64) float64 {
	var sizes []float64
	for _, d := range differences {
		if d != 0 {
			sizes = append(sizes, d)
		}
	}
	n := len(sizes)
	if n == 0 {
		return 1
	}
	slices.SortFunc(sizes, func(a, b float64) int {
		switch x, y := math.Abs(a), math.Abs(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	var positive, ties float64
	doubled := make([]int, 0, n) // ranks, which of ties may end in a half
	for i := 0; i < n; {
		j := i
		for j < n && math.Abs(sizes[j]) == math.Abs(sizes[i]) {
			j++
		}
		rank := float64(i+j+1) / 2
		for k := i; k < j; k++ {
			doubled = append(doubled, i+j+1)
			if sizes[k] > 0 {
				positive += rank
			}
		}
		size := float64(j - i)
		ties += size*size*size - size
		i = j
	}
	total := float64(n) * float64(n+1) / 2
	least := min(positive, total-positive)
	if n <= exactRanks {
		return min(1, 2*rankSumCDF(int(2*least), doubled))
	}
	variance := float64(n)*float64(n+1)*float64(2*n+1)/24 - ties/48
	distance := max(0, total/2-least-0.5)
	return math.Erfc(distance / math.Sqrt(2*variance))
}

// rankSumCDF returns the probability that the ranks with a positive sign add up to at most sum, if every sign is as likely.
func rankSumCDF(sum int, ranks []int) float64 {
	ways := make([]float64, len(ranks)*(len(ranks)+1)+1) // all ranks, doubled, add up to that
	ways[0] = 1
	for _, rank := range ranks {
		for s := len(ways) - 1; s >= rank; s-- {
			ways[s] += ways[s-rank]
		}
	}
	p := 0.0
	for _, w := range ways[:sum+1] {
		p += w
	}
	return p * math.Pow(0.5, float64(len(ranks)))
}
