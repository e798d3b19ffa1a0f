package aisdk_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
)

// careful makes the agent whose calls all need approval call a tool.
func (g *rig) careful(thread string) []chunk {
	g.TB.Helper()
	status, body := g.post(g.URL, fmt.Sprintf(`{"id":%q,"agentId":"careful","messages":[{"role":"user","content":"RUN_TOOL talk"}]}`, thread))
	if status != 200 {
		g.TB.Fatalf("%d: %s", status, body)
	}
	return chunksOf(g.TB, body)
}

const talks = `{"type":"tool-talk","toolCallId":"call_talk_1",`

// A permission is requested by an approval request, and granted by the answer to it.
func TestPermission_IsAskedForAndGiven(t *testing.T) {
	g := newRig(t)
	list := g.careful("t")
	asked := find(list, "tool-approval-request")
	if asked == nil || asked["toolCallId"] != "call_talk_1" || find(list, "data-suspension")["id"] != asked["approvalId"] {
		t.Fatalf("%v", list)
	}
	p := find(g.history(g.URL, "t").Messages[1].Parts, "tool-talk")
	if p["state"] != "approval-requested" || p["approval"].(map[string]any)["id"] != asked["approvalId"] {
		t.Errorf("the history has %v", p)
	}
	_, body := g.decide(g.URL, "t", fmt.Sprintf(talks+`"state":"approval-responded","approval":{"id":%q,"approved":true,"reason":"fine"}}`, asked["approvalId"]))
	if c := find(chunksOf(t, body), "tool-output-available"); c == nil || c["output"] != "said it all" {
		t.Error(body)
	}
}

// A message held by a guard is a part that requests approval, in the stream and after a
// reload. If it is edited, the new text passes.
func TestHeldMessage_IsApprovedLikeACall(t *testing.T) {
	for border, text := range map[string]string{"input": "hello", "output": "done"} {
		t.Run(border, func(t *testing.T) {
			g := newRig(t)
			say := `{"id":"t","agentId":"guarded_` + border + `","messages":[{"role":"user","content":"hello"}]}`
			if border == "output" { // the model answers with a call first
				g.post(g.URL, say)
				g.decide(g.URL, "t", `{"type":"tool-ask","toolCallId":"call_0","state":"approval-responded","approval":{"id":"suspend_call_0","approved":true}}`)
			} else if status, body := g.post(g.URL, say); status != 200 || find(chunksOf(t, body), "tool-approval-request") == nil {
				t.Fatalf("%d: %s", status, body)
			}
			h := g.history(g.URL, "t").Messages
			p := find(h[len(h)-1].Parts, "tool-guard_"+border)
			if p == nil || p["state"] != "approval-requested" || p["input"].(map[string]any)["text"] != text {
				t.Fatalf("the history ends with %v", h[len(h)-1].Parts)
			}
			id := p["approval"].(map[string]any)["id"]
			_, body := g.decide(g.URL, "t", fmt.Sprintf(`{"type":"tool-guard_%s","toolCallId":%q,"state":"approval-responded","input":{"text":"changed"},"approval":{"id":%q,"approved":true}}`, border, p["toolCallId"], id))
			if find(chunksOf(t, body), "tool-output-available") == nil {
				t.Error(body)
			}
			said := false
			for _, m := range g.history(g.URL, "t").Messages {
				said = said || find(m.Parts, "text")["text"] == "changed"
			}
			if !said {
				t.Errorf("the edited text is not in %v", g.history(g.URL, "t").Messages)
			}
		})
	}
}

// A question of a delegate is a part of its own in the parent's chat, and is answered there.
func TestDelegate_IsAnsweredInTheChatOfItsParent(t *testing.T) {
	g := newRig(t)
	status, body := g.post(g.URL, `{"id":"t","agentId":"boss","messages":[{"role":"user","content":"go"}]}`)
	list := chunksOf(t, body)
	asked := find(list, "tool-approval-request")
	if status != 200 || asked == nil || !strings.HasSuffix(asked["approvalId"].(string), ":suspend_call_0") || asked["toolCallId"] != asked["approvalId"] {
		t.Fatalf("%d: %s", status, body)
	}
	h := g.history(g.URL, "t").Messages
	p := find(h[len(h)-1].Parts, "tool-ask")
	if p == nil || p["state"] != "approval-requested" || p["toolCallId"] != asked["toolCallId"] {
		t.Fatalf("the history ends with %v", h[len(h)-1].Parts)
	}
	if own := find(h[len(h)-1].Parts, "tool-agent_run_again"); own["state"] != "input-available" {
		t.Errorf("the call of the delegate is %v", own)
	}
	_, body = g.decide(g.URL, "t", fmt.Sprintf(`{"type":"tool-ask","toolCallId":%[1]q,"state":"approval-responded","approval":{"id":%q,"approved":true}}`, p["toolCallId"], asked["approvalId"]))
	if c := find(chunksOf(t, body), "text-delta"); c == nil || c["delta"] != "all done" {
		t.Error(body)
	}
	if run := g.Open("t"); run != nil {
		t.Errorf("the run is %s", run.Status)
	}
}

// However a client rejects a call, the call is not made, and the model learns the reason.
func TestPermission_ARejectedCallIsNotMade(t *testing.T) {
	for name, part := range map[string]string{
		"approval": `"state":"approval-responded","approval":{"id":"perm_call_talk_1","approved":false,"reason":"too loud"}}`,
		"denied":   `"state":"output-denied","approval":{"id":"perm_call_talk_1","approved":false,"reason":"too loud"}}`,
		"error":    `"state":"output-error","errorText":"too loud"}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			g.careful("t")
			_, body := g.decide(g.URL, "t", talks+part)
			if list := chunksOf(t, body); find(list, "tool-output-denied") == nil || find(list, "tool-output-available") != nil || find(list, "finish") == nil {
				t.Error(body)
			}
			p := find(g.history(g.URL, "t").Messages[1].Parts, "tool-talk")
			if p["state"] != "output-denied" || p["approval"].(map[string]any)["reason"] != "too loud" {
				t.Errorf("the history has %v", p)
			}
		})
	}
}

// An output is neither an approval nor a rejection: the question stays open.
func TestPermission_OutputIsNoDecision(t *testing.T) {
	g := newRig(t)
	g.careful("t")
	for _, output := range []string{`{"approved":false}`, `{"approved":true}`, `"No, denied"`, `null`, `{"remember":"thread"}`} {
		status, body := g.decide(g.URL, "t", talks+`"state":"output-available","output":`+output+`}`)
		if status != 400 || !strings.Contains(body, "nothing new: want a message or a decision") {
			t.Errorf("%s: %d %s", output, status, body)
		}
	}
	if run := g.Open("t"); run == nil || run.Status != awaken.RunWaiting {
		t.Errorf("the run is %+v, want it to wait", run)
	}
}

// A question is an approval if its call is made again and a plain yes satisfies its schema.
// Every other question is answered by an output. An error never makes the call.
func TestApprovals_ByTheFormOfTheAnswer(t *testing.T) {
	const (
		closed  = `{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"],"additionalProperties":false}`
		another = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
		yes     = `"state":"approval-responded","approval":{"id":"suspend_call_form_1","approved":true,"reason":"fine"}`
		output  = `"state":"output-available","output":{"n":1}`
		failed  = `"state":"output-error","errorText":"no time"`
		notMade = `The call of tool "form" was refused: no time. It had begun, and was not continued.`
	)
	for name, c := range map[string]struct {
		args  string
		asked bool
		part  string
		kind  string // of the chunk that comes of it
		want  any    // its output or errorText
	}{
		"no form":              {`{}`, true, yes, "tool-output-available", `made with {"approved":true,"reason":"fine"}`},
		"no form, error":       {`{}`, true, failed, "tool-output-denied", nil},
		"any form":             {`{"schema":{}}`, true, yes, "tool-output-available", `made with {"approved":true,"reason":"fine"}`},
		"no place for reasons": {`{"schema":` + closed + `}`, true, yes, "tool-output-available", `made with {"approved":true}`},
		"another form":         {`{"schema":` + another + `}`, false, output, "tool-output-available", `made with {"n":1}`},
		"another form, error":  {`{"schema":` + another + `}`, false, failed, "tool-output-error", notMade},
		"arguments":            {`{"mode":"pass_decision_to_tool"}`, false, output, "tool-output-available", `made with {"n":1}`},
		"arguments, error":     {`{"mode":"pass_decision_to_tool"}`, false, failed, "tool-output-error", notMade},
		"result":               {`{"mode":"use_decision_as_tool_result"}`, false, output, "tool-output-available", map[string]any{"n": 1.0}},
		"result, error":        {`{"mode":"use_decision_as_tool_result"}`, false, failed, "tool-output-error", "no time"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			if list := g.say("t", "RUN_TOOL form "+c.args); (find(list, "tool-approval-request") != nil) != c.asked || find(list, "data-suspension") == nil {
				t.Fatalf("%v", list)
			}
			_, body := g.decide(g.URL, "t", `{"type":"tool-form","toolCallId":"call_form_1",`+c.part+`}`)
			list := chunksOf(t, body)
			got := find(list, c.kind)
			if got == nil {
				t.Fatalf("%v", list)
			}
			said := got["output"]
			if c.kind == "tool-output-error" {
				said = got["errorText"]
			}
			if !reflect.DeepEqual(said, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// A decision about a call is not a decision about a later call with the same id.
func TestDecisions_OfEarlierCallsDoNotCount(t *testing.T) {
	const (
		asks  = `{"type":"tool-ask","toolCallId":"call_0","state":"approval-requested","approval":{"id":"suspend_call_0"}}`
		yes   = `{"type":"tool-ask","toolCallId":"call_0","state":"approval-responded","approval":{"id":"suspend_call_0","approved":true}}`
		no    = `{"type":"tool-ask","toolCallId":"call_0","state":"approval-responded","approval":{"id":"suspend_call_0","approved":false}}`
		one   = `{"id":"m1","role":"user","content":"one"}`
		two   = `{"id":"m2","role":"user","content":"two"}`
		asked = `{"role":"assistant","parts":[` + asks + `]}`
		gave  = `{"role":"assistant","parts":[` + yes + `]}`
	)
	later := func(s string) string { return strings.ReplaceAll(s, "call_0", "call_0~2") } // the same of the second call
	for name, c := range map[string]struct {
		history string
		kind    string // of the chunk that comes of it, "" if nothing is decided
	}{
		"before the user's last message":    {one + `,` + gave + `,` + two, ""},
		"and behind it, the question":       {one + `,` + gave + `,` + two + `,` + later(asked), ""},
		"and behind it, the answer":         {one + `,` + asked + `,` + two + `,` + later(gave), "tool-output-available"},
		"taken back by a later part":        {one + `,` + two + `,{"role":"assistant","parts":[` + later(yes) + `,` + later(asks) + `]}`, ""},
		"taken back by a later message":     {one + `,` + two + `,` + later(gave) + `,` + later(asked), ""},
		"of the call before":                {one + `,` + two + `,{"role":"assistant","parts":[` + yes + `,` + later(asks) + `]}`, ""},
		"of several, the last one says no":  {one + `,` + two + `,{"role":"assistant","parts":[` + later(yes) + `,` + later(no) + `]}`, "tool-output-denied"},
		"of several, the last one says yes": {one + `,` + two + `,{"role":"assistant","parts":[` + later(no) + `,` + later(yes) + `]}`, "tool-output-available"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			g.post(g.URL, `{"id":"t","agentId":"again","messages":[`+one+`]}`)
			if _, body := g.decide(g.URL, "t", yes); find(chunksOf(t, body), "tool-output-available") == nil {
				t.Fatal(body)
			}
			if _, body := g.post(g.URL, `{"id":"t","agentId":"again","messages":[`+one+`,`+gave+`,`+two+`]}`); find(chunksOf(t, body), "tool-approval-request") == nil {
				t.Fatal(body)
			}
			status, body := g.post(g.URL, `{"id":"t","agentId":"again","messages":[`+c.history+`]}`)
			if c.kind != "" {
				if find(chunksOf(t, body), c.kind) == nil {
					t.Errorf("%d %s", status, body)
				}
				return
			}
			want := 400
			if strings.HasSuffix(c.history, two) { // the message is said again, and gets the question
				want = 200
			}
			if run := g.Open("t"); status != want || run == nil || run.Status != awaken.RunWaiting {
				t.Errorf("%d %s, the run is %+v, want it to wait", status, body, run)
			}
		})
	}
}

// The same holds if the client does not know of the later call yet, whether in another answer
// or in the same.
func TestDecisions_OfAStaleMessageDoNotCount(t *testing.T) {
	part := func(id string) string {
		return fmt.Sprintf(`{"type":"tool-ask","toolCallId":%[1]q,"state":"approval-responded","approval":{"id":"suspend_%[1]s","approved":true}}`, id)
	}
	send := func(g *rig, messageID, part string) (int, string) {
		return g.post(g.URL, fmt.Sprintf(`{"id":"t","message":{"id":%q,"role":"assistant","parts":[%s]}}`, messageID, part))
	}
	for _, agent := range []string{"again", "twice"} {
		t.Run(agent, func(t *testing.T) {
			g := newRig(t)
			g.post(g.URL, fmt.Sprintf(`{"id":"t","agentId":%q,"messages":[{"id":"m1","role":"user","content":"one"}]}`, agent))
			first := g.history(g.URL, "t").Messages[1].ID
			if status, body := send(g, first, part("call_0")); status != 200 || find(chunksOf(t, body), "tool-output-available") == nil {
				t.Fatalf("%d %s", status, body)
			}
			wire, message, want := "call_0~2", first, 200 // it repeats what was decided
			if agent == "again" {                         // the same call in another answer
				want = 400
				g.post(g.URL, `{"id":"t","messages":[{"id":"m2","role":"user","content":"two"}]}`)
				message = g.history(g.URL, "t").Messages[3].ID
			}
			if run := g.Open("t"); run == nil || run.Status != awaken.RunWaiting {
				t.Fatalf("the run is %+v, want it to wait", run)
			}
			for range 2 {
				if status, body := send(g, first, part("call_0")); status != want || g.Open("t") == nil {
					t.Errorf("the stale message: %d %s", status, body)
				}
			}
			if status, body := send(g, message, part(wire)); status != 200 || find(chunksOf(t, body), "tool-output-available") == nil || g.Open("t") != nil {
				t.Errorf("the message itself: %d %s", status, body)
			}
		})
	}
}
