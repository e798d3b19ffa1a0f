package awaken_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/claimtest"
)

// No text about a call in doubt says that it was made, or that it was not, wherever the doubt comes from.
func TestCallText_ClaimsNothingAboutACallInDoubt(t *testing.T) {
	t.Parallel()
	for _, origin := range []awaken.DoubtOrigin{awaken.DoubtIntent, awaken.DoubtTool, awaken.DoubtChild, awaken.DoubtRestored} {
		for _, step := range []string{"", "mail"} {
			for _, effect := range []awaken.EffectClass{awaken.Effectful, awaken.Idempotent, awaken.ReadOnly} {
				for _, started := range []int64{0, 1} {
					s := &awaken.CallState{CallID: "c", ToolName: "pay", Arguments: json.RawMessage(`{}`), Effect: effect, StartedAt: started,
						Doubt: &awaken.Doubt{Since: 1, Origin: origin, Step: step}}
					for _, text := range []string{s.DoubtResult().Plain(), s.RefusalResult("").Plain(), s.RefusalResult("no").Plain(),
						s.InterruptionResult("cancelled").Plain(), s.DoubtNote(), s.WithDoubt(awaken.ErrorResult("x", "failed")).Plain(),
						s.UnansweredResult(awaken.ErrorResult("", "timed out")).Plain(), awaken.DoubtQuestion("It was cut off.", "Make the call again?"),
						awaken.OutcomeInDoubt.LogLine("pay"), (&awaken.Run{AgentID: "a", InDoubt: 1}).DoubtClause(), (&awaken.Run{AgentID: "a", InDoubt: 2}).DoubtClause()} {
						if claims := claimtest.Find(text); len(claims) > 0 || !strings.Contains(text, "not known") && !strings.Contains(text, "may have") {
							t.Errorf("%s: claims %q in %q", origin, claims, text)
						}
					}
				}
			}
		}
	}
}
