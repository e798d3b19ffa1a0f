package aisdk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// What a user does in an interface of the thread reaches the model as a marked user message; what no surface
// offers is refused, and nothing runs.
func TestAction(t *testing.T) {
	t.Parallel()
	for _, tt := range protocoltest.UIActions {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t)
			if status, body := g.post(g.URL, fmt.Sprintf(`{"id":"t","agentId":"painter","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":%q}]}]}`, protocoltest.Paint)); status != 200 || !strings.Contains(body, `{"rendered":true,"count":4`) {
				t.Fatalf("%d: %s", status, body)
			}
			act := `{"id":"t","agentId":"painter","message":{"id":"a","role":"user","parts":[{"type":"data-ui-action","data":` + tt.Event + `}]}}`
			status, body := g.post(g.URL, act)
			if tt.Want != "" {
				if status != 400 && status != 422 || !strings.Contains(body, "messages[0].parts[0].data"+tt.Want) && !strings.Contains(body, tt.Want) {
					t.Errorf("%d: %s, want %s", status, body, tt.Want)
				}
				if th, err := g.Box.Tenant("").Store.Thread(t.Context(), "t"); err != nil || th.OpenRunID != "" {
					t.Errorf("a run is open: %+v, %v", th, err)
				}
				return
			}
			if status != 200 || !strings.Contains(body, `You `) || !strings.Contains(body, `chose `) {
				t.Fatalf("%d: %s", status, body)
			}
			if got := lastSaid(t, g); !strings.HasPrefix(got, "<ui_action>\n{") || !strings.HasSuffix(got, "}\n</ui_action>") || strings.Count(got, "</ui_action>") != 1 || strings.Contains(got, "timestamp") {
				t.Errorf("the model reads %q", got)
			}
			// The page gets back what it sent, and a repetition is not a second action.
			if _, again := g.post(g.URL, act); strings.Contains(again, "second") {
				t.Errorf("the repetition: %s", again)
			}
			_, history := g.get(g.URL, "/v1/ai-sdk/threads/t/messages", "")
			if strings.Contains(history, `ui_action>\n{`) || strings.Contains(history, `ui_action\u003e\n{`) || strings.Count(history, `"data-ui-action"`) != 1 {
				t.Errorf("the history is %s", history)
			}
		})
	}
}

// lastSaid returns the last user message of the thread t, as the model reads it.
func lastSaid(t *testing.T, g *rig) (out string) {
	t.Helper()
	view, err := g.Box.Tenant("").Store.View(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range view.Messages() {
		if m.Role == llm.User {
			out = m.Text()
		}
	}
	return out
}

// An action may come with words, before or after it; on a thread without surfaces it is refused.
func TestAction_BesideText(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	const parts = `[{"type":"text","text":"first"},{"type":"data-note","data":1},{"type":"data-ui-action","data":{"userAction":{"name":"submit","sourceComponentId":"send","surfaceId":"order"}}},{"type":"data-note","data":2},{"type":"text","text":"second"}]`
	if status, body := g.post(g.URL, `{"id":"t","agentId":"painter","messages":[{"id":"a","role":"user","parts":`+parts+`}]}`); status != 400 || !strings.Contains(body, "messages[0].parts[2].data.surfaceId is \\\"order\\\", want a surface of the thread: there is none") {
		t.Fatalf("%d: %s", status, body)
	}
	g.post(g.URL, fmt.Sprintf(`{"id":"t","agentId":"painter","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":%q}]}]}`, protocoltest.Paint))
	if status, body := g.post(g.URL, `{"id":"t","agentId":"painter","message":{"id":"a","role":"user","parts":`+parts+`}}`); status != 200 {
		t.Fatalf("%d: %s", status, body)
	}
	_, history := g.get(g.URL, "/v1/ai-sdk/threads/t/messages", "")
	compact := strings.NewReplacer(" ", "", "\n", "").Replace(history)
	if want := strings.ReplaceAll(parts, " ", ""); !strings.Contains(compact, want) {
		t.Errorf("the history is %s\nwant %s", compact, want)
	}
}

// What a renderer could not draw reaches the model, a few times: then a user must say something first.
func TestAction_OfARendererThatFails(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	say := func(text string) {
		t.Helper()
		if status, body := g.post(g.URL, fmt.Sprintf(`{"id":"t","agentId":"painter","message":{"role":"user","parts":[{"type":"text","text":%q}]}}`, text)); status != 200 {
			t.Fatalf("%d: %s", status, body)
		}
	}
	report := func(event string) (int, string) {
		return g.post(g.URL, `{"id":"t","agentId":"painter","message":{"role":"user","parts":[{"type":"data-ui-action","data":`+event+`}]}}`)
	}
	if status, body := report(protocoltest.UIErrors[0].Event); status != 400 || !strings.Contains(body, "want a surface of the thread: there is none") {
		t.Errorf("before anything is drawn: %d: %s", status, body)
	}
	say(protocoltest.Paint)
	for _, tt := range protocoltest.UIErrors {
		if status, body := report(tt.Event); status != 200 {
			t.Fatalf("%d: %s", status, body)
		}
		if got, want := lastSaid(t, g), "<ui_error>\n"+tt.Want+"\n</ui_error>"; got != want {
			t.Errorf("the model reads %q, want %q", got, want)
		}
	}
	if _, history := g.get(g.URL, "/v1/ai-sdk/threads/t/messages", ""); strings.Contains(history, "ui_error>\\n{") || strings.Count(history, `"data-ui-action"`) != 3 {
		t.Errorf("the history is %s", history)
	}
	if status, body := report(protocoltest.UIErrors[0].Event); status != 409 || !strings.Contains(body, "was told of 3 errors since the user's latest message") {
		t.Errorf("%d: %s", status, body)
	}
	say("Try again.")
	if status, body := report(protocoltest.UIErrors[0].Event); status != 200 {
		t.Errorf("%d: %s", status, body)
	}
}
