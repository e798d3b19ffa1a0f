package trace

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/trace/body"
)

// Event is one line of a trace, with the field names of the original Awaken.
type Event struct {
	Context
	// One of these is set.
	Inference  *Inference
	Tool       *Tool
	Suspension *Suspension
	Child      *Child
	Evaluation *Evaluation
	Span
}

// Context has the type of an event and its run.
type Context struct {
	Type             string `json:"type"` // inference, tool, suspension, handoff, delegation, background_task or evaluation_result
	RunID            string `json:"run_id"`
	ThreadID         string `json:"thread_id"`
	AgentID          string `json:"agent_id"`
	ParentRunID      string `json:"parent_run_id,omitempty"`
	ParentToolCallID string `json:"parent_tool_call_id,omitempty"`
	ReleaseTag       string `json:"release_tag,omitempty"` // the registry version of the run
	StepIndex        *int   `json:"step_index,omitempty"`
	Operation        string `json:"operation,omitempty"`
}

// Span is the time of an event. Times are Unix ms, 0 if unknown.
type Span struct {
	DurationMS  int64 `json:"duration_ms"`
	StartedAtMS int64 `json:"started_at_ms,omitempty"`
	EndedAtMS   int64 `json:"ended_at_ms,omitempty"`
}

// Clone returns a copy of e, including the struct of its type and the list of finish reasons.
func (e *Event) Clone() *Event {
	out := *e
	out.Inference, out.Tool, out.Suspension, out.Child, out.Evaluation = clone(e.Inference), clone(e.Tool), clone(e.Suspension), clone(e.Child), clone(e.Evaluation)
	if out.Inference != nil {
		out.Inference.FinishReasons = slices.Clone(e.Inference.FinishReasons)
	}
	return &out
}

// clone returns a copy of what p points to.
func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// MarshalJSON writes all fields into one object.
func (e Event) MarshalJSON() ([]byte, error) {
	switch {
	case e.Inference != nil:
		return json.Marshal(struct {
			Context
			*Inference
			Span
		}{e.Context, e.Inference, e.Span})
	case e.Tool != nil:
		return json.Marshal(struct {
			Context
			*Tool
			Span
		}{e.Context, e.Tool, e.Span})
	case e.Suspension != nil:
		return json.Marshal(struct {
			Context
			*Suspension
			Span
		}{e.Context, e.Suspension, e.Span})
	case e.Evaluation != nil:
		return json.Marshal(struct {
			Context
			*Evaluation
			Span
		}{e.Context, e.Evaluation, e.Span})
	}
	return json.Marshal(struct {
		Context
		*Child
		Span
	}{e.Context, e.Child, e.Span})
}

// Inference is a request to a model.
type Inference struct {
	Model         string   `json:"model"`
	ResponseModel string   `json:"response_model,omitempty"`
	ResponseID    string   `json:"response_id,omitempty"` // assigned by the provider; not in traces read from a log
	Provider      string   `json:"provider,omitempty"`
	FinishReasons []string `json:"finish_reasons"`
	ErrorType     string   `json:"error_type,omitempty"`
	ErrorClass    string   `json:"error_class,omitempty"`

	ThinkingTokens      int64 `json:"thinking_tokens,omitempty"`
	InputTokens         int64 `json:"input_tokens"`
	OutputTokens        int64 `json:"output_tokens"`
	TotalTokens         int64 `json:"total_tokens"`
	CacheReadTokens     int64 `json:"cache_read_input_tokens,omitempty"`
	CacheCreationTokens int64 `json:"cache_creation_input_tokens,omitempty"`

	// RequestDigest is the digest from [Recording.Digests]; "" if the log before the run was not read.
	RequestDigest   string      `json:"request_digest,omitempty"`
	Temperature     *float64    `json:"temperature,omitempty"`
	TopP            *float64    `json:"top_p,omitempty"`
	MaxTokens       *int        `json:"max_tokens,omitempty"`
	ReasoningEffort *llm.Effort `json:"reasoning_effort,omitempty"`
	// StopSequences are the stop sequences of the request.
	StopSequences []string `json:"stop_sequences,omitempty"`

	CostUSD           float64        `json:"cost_usd,omitempty"`
	Attempts          int            `json:"attempts"` // requests that got at least a part of an answer
	ResponseContent   string         `json:"response_content,omitempty"`
	ResponseToolCalls []llm.ToolCall `json:"response_tool_calls,omitempty"`
	RequestMessages   []*llm.Message `json:"request_messages,omitempty"` // of the first one: the input of the run
	// Requests are the stored requests of the step, word for word.
	Requests []*body.Record `json:"requests,omitempty"`
}

// Tool is a call of a tool.
type Tool struct {
	Name      string             `json:"name"`
	CallID    string             `json:"call_id"`
	Arguments json.RawMessage    `json:"call_arguments,omitempty"`
	Result    *awaken.ToolResult `json:"call_result,omitempty"`
	Status    awaken.CallStatus  `json:"status"`
	Effect    awaken.EffectClass `json:"effect,omitempty"`
	Error     string             `json:"error_type,omitempty"` // in_doubt if it is unknown whether the call took effect
	Attempts  int                `json:"attempts,omitempty"`
	// Outcome says whether the call took effect, if that was in doubt: in_doubt, or made or not_made once it is settled.
	Outcome awaken.Outcome `json:"outcome,omitempty"`
}

// InDoubt is the error type of a call that may or may not have taken effect.
const InDoubt = "in_doubt"

// Suspension is a request for a decision, and who decided.
type Suspension struct {
	ToolCallID string           `json:"tool_call_id"`
	ToolName   string           `json:"tool_name"`
	Action     string           `json:"action"`
	ResumeMode string           `json:"resume_mode,omitempty"`
	Message    string           `json:"message,omitempty"`
	Decision   *awaken.Decision `json:"decision,omitempty"`
	Withdrawn  string           `json:"withdrawn,omitempty"` // why there was no decision: superseded, rewound, or how the run ended
}

// Child is a run that the run started.
type Child struct {
	ChildRunID   string           `json:"child_run_id"`
	ChildAgentID string           `json:"child_agent_id"`
	ChildStatus  awaken.RunStatus `json:"child_status"`
	ChildCostUSD float64          `json:"child_cost_usd,omitempty"`
	ErrorType    string           `json:"error_type,omitempty"`
}

// Evaluation is the score that a scorer or a judge gave the run after it had ended.
type Evaluation struct {
	Name        string  `json:"name"`  // of the scorer, or judge
	Score       float64 `json:"score"` // 0 to 1
	Passed      bool    `json:"passed"`
	Explanation string  `json:"explanation,omitempty"`
	Model       string  `json:"model,omitempty"`          // that judged
	Revision    string  `json:"judge_revision,omitempty"` // of the judge: its model, instructions and rubric
	At          int64   `json:"-"`                        // Unix ms
}

// Lines returns the trace of a run in chronological order. With bodies, it includes the inputs and outputs of models and tools.
func (rec *Recording) Lines(bodies bool) []Event {
	var out []Event
	calls := map[int][]*awaken.CallState{}
	for _, c := range rec.Calls {
		calls[c.Step] = append(calls[c.Step], c)
	}
	done, digests := map[int]bool{}, rec.Digests()
	for i := range rec.Turns {
		t := &rec.Turns[i]
		ev := rec.inference(t, bodies, i == 0)
		ev.Inference.RequestDigest = digests[t.Step]
		out = append(out, ev)
		if done[t.Step] {
			continue
		}
		done[t.Step] = true
		for _, c := range calls[t.Step] {
			out = append(out, rec.call(c, bodies)...)
		}
	}
	for _, c := range rec.Calls { // of steps without a model
		if !done[c.Step] {
			out = append(out, rec.call(c, bodies)...)
		}
	}
	if run := rec.Run; run.FirstAgentID != "" {
		ev := rec.event("handoff", nil)
		ev.Child = &Child{ChildRunID: run.RunID, ChildAgentID: run.AgentID, ChildStatus: run.Status}
		out = append(out, ev)
	}
	for _, child := range rec.Children {
		kind := "delegation"
		if child.Run.Mode == "scheduled" {
			kind = "background_task"
		}
		ev := rec.event(kind, nil)
		ev.Child = &Child{ChildRunID: child.Run.RunID, ChildAgentID: child.Run.AgentID, ChildStatus: child.Run.Status, ChildCostUSD: child.Run.CostUSD + child.Run.ChildCostUSD}
		ev.StartedAtMS, ev.EndedAtMS = child.Run.StartedAt, child.Run.FinishedAt
		ev.DurationMS = max(0, ev.EndedAtMS-ev.StartedAtMS)
		out = append(out, ev)
	}
	for i := range rec.Evaluations {
		ev := rec.event("evaluation_result", nil)
		ev.Operation, ev.Evaluation, ev.StartedAtMS, ev.EndedAtMS = "evaluate", &rec.Evaluations[i], rec.Evaluations[i].At, rec.Evaluations[i].At
		out = append(out, ev)
	}
	return out
}

// event returns an event of the run.
func (rec *Recording) event(kind string, step *int) Event {
	run := rec.Run
	return Event{Context: Context{Type: kind, RunID: run.RunID, ThreadID: run.ThreadID, AgentID: run.AgentID, ParentRunID: run.ParentRunID, ParentToolCallID: run.ParentToolCallID,
		ReleaseTag: run.ResolutionID, StepIndex: step}}
}

func (rec *Recording) inference(t *Turn, bodies, first bool) Event {
	ev := rec.event("inference", &t.Step)
	ev.Operation = "chat"
	in := &Inference{Model: t.Model, ResponseModel: t.Model, FinishReasons: []string{}, CostUSD: t.CostUSD}
	if t.Finish != "" {
		in.FinishReasons = append(in.FinishReasons, string(t.Finish))
	}
	for _, s := range t.Streams {
		if len(s.Deltas) > 0 {
			in.Attempts++
		}
	}
	rec.parameters(in)
	if u := t.Usage; u != nil {
		in.ThinkingTokens, in.InputTokens, in.OutputTokens, in.TotalTokens = u.ThinkingTokens, u.PromptTokens, u.CompletionTokens, u.TotalTokens
		in.CacheReadTokens, in.CacheCreationTokens = u.CacheReadTokens, u.CacheCreationTokens
		if in.TotalTokens == 0 {
			in.TotalTokens = in.InputTokens + in.OutputTokens
		}
	}
	if t.Error != "" {
		in.ErrorType, in.ErrorClass = cmp.Or(string(t.ErrorKind), "error"), "provider"
	}
	if bodies {
		in.ResponseContent, in.ResponseToolCalls = t.Text, t.ToolCalls
		if first {
			in.RequestMessages = rec.Input
		}
	}
	for _, r := range rec.Requests {
		if r.Step == t.Step {
			in.Asked(r)
		}
	}
	if !bodies {
		in.Requests = nil
	}
	ev.Inference, ev.DurationMS, ev.StartedAtMS, ev.EndedAtMS = in, t.DurationMS, t.StartedAt, t.EndedAt
	return ev
}

// Asked adds a request of the step, which has the parameters.
func (in *Inference) Asked(r *body.Record) {
	q := &r.Request
	in.Temperature, in.TopP, in.MaxTokens, in.ReasoningEffort, in.StopSequences = q.Temperature, q.TopP, q.MaxTokens, q.ReasoningEffort, q.StopSequences
	in.Requests = append(in.Requests, r)
}

// parameters sets the parameters of a step whose request was not stored: the run's and the agent's.
func (rec *Recording) parameters(in *Inference) {
	if a := rec.Agent; a != nil {
		in.ReasoningEffort = a.ReasoningEffort
		if c := a.ContextPolicy; c != nil && c.MaxOutputTokens > 0 {
			in.MaxTokens = &c.MaxOutputTokens
		}
	}
	if o := rec.Run.Overrides; o != nil {
		in.Temperature, in.TopP = o.Temperature, o.TopP
		in.MaxTokens, in.ReasoningEffort = cmp.Or(o.MaxTokens, in.MaxTokens), cmp.Or(o.ReasoningEffort, in.ReasoningEffort)
	}
}

// call returns the events of a call: its questions, and itself.
func (rec *Recording) call(c *awaken.CallState, bodies bool) []Event {
	var out []Event
	if k := c.Ticket; k != nil && k.Child == "" {
		ev := rec.event("suspension", &c.Step)
		ev.Suspension = &Suspension{ToolCallID: c.CallID, ToolName: c.ToolName, Action: k.Suspension.Action, ResumeMode: string(k.ResumeMode), Message: k.Suspension.Message}
		if d := c.Decision; d != nil {
			decided := *d
			if !bodies {
				decided.Result, decided.Arguments = nil, nil
			}
			ev.Suspension.Decision, ev.EndedAtMS = &decided, d.UpdatedAt
		}
		out = append(out, ev)
	}
	if c.IsHeld() {
		return out
	}
	ev := rec.event("tool", &c.Step)
	ev.Operation = "execute_tool"
	tool := &Tool{Name: c.ToolName, CallID: c.CallID, Status: c.Status, Effect: c.Effect, Attempts: int(c.Attempts)}
	if bodies {
		tool.Arguments, tool.Result = c.Arguments, c.Result
	}
	if c.Doubt != nil && c.Status.Terminal() {
		tool.Outcome = c.Outcome()
	}
	switch failed := c.Status == awaken.CallFailed || c.Status == awaken.CallCancelled; {
	case tool.Outcome == awaken.OutcomeInDoubt:
		tool.Error = InDoubt
	case failed && tool.Outcome != awaken.OutcomeMade:
		tool.Error = "tool_error"
	}
	ev.Tool, ev.StartedAtMS = tool, c.StartedAt
	if c.Status.Terminal() {
		if ev.EndedAtMS = c.UpdatedAt; c.StartedAt > 0 {
			ev.DurationMS = max(0, c.UpdatedAt-c.StartedAt)
		}
	}
	return append(out, ev)
}
