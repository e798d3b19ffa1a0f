package remote

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// A task that needs authorization asks for it, and one of this project asks each of its questions.
func TestQuestions_AreThoseOfTheTask(t *testing.T) {
	text := func(s string) part { return part{Text: &s} }
	for _, c := range []struct {
		s    status
		want string
	}{
		{status{State: inputRequired}, `[{"kind":"input","message":"The agent needs an answer to continue."}]`},
		{status{State: authRequired, Message: &message{Parts: []part{text("Sign "), text("in.")}}}, `[{"kind":"input","message":"Sign in.","auth":true}]`},
		{status{State: inputRequired, Message: &message{Parts: []part{text("two"), {Data: json.RawMessage(`{"tickets":[{"ticketId":"a","kind":"approval","message":"May I?","toolName":"rm","arguments":{"x":1}},{"ticketId":"b","kind":"input","toolName":"ask","responseSchema":{"type":"string"}}]}`)}}}},
			`[{"kind":"approval","message":"May I?","ticket":"a","tool":"rm","arguments":{"x":1}},{"kind":"input","message":"The agent waits for a decision about ask.","ticket":"b","tool":"ask","schema":{"type":"string"}}]`},
		{status{State: inputRequired, Message: &message{Parts: []part{text("q"), {Data: json.RawMessage(`{"tickets":[{"id":7}]}`)}}}}, `[{"kind":"input","message":"q"}]`},
	} {
		got, err := json.Marshal(questionsOf(&c.s))
		if err != nil || string(got) != c.want {
			t.Errorf("got %s, %v, want %s", got, err, c.want)
		}
	}
}

// A decision becomes what the server reads: the answer to its ticket, or what the person said.
func TestAnswers_AreDecisions(t *testing.T) {
	call := func(args string, d *awaken.Decision) *awaken.CallState {
		return &awaken.CallState{CallID: "c", ToolName: QuestionTool, Arguments: json.RawMessage(args), Decision: d}
	}
	resume, cancel := awaken.ActionResume, awaken.ActionCancel
	for _, c := range []struct {
		call *awaken.CallState
		want string
	}{
		{call(`{"kind":"approval","message":"m","ticket":"t"}`, &awaken.Decision{Action: resume}), `{"data":{"approved":true,"ticketId":"t"},"mediaType":"application/json"}`},
		{call(`{"kind":"approval","message":"m","ticket":"t"}`, &awaken.Decision{Action: resume, Result: json.RawMessage(`{"approved":true,"remember":"thread"}`)}), `{"data":{"approved":true,"remember":"thread","ticketId":"t"},"mediaType":"application/json"}`},
		{call(`{"kind":"approval","message":"m","ticket":"t","arguments":{"x":1}}`, &awaken.Decision{Action: resume, Arguments: json.RawMessage(`{"kind":"approval","message":"m","ticket":"t","arguments":{"x":2}}`)}), `{"data":{"approved":true,"editedArgs":{"x":2},"ticketId":"t"},"mediaType":"application/json"}`},
		{call(`{"kind":"approval","message":"m","ticket":"t"}`, &awaken.Decision{Action: cancel, Reason: "no"}), `{"data":{"approved":false,"reason":"no","ticketId":"t"},"mediaType":"application/json"}`},
		{call(`{"kind":"input","message":"m","ticket":"t"}`, &awaken.Decision{Action: resume, Result: json.RawMessage(`"blue"`)}), `{"data":{"result":"blue","ticketId":"t"},"mediaType":"application/json"}`},
		{call(`{"kind":"input","message":"m"}`, &awaken.Decision{Action: resume, Result: json.RawMessage(`"blue"`)}), `{"text":"blue"}`},
		{call(`{"kind":"input","message":"m"}`, &awaken.Decision{Action: resume, Result: json.RawMessage(`{"n":1}`)}), `{"data":{"n":1},"mediaType":"application/json"}`},
		{call(`{"kind":"input","message":"m"}`, &awaken.Decision{Action: cancel, Reason: "no."}), `{"text":"The request was declined. no."}`},
		{call(`{"kind":"in_doubt","message":"m"}`, &awaken.Decision{Action: resume}), `null`},
	} {
		p, err := answerTo(&llm.Message{Role: llm.ToolRole, ToolCallID: "c"}, []*awaken.CallState{c.call})
		got, bad := json.Marshal(p)
		if err != nil || bad != nil || string(got) != c.want {
			t.Errorf("got %s, %v, want %s", got, err, c.want)
		}
	}
}

// A message has what the agent has not been sent: no more after an answer, and nothing of what it was sent.
func TestCompose_SendsOnlyWhatIsNew(t *testing.T) {
	say := func(id, text string) *llm.Message {
		return &llm.Message{ID: id, Role: llm.User, Content: []llm.Block{llm.Text(text)}}
	}
	answer := &llm.Message{ID: "a", Role: llm.Assistant, Content: []llm.Block{llm.Text("old")}}
	for _, c := range []struct {
		msgs    []*llm.Message
		through string
		want    string
		last    string
	}{
		{[]*llm.Message{say("1", "one"), say("2", "two")}, "", "one|two", "2"},
		{[]*llm.Message{say("1", "one"), answer, say("2", "two")}, "", "two", "2"},
		{[]*llm.Message{say("1", "one"), say("2", "two")}, "1", "two", "2"},
		{[]*llm.Message{say("", "context"), say("2", "two")}, "gone", "two", "2"},
		{[]*llm.Message{say("1", "one"), answer}, "", "", ""},
	} {
		var msgs llm.Messages
		msgs = msgs.Append(c.msgs...)
		parts, last, err := compose(msgs, c.through, nil)
		var texts []string
		for _, p := range parts {
			texts = append(texts, *p.Text)
		}
		if got := strings.Join(texts, "|"); got != c.want || last != c.last || (err != nil) != (c.want == "") {
			t.Errorf("through %q: got %q up to %q, %v, want %q up to %q", c.through, got, last, err, c.want, c.last)
		}
	}
}
