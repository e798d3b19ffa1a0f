package agui_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// What a user does in an interface of the thread reaches the model as a marked user message; what no surface
// offers is refused, and nothing runs. A repetition of the request joins the run of the first one.
func TestAction(t *testing.T) {
	t.Parallel()
	for _, tt := range protocoltest.UIActions {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t)
			paint := fmt.Sprintf(`{"id":"m","role":"user","content":%q}`, protocoltest.Paint)
			if status, body := g.post(g.URL, "/run", `{"threadId":"t","agentId":"painter","messages":[`+paint+`]}`); status != 200 || !strings.Contains(body, `\"rendered\":true,\"count\":4`) {
				t.Fatalf("%d: %s", status, body)
			}
			act := `{"threadId":"t","runId":"r2","agentId":"painter","messages":[` + paint + `],"forwardedProps":{"theme":"dark","a2uiAction":` + tt.Event + `}}`
			for range 2 {
				status, body := g.post(g.URL, "/run", act)
				if tt.Want != "" {
					if status != 400 && status != 422 || !strings.Contains(body, "forwardedProps.a2uiAction") || !strings.Contains(body, tt.Want) {
						t.Errorf("%d: %s, want %s", status, body, tt.Want)
					}
					continue
				}
				if status != 200 || !strings.Contains(body, "chose ") || !strings.Contains(body, `"RUN_FINISHED"`) {
					t.Fatalf("%d: %s", status, body)
				}
			}
			view, err := g.Box.Tenant("").Store.View(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			for _, m := range view.Messages() {
				if m.Role == llm.User {
					said = append(said, m.Text())
				}
			}
			switch last := said[len(said)-1]; {
			case tt.Want != "" && len(said) != 1, tt.Want == "" && len(said) != 2:
				t.Errorf("the user said %q", said)
			case tt.Want == "" && (!strings.HasPrefix(last, "<ui_action>\n{") || !strings.HasSuffix(last, "}\n</ui_action>") || strings.Count(last, "</ui_action>") != 1):
				t.Errorf("the model reads %q", last)
			}
		})
	}
}

// A repeated request is answered even if its run has deleted the surface, and another action under the same run
// id is refused as a contradiction.
func TestAction_Repeated(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	paint := fmt.Sprintf(`{"id":"m","role":"user","content":%q}`, protocoltest.Paint)
	g.post(g.URL, "/run", `{"threadId":"t","agentId":"painter","messages":[`+paint+`]}`)
	act := func(name string) string {
		return `{"threadId":"t","runId":"r2","agentId":"painter","messages":[` + paint + `],"forwardedProps":{"a2uiAction":{"name":"` + name + `","surfaceId":"order","sourceComponentId":"send"}}}`
	}
	if status, body := g.post(g.URL, "/run", act("submit")); status != 200 {
		t.Fatalf("%d: %s", status, body)
	}
	g.post(g.URL, "/run", `{"threadId":"t","agentId":"painter","messages":[{"id":"n","role":"user","content":"RUN_TOOL render_a2ui {\"deleteSurface\":{\"surfaceId\":\"order\"}}"}]}`)
	if status, body := g.post(g.URL, "/run", act("submit")); status != 200 || !strings.Contains(body, "chose ") {
		t.Errorf("the repetition: %d: %s", status, body)
	}
	if status, body := g.post(g.URL, "/run", act("cancel")); status == 200 {
		t.Errorf("another action under the same id: %s", body)
	}
	if status, body := g.post(g.URL, "/run", strings.Replace(act("submit"), "r2", "r3", 1)); status != 400 || !strings.Contains(body, "want a surface of the thread: poll") {
		t.Errorf("an action of a deleted surface: %d: %s", status, body)
	}
}

// What a renderer could not draw reaches the model, a few times: then a user must say something first.
func TestAction_OfARendererThatFails(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.post(g.URL, "/run", fmt.Sprintf(`{"threadId":"t","agentId":"painter","messages":[{"id":"m","role":"user","content":%q}]}`, protocoltest.Paint))
	report := func(run, event string) (int, string) {
		return g.post(g.URL, "/run", `{"threadId":"t","runId":"`+run+`","agentId":"painter","messages":[],"forwardedProps":{"a2uiAction":`+event+`}}`)
	}
	for i, tt := range protocoltest.UIErrors {
		for range 2 { // the second time it joins the run
			if status, body := report(fmt.Sprint("r", i), tt.Event); status != 200 || !strings.Contains(body, `"RUN_FINISHED"`) {
				t.Fatalf("%d: %s", status, body)
			}
		}
		view, err := g.Box.Tenant("").Store.View(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, m := range view.Messages() {
			if m.Role == llm.User {
				said = m.Text()
			}
		}
		if want := "<ui_error>\n" + tt.Want + "\n</ui_error>"; said != want {
			t.Errorf("the model reads %q, want %q", said, want)
		}
	}
	if status, body := report("r9", protocoltest.UIErrors[0].Event); status != 409 || !strings.Contains(body, "was told of 3 errors since the user's latest message") {
		t.Errorf("%d: %s", status, body)
	}
}
