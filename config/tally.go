package config

import "sync"

func (t Tally) plus(o Tally) Tally {
	return Tally{t.Runs + o.Runs, t.Errors + o.Errors, t.CostUSD + o.CostUSD, t.LatencyMS + o.LatencyMS}
}

func (t Tally) minus(o Tally) Tally {
	return Tally{t.Runs - o.Runs, t.Errors - o.Errors, t.CostUSD - o.CostUSD, t.LatencyMS - o.LatencyMS}
}

// average divides by the runs; 0 if there are none.
func (t Tally) average(sum float64) float64 {
	if t.Runs == 0 {
		return 0
	}
	return sum / float64(t.Runs)
}

// tallies are counts that the store does not have yet.
type tallies struct {
	mu    sync.Mutex
	added map[int64]Tally
}

func (ts *tallies) add(number int64, t Tally) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.added == nil {
		ts.added = map[int64]Tally{}
	}
	ts.added[number] = ts.added[number].plus(t)
}

// take returns what was added since the last time.
func (ts *tallies) take() map[int64]Tally {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	added := ts.added
	ts.added = nil
	return added
}
