package stat

import "math"

// Interval is a confidence interval.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Wilson returns the score interval of the rate of passed among n independent attempts. It stays within
// 0 and 1 and is sensible for few attempts and for rates of 0 and 1. Without attempts it is 0 to 1.
func Wilson(passed, n int, confidence float64) Interval {
	if n == 0 {
		return Interval{0, 1}
	}
	return wilson(float64(passed)/float64(n), float64(n), confidence)
}

// wilson returns the score interval of a rate among size attempts, of which there may be a fraction.
func wilson(rate, size, confidence float64) Interval {
	z := normalQuantile(0.5 + confidence/2)
	scale := 1 + z*z/size
	centre := (rate + z*z/(2*size)) / scale
	half := z / scale * math.Sqrt(rate*(1-rate)/size+z*z/(4*size*size))
	// At the ends the exact bounds are 0 and 1; rounding would miss them by a little.
	in := Interval{max(0, centre-half), min(1, centre+half)}
	if rate == 0 {
		in.Low = 0
	}
	if rate == 1 {
		in.High = 1
	}
	return in
}

// Mean returns the mean of values and its interval by Student's t. It returns NaN without values, and an interval
// without bounds (minus to plus infinity) for one value.
func Mean(values []float64, confidence float64) (float64, Interval) {
	mean, deviation := moments(values)
	if len(values) < 2 {
		return mean, Interval{math.Inf(-1), math.Inf(1)}
	}
	df := float64(len(values) - 1)
	half := studentQuantile(0.5+confidence/2, df) * deviation / math.Sqrt(float64(len(values)))
	return mean, Interval{mean - half, mean + half}
}

// moments returns the mean of values and their sample standard deviation.
func moments(values []float64) (mean, deviation float64) {
	if len(values) == 0 {
		return math.NaN(), math.NaN()
	}
	for _, v := range values {
		mean += v
	}
	mean /= float64(len(values))
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(squares / float64(len(values)-1))
}
