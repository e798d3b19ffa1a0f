package aisdk_test

import (
	"fmt"
	"testing"
)

// The final output of a call that the server made is marked, in the stream and in the history,
// so that a page does not send it back. Inputs and outputs of the page are not marked.
func TestOutput_IsMarkedIfTheServerMadeTheCall(t *testing.T) {
	g := newRig(t)
	check := func(what, thread string, list []chunk, kind string, want any) {
		t.Helper()
		for _, c := range list {
			if marked := c["providerExecuted"]; (c.kind() == "tool-input-start" || c.kind() == "tool-input-available" || c["preliminary"] == true) && marked != nil {
				t.Errorf("%s: %v is marked", what, c)
			}
		}
		var final chunk
		for _, c := range list {
			if c.kind() == kind && c["preliminary"] == nil {
				final = c
			}
		}
		if final == nil || final["providerExecuted"] != want {
			t.Errorf("%s: the stream has %v", what, final)
		}
		h := g.history(g.URL, thread).Messages
		for _, p := range h[len(h)-1].Parts {
			if p["toolCallId"] != nil && p["providerExecuted"] != want {
				t.Errorf("%s: the history has %v", what, p)
			}
		}
	}
	check("made", "made", g.say("made", "RUN_TOOL talk"), "tool-output-available", true)

	asked := find(g.careful("approved"), "tool-approval-request")
	check("asked", "approved", []chunk{asked}, "tool-approval-request", nil)
	_, body := g.decide(g.URL, "approved", fmt.Sprintf(talks+`"state":"approval-responded","approval":{"id":%q,"approved":true}}`, asked["approvalId"]))
	check("approved", "approved", chunksOf(t, body), "tool-output-available", true)

	asked = find(g.careful("denied"), "tool-approval-request")
	_, body = g.decide(g.URL, "denied", fmt.Sprintf(talks+`"state":"approval-responded","approval":{"id":%q,"approved":false}}`, asked["approvalId"]))
	check("denied", "denied", chunksOf(t, body), "tool-output-denied", nil)

	for state, kind := range map[string]string{`"output-available","output":"teal"`: "tool-output-available", `"output-error","errorText":"no colours"`: "tool-output-error"} {
		_, body = g.post(g.URL, fmt.Sprintf(`{"id":%q,"frontendTools":[{"name":"pick","parameters":{"type":"object"}}],"messages":[{"role":"user","content":"RUN_TOOL pick"}]}`, kind))
		call := find(chunksOf(t, body), "tool-input-available")
		_, body = g.decide(g.URL, kind, fmt.Sprintf(`{"type":"tool-pick","toolCallId":%q,"state":%s}`, call["toolCallId"], state))
		check("by the page", kind, chunksOf(t, body), kind, nil)
	}
}
