package claimtest_test

import (
	"testing"

	"github.com/awaken-go/awaken/internal/claimtest"
)

func TestFind(t *testing.T) {
	t.Parallel()
	for text, claims := range map[string]int{
		`The call of tool "pay" was refused. It was not made.`:                             1,
		`[Tool execution was interrupted] the call was not made, the run ended: cancelled`: 1,
		`{"type":"tool-output-denied"}`:                                                    1,
		"The tool did not run.":                                                            1,
		"the call was executed":                                                            1,
		"The call took effect.":                                                            1,
		"the tool was never called":                                                        1,
		"it had begun, and whether it took effect is not known":                            0,
		"It may have taken effect. Make the call again?":                                   0,
		"Making the call again was refused. It was not repeated.":                          0,
		"the run ended: cancelled":                                                         0,
	} {
		if got := claimtest.Find(text); len(got) != claims {
			t.Errorf("%q has the claims %q, want %d", text, got, claims)
		}
	}
}
