package deferred

import "math"

// DiscBeta says when a promoted tool is deferred again. How often a tool is used is a
// Beta distribution whose past counts less and less.
type DiscBeta struct {
	Omega      float64 `json:"omega" jsonschema:"how much of the past is left after a turn; 0.95 remembers about 20 turns"`
	N0         float64 `json:"n0" jsonschema:"how many observations the prior counts for"`
	DeferAfter int     `json:"defer_after" jsonschema:"turns without use before a tool is deferred again"`
	ThreshMult float64 `json:"thresh_mult" jsonschema:"how far below the breakeven frequency its use must be"`
	Gamma      float64 `json:"gamma" jsonschema:"tokens that one search costs"`
}

// defaultPrior is how often a tool is used of which nothing is known.
const defaultPrior = 0.01

// usage is what is believed about the use of a tool, and when it was last used.
type usage struct {
	Alpha    float64 `json:"alpha"`
	Beta     float64 `json:"beta"`
	LastUsed int     `json:"last_used"` // a turn
}

// initial is the belief that a tool is used with frequency p.
func (d *DiscBeta) initial(p float64) usage {
	return usage{Alpha: max(p*d.N0, 0.01), Beta: max((1-p)*d.N0, 0.01)}
}

// after is the belief after one more turn.
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

// upper is the upper end of the interval that holds the frequency of use with a
// probability of 90 percent.
func (u usage) upper() float64 {
	const z = 1.282
	n := u.Alpha + u.Beta
	return min(1, u.Alpha/n+z*math.Sqrt(u.Alpha*u.Beta/(n*n*(n+1))))
}

// idle reports whether a tool whose schema costs c tokens, and whose name costs name, is
// used too seldom to be kept.
func (d *DiscBeta) idle(u usage, turn int, c, name float64) bool {
	if c <= name {
		return false // keeping it costs nothing
	}
	breakeven := (c - name) / d.Gamma
	return turn-u.LastUsed >= d.DeferAfter && u.upper() < breakeven*d.ThreshMult
}
