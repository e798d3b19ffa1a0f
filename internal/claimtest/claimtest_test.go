package claimtest_test

import (
	"encoding/json"
	"strings"
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
		"tool pay completed: error":                                                        1,
	} {
		if got := claimtest.Find(text); len(got) != claims {
			t.Errorf("%q has the claims %q, want %d", text, got, claims)
		}
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"type":"tool","call_id":"c","status":"failed","error_type":"tool_error"}`:       "error_type=tool_error",
		`{"update":{"toolCallId":"m/c","status":"completed"}}`:                            "status=completed",
		`[{"toolCallId":"c","state":"output-available"},{"id":"d","status":"completed"}]`: "state=output-available",
		`{"run_id":"r","status":"completed","calls":[{"id":"c","outcome":"in_doubt"}]}`:   "",
		`{"type":"tool","call_id":"c","status":"failed","error_type":"in_doubt"}`:         "",
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(claimtest.Verdicts(v, "c"), " "); got != want {
			t.Errorf("%s has the verdicts %q, want %q", text, got, want)
		}
	}
}
