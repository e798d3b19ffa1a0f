package deferred

import "math"

// DiscBeta configures when a promoted tool is deferred again. The frequency of use is modelled
// by a discounted Beta distribution: older observations count less.
type DiscBeta struct {
	Omega      float64 `json:"omega" jsonschema:"discount per turn; 0.95 remembers about 20 turns"`
	N0         float64 `json:"n0" jsonschema:"weight of the prior, in observations"`
	DeferAfter int     `json:"defer_after" jsonschema:"turns without use before a tool may be deferred again"`
	ThreshMult float64 `json:"thresh_mult" jsonschema:"factor of the break-even frequency below which a tool is deferred"`
	Gamma      float64 `json:"gamma" jsonschema:"cost of one search, in tokens"`
}

// defaultPrior is the expected frequency of use of an unknown tool.
const defaultPrior = 0.01

// usage is the estimated use of a tool, and the turn of its last use.
type usage struct {
	Alpha    float64 `json:"alpha"`
	Beta     float64 `json:"beta"`
	LastUsed int     `json:"last_used"` // turn
}

// initial returns the estimate for a tool with an expected frequency of p.
func (d *DiscBeta) initial(p float64) usage {
	return usage{Alpha: max(p*d.N0, 0.01), Beta: max((1-p)*d.N0, 0.01)}
}

// after returns the estimate after one more turn.
func (u usage) after(omega float64, used bool, turn int) usage {
	u.Alpha *= omega
	u.Beta *= omega
	if used {
		u.Alpha++
		u.LastUsed = turn
	} else {
		u.Beta++
	}
	return u
}

// upper returns the upper bound of the 90 % confidence interval of the frequency.
func (u usage) upper() float64 {
	const z = 1.282
	n := u.Alpha + u.Beta
	return min(1, u.Alpha/n+z*math.Sqrt(u.Alpha*u.Beta/(n*n*(n+1))))
}

// idle reports whether a tool is used too rarely to keep its schema, which costs c tokens,
// instead of its name.
func (d *DiscBeta) idle(u usage, turn int, c, name float64) bool {
	if c <= name {
		return false // keeping the schema costs nothing
	}
	breakeven := (c - name) / d.Gamma
	return turn-u.LastUsed >= d.DeferAfter && u.upper() < breakeven*d.ThreshMult
}
