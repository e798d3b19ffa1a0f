package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// ChatEncoder translates the entries of a run into the chunks of a chat completion. A client of Chat
// Completions executes every call that it sees, so it sees only those that wait for it.
type ChatEncoder struct {
	span
	frames *protocol.Frames

	head      []byte // the beginning of every chunk, once the first was sent
	text      strings.Builder
	spoke     string // id of the step that the text ends with
	reasoning strings.Builder
	toolCalls []chatCall
	finish    string
	refusal   string
	used      llm.Usage
	failure   *protocol.Failure
}

// NewChatEncoder returns an encoder at the start of a run.
func NewChatEncoder(opts Options) *ChatEncoder { return &ChatEncoder{span: span{opts: opts}} }

// Encode implements [protocol.Encoder]. It fails if text that the client has is void.
func (e *ChatEncoder) Encode(f *protocol.Frames, entry *awaken.Entry) error {
	e.frames = f
	defer func() { e.frames = nil }()
	if !e.enter(entry) {
		return nil
	}
	switch ev := entry.Event.(type) {
	case *awaken.RunStart:
		e.begin()
	case *awaken.StepStart:
		if e.restarts(ev) && e.shown > 0 {
			return errReset
		}
	case *awaken.StreamReset:
		if e.retracts(ev) {
			return errReset
		}
		e.last = e.last[:0]
	case *awaken.TextDelta:
		e.say(entry.Seq, ev.Delta)
	case *awaken.ReasoningDelta:
		e.shown = entry.Seq
		e.reasoning.WriteString(ev.Delta)
		e.piece(`{"reasoning_content":`, ev.Delta)
	case *awaken.InferenceComplete, *awaken.ToolCallReady:
		e.answered = true
	case *awaken.RunFinish:
		e.ended(ev)
	case *awaken.Error:
		e.fail(&protocol.Failure{Status: 500, Code: cmp.Or(ev.Code, "run_failed"), Message: cmp.Or(ev.Message, "the run failed")})
	}
	return nil
}

// errReset ends a stream whose text turned out to be void: a client of Chat Completions cannot take it
// back.
var errReset = &protocol.Failure{Status: 500, Code: "stream_reset", Message: "part of the answer was lost with the process that wrote it, and the answer begins again; send the request again, or read the run of the header X-Run-Id"}

// End implements [protocol.Encoder].
func (e *ChatEncoder) End(f *protocol.Frames, failure *protocol.Failure) {
	if failure != nil {
		f.Data(errorFrame(failure))
	}
	f.Data([]byte("[DONE]"))
}

func errorFrame(f *protocol.Failure) []byte {
	data, _ := json.Marshal(bodyOf(f)) // strings can always be encoded
	return data
}

// begin sends the first chunk.
func (e *ChatEncoder) begin() {
	if e.head != nil {
		return // another owner continues
	}
	e.head = appendjson.Text([]byte("{"), `"id":`, e.completionID())
	e.head = appendjson.Int(append(e.head, `,"object":"chat.completion.chunk"`...), `,"created":`, e.created)
	e.head = append(appendjson.Text(e.head, `,"model":`, e.model()), `,"choices":[{"index":0,"delta":`...)
	e.chunk(`{"role":"assistant","content":""}`, "null")
}

func (e *ChatEncoder) completionID() string {
	return "chatcmpl-" + strings.TrimPrefix(e.responseID(), responsePrefix)
}

// piece sends a chunk with a piece of a text.
func (e *ChatEncoder) piece(name, text string) {
	e.end(append(appendjson.Text(append(e.frames.Open(), e.head...), name, text), '}'), "null")
}

// chunk sends a chunk.
func (e *ChatEncoder) chunk(delta, finish string) {
	e.end(append(append(e.frames.Open(), e.head...), delta...), finish)
}

// end ends a chunk.
func (e *ChatEncoder) end(buf []byte, finish string) {
	buf = append(append(append(buf, `,"finish_reason":`...), finish...), "}]"...)
	if e.opts.Usage {
		buf = append(buf, `,"usage":null`...)
	}
	e.frames.Close(append(buf, '}'))
}

// say adds text of a step. The texts of two steps are two paragraphs.
func (e *ChatEncoder) say(seq uint64, text string) {
	if e.last = append(e.last, text...); e.opts.Structured || text == "" {
		return
	}
	e.shown = seq
	e.add(text)
}

func (e *ChatEncoder) add(text string) {
	if e.text.Len() > 0 && e.spoke != e.step {
		text = "\n\n" + text
	}
	e.spoke = e.step
	e.text.WriteString(text)
	e.piece(`{"content":`, text)
}

func (e *ChatEncoder) fail(f *protocol.Failure) {
	if !e.over {
		e.failure, e.over = f, true
		e.frames.Data(errorFrame(f))
	}
}

func (e *ChatEncoder) ended(ev *awaken.RunFinish) {
	e.begin()
	switch f := unfinished(ev); {
	case f != nil:
		e.fail(f)
	case ev.Termination.Type == awaken.Failed:
		e.fail(&protocol.Failure{Status: 500, Code: "run_failed", Message: cmp.Or(ev.Termination.Message, "the run failed")})
	case ev.Termination.Type == awaken.Cancelled:
		e.fail(&protocol.Failure{Status: 409, Code: "cancelled", Message: "the run was cancelled"})
	}
	if e.over {
		return
	}
	e.over, e.finish = true, "stop"
	questions := e.ask(ev)
	if ev.Result != nil && ev.Result.FinishReason == llm.MaxTokens {
		e.finish = "length"
	}
	switch {
	case ev.Termination.Type == awaken.Blocked:
		e.finish, e.refusal = "content_filter", ev.Termination.Message
		if e.refusal != "" {
			e.piece(`{"refusal":`, e.refusal)
		}
	case len(questions) > 0:
		e.finish = "tool_calls"
		for i := range questions {
			e.question(ev.RunID, &questions[i])
		}
	case ev.Termination.Type != awaken.Suspended:
		if text := e.answer(ev.Result); text != "" {
			e.step = "" // a paragraph of its own
			e.add(text)
		}
	}
	e.used = e.usage(ev.Result)
	e.chunk("{}", `"`+e.finish+`"`)
	if e.opts.Usage {
		data, _ := json.Marshal(newChatUsage(&e.used)) // numbers can always be encoded
		buf := append(e.frames.Open(), strings.TrimSuffix(string(e.head), `{"index":0,"delta":`)...)
		e.frames.Close(append(append(append(buf, `],"usage":`...), data...), '}'))
	}
}

// ApprovalTool is the name of the call with which a chat completion asks for approval.
const ApprovalTool = "request_approval"

// question sends a call that the client answers.
func (e *ChatEncoder) question(runID string, q *query) {
	c := chatCall{ID: callID(callPrefix, runID, q.ticket.TicketID), Type: "function",
		Function: chatFunction{Name: q.ticket.ToolName, Arguments: argumentsOf(q.ticket.Arguments)}}
	if q.approval {
		args, _ := json.Marshal(approvalRequest{q.ticket.ToolName, json.RawMessage(c.Function.Arguments), q.ticket.Reason}) // arguments are JSON
		c.Function = chatFunction{ApprovalTool, string(args)}
	}
	e.toolCalls = append(e.toolCalls, c)
	c.Index = new(len(e.toolCalls) - 1)
	data, _ := json.Marshal([]chatCall{c}) // strings can always be encoded
	e.chunk(`{"tool_calls":`+string(data)+"}", "null")
}

// approvalRequest is the arguments of [ApprovalTool].
type approvalRequest struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Message   string          `json:"message,omitempty"` // the question
}

// completion is a chat completion that is not streamed.
type completion struct {
	ID      string             `json:"id"`
	Object  string             `json:"object"`
	Created int64              `json:"created"`
	Model   string             `json:"model"`
	Choices []completionChoice `json:"choices"`
	Usage   chatUsage          `json:"usage"`
}

type completionChoice struct {
	Index        int               `json:"index"`
	Message      completionMessage `json:"message"`
	Logprobs     *string           `json:"logprobs"` // always null
	FinishReason string            `json:"finish_reason"`
}

type completionMessage struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Refusal   *string    `json:"refusal"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

// completion returns what was encoded, or why there is none.
func (e *ChatEncoder) completion() (*completion, error) {
	if e.failure != nil {
		return nil, e.failure
	}
	m := completionMessage{Role: "assistant", Reasoning: e.reasoning.String(), ToolCalls: e.toolCalls}
	if e.text.Len() > 0 || len(e.toolCalls) == 0 {
		m.Content = new(e.text.String())
	}
	if e.refusal != "" {
		m.Refusal = &e.refusal
	}
	return &completion{ID: e.completionID(), Object: "chat.completion", Created: e.created, Model: e.model(),
		Choices: []completionChoice{{Message: m, FinishReason: e.finish}}, Usage: newChatUsage(&e.used)}, nil
}
