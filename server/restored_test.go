package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
)

// Operators list the runs of a restored database and release them by filter. Other keys may not.
func TestRestored_AreReleasedByFilter(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	thread, run, ticket := g.waits(admin...)
	g.waits(admin...)
	g.stop()
	mark, n, err := mailbox.MarkRestored(t.Context(), g.db, []string{""}, time.Now(), ids.New)
	if err != nil || n.Waiting != 2 {
		t.Fatalf("%+v, %v; want 2 runs that wait", n, err)
	}
	g.restoration = mark
	g.start()
	total := func() any { return g.want(200, "GET", "/v1/restored", "", admin...)["total"] }
	g.eventually("two restored runs", func() bool {
		return total() == 2.0 && g.want(200, "GET", "/v1/runs?waiting_reason=restored", "", admin...)["total"] == 2.0
	})
	out := g.want(200, "GET", "/v1/restored?thread_id="+thread, "", admin...)
	if got := out["restoration"].(map[string]any)["id"]; got != mark.ID || out["total"] != 1.0 {
		t.Errorf("the restored part is %v", out)
	}
	if got := g.want(200, "GET", "/v1/runs/"+run+"/explain", "", admin...); !strings.Contains(fmt.Sprint(got), "waiting.restored") {
		t.Errorf("the run is explained as %v", got)
	}
	g.want(409, "POST", "/v1/runs/"+run+"/continue", "", admin...)

	runner := g.keyed(server.Key{Kind: server.RunKey})
	g.want(403, "GET", "/v1/restored", "", runner...)
	g.want(403, "POST", "/v1/runs/release", `{"all":true}`, runner...)
	for _, bad := range []string{`{}`, `{"all":true,"agent_id":"a"}`, `{"ids":["x"],"agent_id":"a"}`} {
		g.want(400, "POST", "/v1/runs/release", bad, admin...)
	}
	if got := items(g.want(200, "POST", "/v1/runs/release", `{"agent_id":"none"}`, admin...)); len(got) != 0 {
		t.Errorf("a filter that selects nothing gives %v", got)
	}
	if got := strings.Join(items(g.want(200, "POST", "/v1/runs/release", `{"ids":["none"]}`, admin...)), ","); got != "404 not_found" {
		t.Errorf("a run that does not exist gives %s", got)
	}
	if got := strings.Join(items(g.want(200, "POST", "/v1/runs/release", fmt.Sprintf(`{"thread_id":%q}`, thread), admin...)), ","); got != "202 release_requested" {
		t.Errorf("the release gives %s", got)
	}
	g.eventually("one restored run less", func() bool { return total() == 1.0 })

	// Its question is asked again, in doubt.
	g.eventually("the question", func() bool {
		for _, a := range g.want(200, "GET", "/v1/approvals", "", admin...)["items"].([]any) {
			if a := a.(map[string]any); a["ticket_id"] == ticket && a["in_doubt"] != nil {
				return true
			}
		}
		return false
	})
	g.want(200, "POST", "/v1/runs/release", `{"all":true}`, admin...)
	g.eventually("no restored run", func() bool { return total() == 0.0 })
	if got := fmt.Sprint(g.want(200, "GET", "/v1/audit-log?action=release", "", admin...)["items"]); strings.Count(got, "runs/") < 2 {
		t.Errorf("the audit log has %s", got)
	}
}
