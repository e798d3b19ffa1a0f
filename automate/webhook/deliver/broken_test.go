package deliver

import (
	"testing"

	"github.com/awaken-go/awaken/automate/webhook"
)

// A receiver that is down is news once, however many runs and attempts there are, and so is its return.
func TestBroken_IsNewsOnce(t *testing.T) {
	var b broken
	down, other := &webhook.Target{URL: "http://down.example"}, &webhook.Target{URL: "http://other.example"}
	news := 0
	for range 1000 {
		if b.fail(down) {
			news++
		}
	}
	if news != 1 {
		t.Errorf("1000 failures were news %d times, want once", news)
	}
	if !b.fail(other) {
		t.Error("the failure of another receiver is no news")
	}
	if n := b.mend(down); n != 1000 {
		t.Errorf("the receiver is back after %d failures, want 1000", n)
	}
	if n := b.mend(down); n != 0 {
		t.Errorf("it is back again after %d", n)
	}
	if !b.fail(down) {
		t.Error("a failure after its return is no news")
	}
}
