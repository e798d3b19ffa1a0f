package deferred

import (
	"math"
	"testing"
)

// The published values of the original.
func TestDiscBeta_Vectors(t *testing.T) {
	t.Parallel()
	d := Defaults().DiscBeta
	idle := func(u usage, turns int) usage {
		for range turns {
			u = u.after(d.Omega, false, 0)
		}
		return u
	}
	first := d.initial(defaultPrior)
	used := first.after(d.Omega, true, 1)
	for _, tt := range []struct {
		name               string
		u                  usage
		alpha, beta, upper float64
	}{
		{"initial", first, 0.05, 4.95, 0.062075},
		{"after 1 idle turn", idle(first, 1), 0.0475, 5.7025, 0.052924},
		{"after 5 idle turns", idle(first, 5), 0.038689, 8.354597, 0.032943},
		{"one use then 0 idle", used, 1.0475, 4.7025, 0.372637},
		{"one use then 5 idle", idle(used, 5), 0.810536, 8.163086, 0.206685},
		{"one use then 10 idle", idle(used, 10), 0.627177, 10.840822, 0.137241},
	} {
		for what, v := range map[string][2]float64{"alpha": {tt.u.Alpha, tt.alpha}, "beta": {tt.u.Beta, tt.beta}, "upper": {tt.u.upper(), tt.upper}} {
			if math.Abs(v[0]-v[1]) > 1e-6 {
				t.Errorf("%s: %s is %f, want %f", tt.name, what, v[0], v[1])
			}
		}
	}
	if m := idle(first, 5); math.Abs(m.Alpha/(m.Alpha+m.Beta)-0.004610) > 1e-6 {
		t.Errorf("mean after 5 idle turns is %f", m.Alpha/(m.Alpha+m.Beta))
	}
	// c=400, c_bar=3: a tool that was used once is kept after 5 and 10 idle turns.
	for _, turns := range []int{5, 10} {
		if u := idle(used, turns); d.idle(u, u.LastUsed+turns, 400, 3) {
			t.Errorf("a tool that was used once is deferred after %d idle turns", turns)
		}
	}
	if u := idle(first, 5); !d.idle(u, 5, 400, 3) {
		t.Error("a tool that was never used is kept")
	}
	if u := idle(first, 5); d.idle(u, 4, 400, 3) {
		t.Error("a tool is deferred before defer_after turns")
	}
	if u := idle(first, 50); d.idle(u, 50, 3, 3) {
		t.Error("a tool is deferred although that saves nothing")
	}
}
