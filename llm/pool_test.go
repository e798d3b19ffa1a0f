package llm

import (
	"math"
	"testing"
)

func TestScore_MatchesTheReferenceVectors(t *testing.T) {
	for _, v := range []struct {
		key, model string
		want       float64
	}{
		{"thread-1", "gpt", 5.10982}, {"thread-1", "claude", 0.66862}, {"thread-2", "gpt", 0.85918},
		{"thread-2", "claude", 2.42138}, {"t3", "gpt", 0.83387}, {"t3", "claude", 0.32118},
	} {
		if got := score(v.key, v.model, 1); math.Abs(got-v.want) > 0.00001 {
			t.Errorf("%s %s: %.5f, want %.5f", v.key, v.model, got, v.want)
		}
	}
}
