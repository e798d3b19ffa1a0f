package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/server"
)

// items returns the results of a batch, each as "status result or code".
func items(out map[string]any) []string {
	var list []string
	for _, v := range out["items"].([]any) {
		v := v.(map[string]any)
		what := v["result"]
		if what == nil {
			what = v["code"]
		}
		list = append(list, fmt.Sprint(v["status"], " ", what))
	}
	return list
}

func TestBatch_EachItemSucceedsOrFailsByItself(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, first, one := g.waits(admin...)
	_, second, two := g.waits(admin...)
	body := fmt.Sprintf(`{"decisions":[{"run_id":%q,"ticket_id":%q,"action":"cancel","reason":"no"},{"run_id":%q,"ticket_id":"none","action":"cancel"},
		{"run_id":%q,"ticket_id":%q,"action":"maybe"},{"run_id":"","ticket_id":"x","action":"cancel"},{"run_id":%q,"ticket_id":%q,"action":"cancel"},{"run_id":%q,"ticket_id":%q,"action":"resume"}]}`,
		first, one, second, second, two, second, two, first, one)
	out := g.want(200, "POST", "/v1/approvals", body, admin...)
	want := "202 decision_submitted,404 not_found,400 invalid_request,400 invalid_request,202 decision_submitted,409 already_decided"
	if got := strings.Join(items(out), ","); got != want || out["failed"] != 4.0 {
		t.Errorf("the batch of decisions gives %s, %v failed, want %s", got, out["failed"], want)
	}
	last := out["items"].([]any)[5].(map[string]any)
	if d, _ := last["decision"].(map[string]any); d["action"] != "cancel" || last["ticket_id"] != one || last["id"] != first {
		t.Errorf("a decision that comes too late gets %v", last)
	}
	if list := g.want(200, "GET", "/v1/decisions", "", admin...)["items"].([]any); len(list) != 2 {
		t.Errorf("%d decisions are recorded, want 2", len(list))
	}

	_, running := g.runs(admin...)
	poor := g.poor(admin...)
	if got := strings.Join(items(g.want(200, "POST", "/v1/runs/continue", fmt.Sprintf(`{"ids":[%q,"none"]}`, poor), admin...)), ","); got != "202 continue_requested,404 not_found" {
		t.Errorf("the batch of continues gives %s", got)
	}
	if got := strings.Join(items(g.want(200, "POST", "/v1/runs/cancel", fmt.Sprintf(`{"ids":[%q,"none",%q]}`, running, poor), admin...)), ","); got != "202 cancel_requested,404 not_found,202 cancel_requested" {
		t.Errorf("the batch of cancels gives %s", got)
	}
	a, b := g.dead(""), g.dead("")
	out = g.want(200, "POST", "/v1/dead-letters/retry", fmt.Sprintf(`{"ids":[%q,"none"]}`, a), admin...)
	if got := strings.Join(items(out), ","); got != "202 retried,404 not_found" || out["items"].([]any)[0].(map[string]any)["run_id"] == nil {
		t.Errorf("the batch of retries gives %v", out)
	}
	if got := strings.Join(items(g.want(200, "POST", "/v1/dead-letters/delete", fmt.Sprintf(`{"ids":[%q,%q]}`, a, b), admin...)), ","); got != "404 not_found,202 deleted" {
		t.Errorf("the batch of deletions gives %s", got)
	}
}

func TestBatch_RejectsWhatIsNoBatch(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	many, _ := json.Marshal(map[string]any{"ids": make([]string, 101)})
	for body, status := range map[string]int{`{}`: 400, `{"ids":[]}`: 400, string(many): 400, `{"ids":"x"}`: 422, `{"ids":[1]}`: 422, `{"id":["x"]}`: 422, `x`: 400} {
		g.want(status, "POST", "/v1/runs/cancel", body, admin...)
	}
	g.want(400, "POST", "/v1/approvals", `{"decisions":[]}`, admin...)
	reader := g.keyed(server.Key{ID: "reader", Kind: server.ReadKey})
	runner := g.keyed(server.Key{ID: "runner", Kind: server.RunKey})
	g.want(403, "POST", "/v1/runs/cancel", `{"ids":["x"]}`, reader...)
	g.want(403, "POST", "/v1/dead-letters/retry", `{"ids":["x"]}`, runner...)
}

// A batch that names another user's run twice does as little as one that names it once.
func TestBatch_WhatIsRefusedOnceIsRefusedAgain(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	b := g.own("", "alice")
	bob, before := g.keyed(server.Key{ID: "bob", Kind: server.RunKey, User: "bob"}), b.state(t)
	for path, body := range map[string]string{
		"/v1/runs/cancel":   fmt.Sprintf(`{"ids":[%q,%q,%q,%q,%q,%q]}`, b.run, b.run, b.dispatch, b.dispatch, b.thread, b.thread),
		"/v1/runs/continue": fmt.Sprintf(`{"ids":[%q,%q]}`, b.run, b.run),
		"/v1/approvals":     fmt.Sprintf(`{"decisions":[{"run_id":%q,"ticket_id":%q,"action":"cancel"},{"run_id":%[1]q,"ticket_id":%[2]q,"action":"cancel"}]}`, b.run, b.ticket),
	} {
		for i, got := range items(g.want(200, "POST", path, body, bob...)) {
			if got != "404 not_found" {
				t.Errorf("%s: item %d is %s, want 404 not_found", path, i, got)
			}
		}
	}
	if diff := cmp.Diff(before, b.state(t)); diff != "" {
		t.Errorf("another user's run has changed (-before +after):\n%s", diff)
	}
}
