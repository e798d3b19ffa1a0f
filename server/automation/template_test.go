package automation

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/sectiontest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// Every field of the run that a schedule or a trigger describes has its effect on the run.
func TestTemplate_UsesEveryField(t *testing.T) {
	t.Parallel()
	const base = `{"agent_id":"a","messages":[{"role":"user","content":"hello"}]`
	read := func(doc string) *mailbox.Submission {
		t.Helper()
		s, err := templateInput(doc)
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		for _, m := range s.Request.Messages {
			m.ID = "" // a new one each time
		}
		return s
	}
	docs := []string{`{"messages":[{"id":"refused"}]}`, `{"overrides":{"reasoning_effort":{"Level":"a text","Budget":"or an object"}}}`}
	for _, tt := range []struct {
		doc    string
		change func(s *mailbox.Submission) // what it makes of the base
	}{
		{`{"agent_id":"b","messages":[{"role":"user","content":"hello"}]}`, func(s *mailbox.Submission) { s.Request.AgentID = "b" }},
		{`{"agent_id":"a","messages":[{"role":"user","content":"bye"}]}`, func(s *mailbox.Submission) { s.Request.Messages[0].Content[0].Text = "bye" }},
		{base + `,"thread_id":"x"}`, func(s *mailbox.Submission) { s.Request.ThreadID = "x" }},
		{base + `,"user_id":"u"}`, func(s *mailbox.Submission) { s.Request.UserID, s.Confined = "u", true }},
		{base + `,"priority":"background"}`, func(*mailbox.Submission) {}},
		{base + `,"priority":"interactive"}`, func(s *mailbox.Submission) { s.Priority = nil }},
		{base + `,"overrides":{"upstream_model":"m","temperature":0.5,"max_tokens":7,"top_p":0.9,"reasoning_effort":"low",
			"stop_sequences":["END"],"seed":7,"parallel_tools":false,"tool_choice":{"mode":"tool","name":"search"}}}`, func(s *mailbox.Submission) {
			var effort llm.Effort
			if err := json.Unmarshal([]byte(`"low"`), &effort); err != nil {
				t.Fatal(err)
			}
			s.Request.Overrides = &awaken.InferenceOverride{UpstreamModel: "m", Temperature: new(0.5), MaxTokens: new(7), TopP: new(0.9), ReasoningEffort: &effort,
				StopSequences: []string{"END"}, Seed: new(int64(7)), ParallelTools: new(false), ToolChoice: &llm.ToolChoice{Mode: "tool", Name: "search"}}
		}},
		{base + `,"output_schema":{"type":"object"}}`, func(s *mailbox.Submission) { s.Request.OutputSchema = json.RawMessage(`{"type":"object"}`) }},
		{base + `,"budget":{"thread_usd":2,"run_usd":1}}`, func(s *mailbox.Submission) { s.Request.Budget = &awaken.RunBudget{Thread: new(2.0), Run: new(1.0)} }},
	} {
		docs = append(docs, tt.doc)
		want := read(base + "}")
		tt.change(want)
		if got := read(tt.doc); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the input is %+v, want %+v", tt.doc, got, want)
		}
	}
	sectiontest.Covers[runTemplate](t, docs...)
	if _, err := templateInput(`{"agent_id":"a","messages":[{"id":"m1","role":"user","content":"hello"}]}`); err == nil || !strings.Contains(err.Error(), `run.messages[0].id is "m1"; want none`) {
		t.Errorf("a message with an id: %v", err)
	}
}

// templateInput returns the input that a template starts a run with.
func templateInput(data string) (*mailbox.Submission, error) {
	t, err := templateOf([]byte(data))
	if err != nil {
		return nil, err
	}
	return t.submission()
}
