package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/server"
)

// because returns the codes that explain a run, and checks that each has a sentence.
func (g *rig) because(run string, headers ...string) []string {
	g.t.Helper()
	var out []string
	for _, c := range g.want(200, "GET", "/v1/runs/"+run+"/explain", "", headers...)["because"].([]any) {
		c := c.(map[string]any)
		if c["detail"] == "" || c["since"] == nil || c["actions"] == nil {
			g.t.Errorf("run %s: %v lacks a sentence, a time or actions", run, c)
		}
		out = append(out, c["code"].(string))
	}
	return out
}

func TestExplain_FollowsARunFromTheQueueToItsEnd(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	is := func(run, want string) {
		t.Helper()
		if got := fmt.Sprint(g.because(run, admin...)); got != "["+want+"]" {
			t.Errorf("run %s is explained by %s, want %s", run, got, want)
		}
	}
	_, waits, ticket := g.waits(admin...)
	is(waits, "waiting.decision")
	is(g.poor(admin...), "waiting.budget")
	thread, running := g.runs(admin...)
	is(running, "running.step") // the tool only reads, so no intent is committed
	g.queue(thread, admin...)
	behind := g.want(200, "GET", "/v1/runs?status=created", "", admin...)["items"].([]any)[0].(map[string]any)["run_id"].(string)
	is(behind, "queued.behind")
	g.want(202, "POST", "/v1/runs/"+running+"/cancel", "", admin...)
	g.eventually("the run is cancelled", func() bool { return fmt.Sprint(g.because(running, admin...)) == "[done.cancelled]" })

	g.stop()
	g.idle = true
	g.start()
	g.want(202, "POST", "/v1/approvals/"+waits+"/"+ticket, `{"action":"cancel"}`, admin...)
	is(waits, "waiting.decided")
	g.want(201, "POST", "/v1/threads/"+g.id()+"/mailbox", `{"payload":"hello"}`, admin...)
	queued := g.want(200, "GET", "/v1/runs?status=created", "", admin...)["items"].([]any)[0].(map[string]any)["run_id"].(string)
	is(queued, "queued.worker")
	g.stop()
	g.idle = false
	g.start()
	g.eventually("the runs end", func() bool {
		return fmt.Sprint(g.because(queued, admin...), g.because(waits, admin...)) == "[done.natural_end] [done.natural_end]"
	})

	g.want(404, "GET", "/v1/runs/none/explain", "", admin...)
	other := g.keyed(server.Key{ID: "other", Kind: server.ReadKey, Tenant: "b"})
	g.want(404, "GET", "/v1/runs/"+waits+"/explain", "", other...)
}

// Errors of the queue and the route to retry a dead letter are for admins. A client of an open server is none.
func TestExplain_TellsErrorsToAdminsOnly(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	d, err := g.box.Tenant("").Store.Dispatch(t.Context(), g.dead(""))
	if err != nil || d.LastError == "" {
		t.Fatalf("the dead letter is %+v, %v", d, err)
	}
	path := "/v1/runs/" + d.RunID + "/explain"
	if text := fmt.Sprint(g.want(200, "GET", path, "", admin...)); !strings.Contains(text, d.LastError) || !strings.Contains(text, "/retry") {
		t.Errorf("an admin is told %s, want %q and how to retry", text, d.LastError)
	}
	for name, headers := range map[string][]string{"no key": nil, "run key": g.keyed(server.Key{ID: "runner", Kind: server.RunKey})} {
		if text := fmt.Sprint(g.want(200, "GET", path, "", headers...)); !strings.Contains(text, "done.dead_letter") || strings.Contains(text, d.LastError) || strings.Contains(text, "/retry") {
			t.Errorf("%s: the client is told %s", name, text)
		}
	}
}
