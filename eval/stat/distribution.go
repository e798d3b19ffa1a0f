package stat

import "math"

// normalQuantile returns the value below which a standard normal variable is with probability p.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// studentQuantile returns the value below which Student's t with df degrees of freedom is with probability p ≥ 0.5.
func studentQuantile(p, df float64) float64 {
	tail := func(t float64) float64 { return incompleteBeta(df/2, 0.5, df/(df+t*t)) / 2 }
	low, high := 0.0, 1.0
	for tail(high) > 1-p && !math.IsInf(high, 1) {
		low, high = high, high*2
	}
	for range 200 {
		mid := low + (high-low)/2
		if mid == low || mid == high {
			break
		}
		if tail(mid) > 1-p {
			low = mid
		} else {
			high = mid
		}
	}
	return low + (high-low)/2
}

// binomialCDF returns the probability of at most k heads in n throws of a fair coin.
func binomialCDF(k, n int) float64 {
	all, _ := math.Lgamma(float64(n + 1))
	p := 0.0
	for i := 0; i <= k; i++ {
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		p += math.Exp(all - a - b - float64(n)*math.Ln2)
	}
	return p
}

// incompleteBeta returns the regularized incomplete beta function of a and b at x, by its continued fraction
// (Lentz's method; DLMF 8.17.22).
func incompleteBeta(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2): // where the fraction converges slowly, use the symmetry
		return 1 - incompleteBeta(b, a, 1-x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a

	const tiny, precision = 1e-300, 1e-16
	c, d, f := 1.0, 0.0, 1.0
	for i := range 1000 {
		m := float64(i / 2)
		var term float64
		switch {
		case i == 0:
			term = 1
		case i%2 == 0:
			term = m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		default:
			term = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		}
		d = 1 + term*d
		if math.Abs(d) < tiny {
			d = tiny
		}
		d = 1 / d
		c = 1 + term/c
		if math.Abs(c) < tiny {
			c = tiny
		}
		f *= c * d
		if math.Abs(c*d-1) < precision {
			break
		}
	}
	return front * (f - 1)
}
