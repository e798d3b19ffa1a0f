package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/server"
)

// keyed returns the header of a new key.
func (g *rig) keyed(k server.Key) []string {
	g.t.Helper()
	secret := "a-secret-of-the-key-" + k.ID
	if err := g.keys.Fix(secret, k); err != nil {
		g.t.Fatal(err)
	}
	return []string{"Authorization", "Bearer " + secret}
}

func TestDecision_TheFirstAcceptedCountsBeforeAnyWorkerTakesIt(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	ada, bob := g.keyed(server.Key{ID: "k-ada", Kind: server.RunKey, Label: "Ada"}), g.keyed(server.Key{ID: "k-bob", Kind: server.RunKey, Label: "Bob"})
	thread, run, ticket := g.waits(ada...)
	g.stop()
	g.idle = true
	g.start()
	began := time.Now().Add(-time.Second)
	path := "/v1/approvals/" + run + "/" + ticket
	g.want(202, "POST", path, `{"action":"resume","arguments":{"path":"b"},"decision_id":"d1"}`, ada...)
	if list := g.want(200, "GET", "/v1/approvals", "", ada...)["items"].([]any); len(list) != 0 {
		t.Errorf("the decided ticket is still listed: %v", list)
	}
	for _, other := range []string{path, "/v1/runs/" + run + "/decision", "/v1/threads/" + thread + "/decision"} {
		body := fmt.Sprintf(`{"tool_call_id":%q,"action":"cancel"}`, ticket)
		out := g.want(409, "POST", other, body, bob...)
		d, _ := out["decision"].(map[string]any)
		if out["code"] != "already_decided" || d["action"] != "resume" || fmt.Sprint(d["actor"]) != "map[key_id:k-ada label:Ada]" || d["id"] != "d1" || d["at"].(float64) < float64(began.UnixMilli()) {
			t.Errorf("%s: a different decision gets %v", other, out)
		}
		g.want(202, "POST", other, fmt.Sprintf(`{"tool_call_id":%q,"action":"resume","arguments":{ "path" : "b" },"reason":"me too"}`, ticket), bob...)
	}
	g.want(409, "POST", path, `{"action":"resume"}`, bob...) // with other arguments

	g.stop()
	g.idle = false
	g.start() // the decision was accepted, and is applied after a restart
	resp := g.do("GET", "/v1/runs/"+run+"/events/stream?cursor=0-0", "", ada...)
	frames := readFrames(t, resp.Body, nil)
	resp.Body.Close()
	all := fmt.Sprint(frames)
	if n := strings.Count(all, "tool_call_resumed") + strings.Count(all, "ToolCallResumed"); n == 0 || !strings.Contains(all, `"decision":{"id":"d1","action":"resume","actor":{"key_id":"k-ada","label":"Ada"}`) {
		t.Errorf("%d events say how the call was decided: %s", n, all)
	}
	g.want(202, "POST", path, `{"action":"resume","arguments":{"path":"b"}}`, bob...)
	g.want(409, "POST", path, `{"action":"cancel"}`, bob...)

	list := func(query string) []any {
		return g.want(200, "GET", "/v1/decisions?"+query, "", bob...)["items"].([]any)
	}
	for _, query := range []string{"run_id=" + run, "actor=k-ada", "actor=Ada", "tool=ask", "since=" + began.UTC().Format(time.RFC3339)} {
		if got := list(query); len(got) != 1 || got[0].(map[string]any)["ticket_id"] != ticket || got[0].(map[string]any)["run_id"] != run {
			t.Errorf("decisions with %s: %v", query, got)
		}
	}
	for _, query := range []string{"run_id=x", "actor=bob", "tool=x", "since=" + time.Now().Add(time.Hour).UTC().Format(time.RFC3339)} {
		if got := list(query); len(got) != 0 {
			t.Errorf("decisions with %s: %v", query, got)
		}
	}
	events := g.want(200, "GET", "/v1/audit-log?resource=runs/"+run, "", admin...)["items"].([]any)
	if len(events) == 0 || !strings.Contains(fmt.Sprint(events), "approve") || strings.Contains(fmt.Sprint(events), "reject") {
		t.Errorf("the audit log has %v", events)
	}
}

func TestDecisions_AreListedInPagesAndByTenant(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	key := g.keyed(server.Key{ID: "k", Kind: server.RunKey, Tenant: "a"})
	reader := g.keyed(server.Key{ID: "reader", Kind: server.ReadKey, Tenant: "a"})
	want := map[string]bool{}
	for range 3 {
		_, run, ticket := g.waits(key...)
		g.want(202, "POST", "/v1/approvals/"+run+"/"+ticket, `{"action":"cancel","reason":"no"}`, key...)
		want[run] = true
	}
	cursor, pages := "", 0
	for ; pages < 4; pages++ {
		out := g.want(200, "GET", "/v1/decisions?limit=2"+cursor, "", reader...)
		for _, d := range out["items"].([]any) {
			id := d.(map[string]any)["run_id"].(string)
			if !want[id] || d.(map[string]any)["reason"] != "no" {
				t.Errorf("record %v is repeated or unknown", d)
			}
			delete(want, id)
		}
		next, _ := out["next_cursor"].(string)
		if next == "" {
			break
		}
		cursor = "&cursor=" + next
	}
	if len(want) != 0 || pages != 1 {
		t.Errorf("after %d pages %d decisions are missing", pages+1, len(want))
	}
	g.want(400, "GET", "/v1/decisions?cursor=zzz", "", reader...)
	if list := g.want(200, "GET", "/v1/decisions", "", g.keyed(server.Key{ID: "other", Kind: server.ReadKey, Tenant: "b"})...)["items"].([]any); len(list) != 0 {
		t.Errorf("another tenant sees %v", list)
	}
}

// A decision was accepted, and the run was cancelled before a worker took it. Both are told that the
// decision had no effect: those who look at decisions, and those who look at the audit log.
func TestDecision_ThatHadNoEffectSaysSo(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	key := g.keyed(server.Key{ID: "k", Kind: server.RunKey, Tenant: "a"})
	_, cancelled, ticket := g.waits(key...)
	_, acted, other := g.waits(key...)
	g.stop()
	g.idle = true
	g.start()
	record := func(run string) map[string]any {
		t.Helper()
		list := g.want(200, "GET", "/v1/decisions?run_id="+run, "", key...)["items"].([]any)
		if len(list) != 1 {
			t.Fatalf("decisions of run %s: %v", run, list)
		}
		return list[0].(map[string]any)
	}
	for run, ticket := range map[string]string{cancelled: ticket, acted: other} {
		g.want(202, "POST", "/v1/approvals/"+run+"/"+ticket, `{"action":"resume"}`, key...)
		if _, said := record(run)["applied"]; said {
			t.Errorf("before a worker took it: %v", record(run))
		}
	}
	g.want(202, "POST", "/v1/runs/"+cancelled+"/cancel", "", key...)
	g.stop()
	g.idle = false
	g.start()
	for _, run := range []string{cancelled, acted} {
		g.eventually("run "+run+" does not end", func() bool { return g.want(200, "GET", "/v1/runs/"+run, "", key...)["status"] == "done" })
	}
	if d := record(cancelled); d["applied"] != false || d["unapplied_reason"] != "the run ended: cancelled" {
		t.Errorf("the record of the run that was cancelled: %v", d)
	}
	if d := record(acted); d["applied"] != true || d["unapplied_reason"] != nil {
		t.Errorf("the record of the other: %v", d)
	}
	for range 2 { // the client did not get the answer
		g.want(202, "POST", "/v1/approvals/"+cancelled+"/"+ticket, `{"action":"resume"}`, key...)
	}
	if out := g.want(409, "POST", "/v1/approvals/"+cancelled+"/"+ticket, `{"action":"cancel"}`, key...); out["code"] != "already_decided" || out["decision"] == nil {
		t.Errorf("a different decision: %v", out)
	}
	for run, want := range map[string]any{cancelled: "not applied: the run ended: cancelled", acted: nil} {
		log := g.want(200, "GET", "/v1/audit-log?resource=runs/"+run, "", admin...)["items"].([]any)
		if len(log) != 1 || log[0].(map[string]any)["error"] != want {
			t.Errorf("run %s: the audit log has %v, want one event with the error %v", run, log, want)
		}
	}
}
