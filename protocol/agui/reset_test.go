package agui_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// page is what a client shows, by the rules of its reducer that matter here.
type page struct {
	ids  []string
	text map[string]string
}

func (p *page) apply(list []event) {
	for _, e := range list {
		switch e.kind() {
		case "TEXT_MESSAGE_START":
			if _, ok := p.text[e["messageId"].(string)]; !ok {
				p.ids = append(p.ids, e["messageId"].(string))
			}
		case "TEXT_MESSAGE_CONTENT":
			p.text[e["messageId"].(string)] += e["delta"].(string)
		case "MESSAGES_SNAPSHOT":
			p.ids, p.text = nil, map[string]string{}
			for _, m := range e["messages"].([]any) {
				m := m.(map[string]any)
				if s, ok := m["content"].(string); ok && m["role"] == "assistant" {
					p.ids = append(p.ids, m["id"].(string))
					p.text[m["id"].(string)] = s
				}
			}
		}
	}
}

func (p *page) shows() (out []string) {
	for _, id := range p.ids {
		out = append(out, p.text[id])
	}
	return out
}

// If the owner of a run dies in the middle of a step, a client that saw part of it ends up
// with what really happened: whether it stays, reconnects with its position, or connects anew.
func TestReset_OwnerDies(t *testing.T) {
	goOn := make(chan struct{})
	g := newRigWith(t, goOn)
	body := `{"threadId":"t","runId":"r","agentId":"slow","messages":[{"id":"m","role":"user","content":"go"}]}`
	resp := g.send(http.MethodPost, g.URL+"/v1/ag-ui/run", body, "")
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	var got strings.Builder
	lost, before, deltas := "", "", 0
	for {
		line, err := in.ReadString('\n')
		got.WriteString(line)
		if err != nil {
			break
		}
		if strings.Contains(line, `"TEXT_MESSAGE_CONTENT"`) {
			deltas++
		}
		if lost == "" && deltas == protocoltest.FirstPieces && line == "\n" {
			before, lost = protocoltest.Whole(got.String())
			if _, err := g.DB.Handle("").Acquire(t.Context(), "t"); err != nil { // another owner takes over
				t.Fatal(err)
			}
			close(goOn)
		}
	}
	if lost == "" {
		t.Fatalf("the text did not come: %s", got.String())
	}
	want := fmt.Sprint([]string{protocoltest.SlowText})
	stays := &page{text: map[string]string{}}
	stays.apply(eventsIn(t, got.String()))
	if s := fmt.Sprint(stays.shows()); s != want {
		t.Errorf("a page that stays shows %q, want %q: %s", s, want, got.String())
	}
	for name, rest := range map[string]*http.Response{
		"comes back": g.send(http.MethodPost, g.URL+"/v1/ag-ui/run", body, lost),
		"connects":   g.send(http.MethodPost, g.URL+"/v1/ag-ui/agent/slow/connect", `{"threadId":"t"}`, ""),
	} {
		p := &page{text: map[string]string{}}
		p.apply(eventsIn(t, before))
		p.apply(eventsIn(t, protocoltest.ReadAll(rest)))
		rest.Body.Close()
		if s := fmt.Sprint(p.shows()); s != want {
			t.Errorf("a page that %s shows %q, want %q", name, s, want)
		}
	}
}

// A client that comes back before the next owner has begun starts over when that has written other entries in
// the place of those that it has: it gets the conversation before the run, and then the run.
func TestReset_ClientIsBackBeforeTheNextOwner(t *testing.T) {
	goOn := make(chan struct{})
	g := newRigWith(t, goOn)
	body := `{"threadId":"t","runId":"r","agentId":"slow","messages":[{"id":"m","role":"user","content":"go"}]}`
	resp := g.send(http.MethodPost, g.URL+"/v1/ag-ui/run", body, "")
	in := bufio.NewReader(resp.Body)
	var got strings.Builder
	for deltas := 0; deltas < protocoltest.FirstPieces; {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if got.WriteString(line); strings.Contains(line, `"TEXT_MESSAGE_CONTENT"`) {
			deltas++
		}
	}
	resp.Body.Close()
	has, at := protocoltest.Whole(got.String() + "\n")
	if _, err := g.DB.Handle("").Acquire(t.Context(), "t"); err != nil { // its owner is lost
		t.Fatal(err)
	}
	_, another := g.Start(false) // has none of what is not stored
	ways := map[string]*http.Response{
		"repeats its request": g.send(http.MethodPost, another+"/v1/ag-ui/run", body, at),
		"connects":            g.send(http.MethodPost, another+"/v1/ag-ui/agent/slow/connect", `{"threadId":"t"}`, at),
		"follows":             g.send(http.MethodGet, another+"/v1/ag-ui/threads/t/stream", "", at),
	}
	close(goOn)
	for name, back := range ways {
		rest := protocoltest.ReadAll(back)
		back.Body.Close()
		list := eventsIn(t, rest)
		if len(list) == 0 || list[0].kind() != "RUN_STARTED" || list[len(list)-1].kind() != "RUN_FINISHED" {
			t.Errorf("a client that %s after %s gets %s", name, at, rest)
			continue
		}
		p := &page{text: map[string]string{}}
		p.apply(eventsIn(t, has))
		p.apply(list)
		if s, want := fmt.Sprint(p.shows()), fmt.Sprint([]string{protocoltest.SlowText}); s != want {
			t.Errorf("a client that %s shows %q, want %q: %s", name, s, want, rest)
		}
	}
}

// A step may be stored in part when its owner dies: its answer was long. What the next owner
// streams takes the place of that part.
func TestReset_StepIsBegunAgain(t *testing.T) {
	asked := []*llm.Message{{ID: "m", Role: llm.User, Content: []llm.Block{llm.Text("go")}}}
	enc := agui.NewEncoder(agui.Options{Conversation: func() ([]*llm.Message, error) { return asked, nil }})
	var out protocol.Frames
	for i, ev := range []awaken.Event{
		&awaken.RunStart{ThreadID: "t", RunID: "r"}, &awaken.StepStart{MessageID: "r-0"}, &awaken.TextDelta{Delta: "half an "},
		&awaken.RunStart{ThreadID: "t", RunID: "r"}, &awaken.StepStart{MessageID: "r-0"}, &awaken.TextDelta{Delta: "whole"}, &awaken.InferenceComplete{}, &awaken.StepEnd{},
		&awaken.RunFinish{ThreadID: "t", RunID: "r", Termination: awaken.Termination{Type: awaken.NaturalEnd}},
	} {
		if err := enc.Encode(&out, &awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: uint64(i + 1)}, Event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	p := &page{text: map[string]string{}}
	p.apply(eventsIn(t, string(out.Bytes())))
	if got := fmt.Sprint(p.shows()); got != "[whole]" {
		t.Errorf("the page shows %q: %s", got, out.Bytes())
	}
}

// A client that a step is taken back from keeps all that it has: messages that it is not shown, such as a request for
// another answer, and results that were stored later, but belong before the last one that it has, do not cut that off.
func TestReset_KeepsWhatTheClientHas(t *testing.T) {
	of := &llm.Metadata{RunID: "r"}
	said := func(id string, role llm.Role, text string) *llm.Message {
		return &llm.Message{ID: id, Role: role, Content: []llm.Block{llm.Text(text)}, Metadata: of}
	}
	again := said("x", llm.User, "Answer again.")
	again.Visibility = llm.Internal
	called := said("r-1", llm.Assistant, "I call.")
	called.ToolCalls = []llm.ToolCall{{ID: "a", Name: "ask"}, {ID: "b", Name: "echo"}}
	late, result := said("late", llm.ToolRole, "yes"), said("res", llm.ToolRole, "done")
	late.ToolCallID, result.ToolCallID = "a", "b"
	all := []*llm.Message{{ID: "m", Role: llm.User, Content: []llm.Block{llm.Text("go")}}, said("r-0", llm.Assistant, "no JSON"), again, called, late, result,
		said("r-2", llm.Assistant, "further along")}
	enc := agui.NewEncoder(agui.Options{Conversation: func() ([]*llm.Message, error) { return all, nil }})
	var out protocol.Frames
	for i, ev := range []awaken.Event{
		&awaken.RunStart{ThreadID: "t", RunID: "r"}, &awaken.StepStart{MessageID: "r-0"}, &awaken.TextDelta{Delta: "no JSON"}, &awaken.InferenceComplete{}, &awaken.StepEnd{},
		&awaken.StepStart{MessageID: "r-1"}, &awaken.TextDelta{Delta: "I call."}, &awaken.InferenceComplete{},
		&awaken.ToolCallDone{ID: "b", MessageID: "res", Result: awaken.TextResult("done")}, &awaken.StepEnd{},
		&awaken.StepStart{MessageID: "r-2"}, &awaken.TextDelta{Delta: "lost"}, &awaken.StreamReset{Cursor: "1-10"},
	} {
		if err := enc.Encode(&out, &awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: uint64(i + 1)}, Event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for _, m := range find(t, eventsIn(t, string(out.Bytes())), "MESSAGES_SNAPSHOT")["messages"].([]any) {
		ids = append(ids, m.(map[string]any)["id"].(string))
	}
	if got := fmt.Sprint(ids); got != "[m r-0 r-1 res]" {
		t.Errorf("the client keeps %s: %s", got, out.Bytes())
	}
}

// A step that ended without an answer, for want of money, is made again under its ID when the run goes on. A client that loses
// the beginning of that is not shown its answer before it is streamed, even if that is stored by then.
func TestReset_AfterAStepWithoutAnAnswer(t *testing.T) {
	all := []*llm.Message{{ID: "m", Role: llm.User, Content: []llm.Block{llm.Text("go")}},
		{ID: "r-0", Role: llm.Assistant, Content: []llm.Block{llm.Text("Done.")}, Metadata: &llm.Metadata{RunID: "r"}}}
	enc := agui.NewEncoder(agui.Options{Conversation: func() ([]*llm.Message, error) { return all, nil }})
	start, step := &awaken.RunStart{ThreadID: "t", RunID: "r"}, &awaken.StepStart{MessageID: "r-0"}
	var out protocol.Frames
	for i, ev := range []awaken.Event{
		start, step, &awaken.StepEnd{}, &awaken.RunFinish{ThreadID: "t", RunID: "r", Termination: awaken.Termination{Type: awaken.Suspended}},
		start, step, &awaken.StreamReset{Cursor: "1-5"}, step, &awaken.TextDelta{Delta: "Done."}, &awaken.InferenceComplete{}, &awaken.StepEnd{},
	} {
		if err := enc.Encode(&out, &awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: uint64(i + 1)}, Event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	p := &page{text: map[string]string{}}
	p.apply(eventsIn(t, string(out.Bytes())))
	if got := fmt.Sprint(p.shows()); got != "[Done.]" {
		t.Errorf("the page shows %q: %s", got, out.Bytes())
	}
}
