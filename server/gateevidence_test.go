package server_test

import (
	"fmt"
	"testing"
)

// The runs that the evidence of a publication is made of are kept, whatever becomes of the cases.
func TestGates_TheirEvidenceIsKept(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "")
	_, source := g.done(admin...)
	g.want(200, "PUT", "/v1/eval/datasets/"+g.dataset, fmt.Sprintf(`{"expected_revision":1,"spec":{"fixtures":[{"id":"a","user_input":"May I?","source_run_id":%q,"expect":{"final_answer_contains":["Certainly"]}}]}}`, source), admin...)
	pins := func() (out []string) {
		t.Helper()
		for _, p := range g.want(200, "GET", "/v1/traces/"+source+"/pin", "", admin...)["pins"].([]any) {
			out = append(out, fmt.Sprint(p.(map[string]any)["kind"], " ", p.(map[string]any)["ref"]))
		}
		return out
	}
	g.write("Be polite.", "", "?publish=false", 200)
	run := g.evaluate("draft")
	g.want(200, "GET", "/v1/registry/gates", "", admin...) // which only looks
	if got := pins(); len(got) != 1 {
		t.Errorf("before the publication the run has the pins %q", got)
	}
	g.want(200, "POST", "/v1/registry/publish", `{}`, admin...)
	g.want(204, "DELETE", "/v1/eval/datasets/"+g.dataset, "", admin...)
	if got := pins(); len(got) != 1 || got[0] != "evidence "+run {
		t.Errorf("after the publication, and without its dataset, the run has the pins %q, want evidence %s", got, run)
	}
	g.says(409, "gates of agents", "DELETE", "/v1/eval/runs/"+run, "", admin...)
	g.want(200, "GET", "/v1/eval/runs/"+run, "", admin...)
}
