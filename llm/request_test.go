package llm_test

import (
	"testing"

	"github.com/awaken-go/awaken/llm"
)

func TestEffortJSON_RoundTrips(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"none", "low", "medium", "high", "max"} {
		checkJSON(t, llm.Effort{Level: level}, `"`+level+`"`)
	}
	checkJSON(t, llm.Effort{Budget: 4096}, `{"budget":4096}`)
}

func TestEffortJSON_ErrorsNameTheProblem(t *testing.T) {
	t.Parallel()
	const want = `, want "none", "low", "medium", "high", "max" or {"budget": n} with n above 0`
	for _, tt := range []struct{ name, wire, why string }{
		{"unknown level", `"extreme"`, `reasoning effort is "extreme"` + want},
		{"empty level", `""`, `reasoning effort is ""` + want},
		{"number", `3`, `reasoning effort is 3` + want},
		{"null", `null`, `reasoning effort is null` + want},
		{"array", `["low"]`, `reasoning effort is ["low"]` + want},
		{"no budget", `{}`, `reasoning effort is {}` + want},
		{"budget of nothing", `{"budget":0}`, `reasoning effort is {"budget":0}` + want},
		{"budget below zero", `{"budget":-1}`, `reasoning effort is {"budget":-1}` + want},
		{"unknown field", `{"budgets":1}`, `reasoning effort: unknown field "budgets", did you mean "budget"?`},
		{"budget of the wrong type", `{"budget":"1"}`, `reasoning effort: field "budget" is a JSON string, want a whole number`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkRejected[llm.Effort](t, tt.wire, tt.why)
		})
	}
}
