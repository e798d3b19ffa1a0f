package testenv_test

import (
	"testing"

	"github.com/awaken-go/awaken/internal/testenv"
)

func TestTimes(t *testing.T) {
	for value, want := range map[string]int{"": 5, "0": 5, "1": 200, "yes": 200, "2": 200, "0.1": 20, "0.001": 5, "-1": 200} {
		t.Setenv("AWAKEN_LONG", value)
		if got := testenv.Times(5, 200); got != want {
			t.Errorf("AWAKEN_LONG=%q: %d times, want %d", value, got, want)
		}
	}
}
