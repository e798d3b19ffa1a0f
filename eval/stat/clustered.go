package stat

import "math"

// Clustered returns the mean of values that were sampled in clusters, such as several samples of each case, and its interval: values of one
// cluster may depend on each other, clusters do not. The interval is Student's t with one degree of freedom less than there are
// clusters, by the cluster-robust variance with the correction for few clusters (Liang and Zeger 1986; CR1). With one value in each cluster
// it is the interval of [Mean]. It has no bounds for fewer than two clusters. Clusters without values are left out.
func Clustered(clusters [][]float64, confidence float64) (float64, Interval) {
	sum, n, groups := 0.0, 0, 0
	for _, c := range clusters {
		for _, v := range c {
			sum += v
		}
		n += len(c)
		if len(c) > 0 {
			groups++
		}
	}
	mean := sum / float64(n)
	if groups < 2 {
		return mean, Interval{math.Inf(-1), math.Inf(1)}
	}
	correction := float64(groups) / float64(groups-1)
	half := studentQuantile(0.5+confidence/2, float64(groups-1)) * math.Sqrt(correction*clusterVariance(clusters, mean, n))
	return mean, Interval{mean - half, mean + half}
}

// clusterVariance returns the cluster-robust variance of the mean of n values, without a correction (CR0).
func clusterVariance(clusters [][]float64, mean float64, n int) float64 {
	squares := 0.0
	for _, c := range clusters {
		off := 0.0
		for _, v := range c {
			off += v - mean
		}
		squares += off * off
	}
	return squares / float64(n) / float64(n)
}

// Rate counts the attempts of one cluster, such as the samples of a case.
type Rate struct{ Passed, Attempts int }

// ClusteredWilson returns the interval of the rate of passed attempts that were made in clusters. It is [Wilson] with as many attempts as are
// worth as much if they are independent (n divided by the design effect). If all attempts ended alike, that is the number of
// clusters, since nothing shows how far the attempts of one depend on each other. Attempts of a single cluster are taken as independent:
// the interval is about that cluster alone.
func ClusteredWilson(clusters []Rate, confidence float64) Interval {
	passed, n, groups := 0, 0, 0
	for _, c := range clusters {
		passed += c.Passed
		if n += c.Attempts; c.Attempts > 0 {
			groups++
		}
	}
	if groups < 2 || groups == n {
		return Wilson(passed, n, confidence)
	}
	rate, squares := float64(passed)/float64(n), 0.0
	for _, c := range clusters {
		off := float64(c.Passed) - float64(c.Attempts)*rate
		squares += off * off
	}
	size := float64(n)
	switch independent := rate * (1 - rate); {
	case passed == 0 || passed == n:
		size = float64(groups)
	case squares > 0:
		size = min(size, independent*size*size/squares)
	}
	return wilson(rate, size, confidence)
}

// SignFlip returns the exact p-value for two variants that were tried on the same clusters, such as cases: differences has, for each
// cluster, how many of its attempts the second variant passed more than the first. If the variants do not differ, either sign of each is as
// likely. With one attempt in each cluster it is McNemar's exact test. Clusters without a difference say nothing; with no others the p-value is 1.
func SignFlip(differences []int) float64 {
	sum, all := 0, 0
	var sizes []int
	for _, d := range differences {
		if sum += d; d != 0 {
			sizes = append(sizes, max(d, -d))
			all += max(d, -d)
		}
	}
	sum = max(sum, -sum)
	switch {
	case sum == 0:
		return 1
	case all == len(sizes)*sizes[0] && same(sizes):
		return min(1, 2*binomialCDF((len(sizes)-sum/sizes[0])/2, len(sizes)))
	}
	// chance[s] is the probability that the differences with a negative sign add up to s.
	chance, reached := make([]float64, all+1), 0
	chance[0] = 1
	for _, size := range sizes {
		reached += size
		for s := reached; s >= 0; s-- {
			chance[s] /= 2
			if s >= size {
				chance[s] += chance[s-size] / 2
			}
		}
	}
	p := 0.0
	for _, c := range chance[:(all-sum)/2+1] {
		p += c
	}
	return min(1, 2*p)
}

func same(sizes []int) bool {
	for _, s := range sizes {
		if s != sizes[0] {
			return false
		}
	}
	return true
}
