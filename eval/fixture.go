package eval

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
)

// Dataset is a list of cases, kept as a document.
type Dataset struct {
	Description string    `json:"description,omitempty"`
	Fixtures    []Fixture `json:"fixtures"`
}

// Fixture is one case: what the user says, what the model answers if it is scripted, and what is expected of the run.
type Fixture struct {
	ID          string `json:"id"`
	Description string `json:"description,omitempty"`
	Exchange
	// SourceRunID and SourceModelID name the run that the case was made of.
	SourceRunID   string `json:"source_run_id,omitempty"`
	SourceModelID string `json:"source_model_id,omitempty"`
	// AllowUnusedProviderScript permits a run that ends before its script does.
	AllowUnusedProviderScript bool `json:"allow_unused_provider_script,omitempty"`
	// MockResponse is a script of one answer, as old datasets have it.
	MockResponse *MockResponse `json:"mock_response,omitempty"`
	Expect       Expectation   `json:"expect"`
	// ContinuedTurns are further messages of the user, each answered in a run of its own on the same thread.
	ContinuedTurns []Exchange `json:"continued_turns,omitempty"`
	// ToolResults replace the calls of tools.
	ToolResults []ToolResult `json:"tool_results,omitempty"`
	// Decide is the decision on calls that wait for a person: approve or deny. Without it, a run that waits has failed.
	Decide Decide `json:"decide,omitempty"`
}

// Decide is an answer to calls that wait for a person.
type Decide string

// The answers.
const (
	Approve Decide = "approve"
	Deny    Decide = "deny"
)

// ToolResult is a recorded result of a tool. A call gets the first one that fits it and was not used, or else the last one that
// fits it.
type ToolResult struct {
	Name string `json:"name"`
	// ArgsSubset is contained in the arguments of the calls that the result fits. Without it, it fits all.
	ArgsSubset json.RawMessage `json:"args_subset,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"` // any JSON value
	Error      string          `json:"error,omitempty"`  // the call fails with this text instead
}

// Fits reports whether a call of a tool with these arguments gets the result.
func (r *ToolResult) Fits(name string, args json.RawMessage) bool {
	return r.Name == name && contains(args, r.ArgsSubset)
}

// Exchange is a message of the user with what the model answers to it.
type Exchange struct {
	UserInput string `json:"user_input"`
	// ProviderScript has one event for each inference. Without it the case needs a real model.
	ProviderScript []Reply `json:"provider_script,omitempty"`
	// ProviderScriptError says why the run that the case was made of gave no script.
	ProviderScriptError string `json:"provider_script_error,omitempty"`
}

// ReplyKind says what a scripted model does.
type ReplyKind string

// The kinds of replies.
const (
	ChatResponse ReplyKind = "chat_response" // it answers
	ToolCall     ReplyKind = "tool_call"     // it calls a tool
	ReplyError   ReplyKind = "error"         // it fails
)

// Reply is a scripted model's answer to one request.
type Reply struct {
	Kind ReplyKind `json:"kind"`

	Content      string `json:"content,omitempty"`       // of a chat response
	FinishReason string `json:"finish_reason,omitempty"` // of a chat response; the default is EndTurn, or ToolUse with calls
	// ToolCalls are calls that a chat response makes beside its text. The original has none.
	ToolCalls []ReplyCall `json:"tool_calls,omitempty"`

	ID        string          `json:"id,omitempty"`        // of a tool call
	Name      string          `json:"name,omitempty"`      // of a tool call
	Arguments json.RawMessage `json:"arguments,omitempty"` // of a tool call; the default is {}

	ErrorType string `json:"error_type,omitempty"` // of an error: a kind of llm.Error
	Message   string `json:"message,omitempty"`    // of an error

	// Tokens is the number of output tokens of a chat response or a tool call.
	Tokens *int `json:"tokens,omitempty"`
}

// ReplyCall is a tool call of a chat response.
type ReplyCall struct {
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // the default is {}
}

// MockResponse is the answer of a model that is asked once.
type MockResponse struct {
	Kind      string `json:"kind"` // text or error
	Text      string `json:"text,omitempty"`
	ErrorType string `json:"error_type,omitempty"`
	Message   string `json:"message,omitempty"`
}

// ParseDataset decodes a dataset and validates it. Errors name the field, what it holds and what it takes.
func ParseDataset(data []byte) (*Dataset, error) {
	var d Dataset
	if err := strict.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	return &d, d.Validate()
}

// Validate checks that the fixtures have distinct ids and can be run.
func (d *Dataset) Validate() error {
	seen := make(map[string]int, len(d.Fixtures))
	for i := range d.Fixtures {
		f := &d.Fixtures[i]
		at := fmt.Sprintf("fixtures[%d]", i)
		if err := f.Validate(); err != nil {
			return fmt.Errorf("%s.%w", at, err)
		}
		if first, ok := seen[f.ID]; ok {
			return fmt.Errorf("%s.id is %q, the id of fixtures[%d]; want different ids", at, f.ID, first)
		}
		seen[f.ID] = i
	}
	return nil
}

// Validate checks a fixture on its own. Errors begin with the field.
func (f *Fixture) Validate() error {
	if f.ID == "" || len(f.ID) > 256 || strings.ContainsAny(f.ID, "\x00\n\r") {
		return fmt.Errorf("id is %.80q; want 1 to 256 bytes without line breaks", f.ID)
	}
	if err := f.Exchange.validate(); err != nil {
		return err
	}
	if m := f.MockResponse; m != nil {
		switch {
		case m.Kind != "text" && m.Kind != "error":
			return fmt.Errorf(`mock_response.kind is %q; want "text" or "error"`, m.Kind)
		case len(f.ProviderScript) > 0:
			return fmt.Errorf("mock_response and provider_script are both set; want one of them")
		}
	}
	for i := range f.ContinuedTurns {
		if err := f.ContinuedTurns[i].validate(); err != nil {
			return fmt.Errorf("continued_turns[%d].%w", i, err)
		}
		if f.Scripted() != (len(f.ContinuedTurns[i].ProviderScript) > 0) {
			return fmt.Errorf("continued_turns[%d].provider_script: want a script for every turn of a case or for none", i)
		}
	}
	if d := f.Decide; d != "" && d != Approve && d != Deny {
		return fmt.Errorf("decide is %q; want %q or %q", d, Approve, Deny)
	}
	for i := range f.ToolResults {
		switch r := &f.ToolResults[i]; {
		case r.Name == "":
			return fmt.Errorf("tool_results[%d].name is empty; want the name of a tool", i)
		case r.Error != "" && len(r.Result) > 0:
			return fmt.Errorf("tool_results[%d].result and error are both set; want one of them", i)
		}
	}
	return f.Expect.validate()
}

func (x *Exchange) validate() error {
	if x.UserInput == "" {
		return fmt.Errorf("user_input is empty; want what the user says")
	}
	for i := range x.ProviderScript {
		if err := x.ProviderScript[i].validate(); err != nil {
			return fmt.Errorf("provider_script[%d].%w", i, err)
		}
	}
	return nil
}

func (r *Reply) validate() error {
	switch r.Kind {
	case ChatResponse:
		if _, err := finishReason(r.FinishReason); err != nil {
			return err
		}
		for i := range r.ToolCalls {
			if r.ToolCalls[i].Name == "" {
				return fmt.Errorf("tool_calls[%d].name is empty; want the name of the tool that is called", i)
			}
		}
	case ToolCall:
		if r.Name == "" {
			return fmt.Errorf("name is empty; want the name of the tool that is called")
		}
	case ReplyError:
		if _, err := errorKind(r.ErrorType); err != nil {
			return err
		}
	default:
		return fmt.Errorf("kind is %q; want one of %q, %q, %q", r.Kind, ChatResponse, ToolCall, ReplyError)
	}
	if r.Kind != ChatResponse && len(r.ToolCalls) > 0 {
		return fmt.Errorf("tool_calls is set on a reply of kind %q; want kind %q", r.Kind, ChatResponse)
	}
	if r.Tokens != nil && *r.Tokens < 0 {
		return fmt.Errorf("tokens is %d; want 0 or more", *r.Tokens)
	}
	return nil
}

// Scripted reports whether the case can be run without a model.
func (f *Fixture) Scripted() bool { return len(f.ProviderScript) > 0 || f.MockResponse != nil }

// Turns returns what the user says and the model answers, in order. An old mock response is a script of one reply.
func (f *Fixture) Turns() []Exchange {
	first := f.Exchange
	if m := f.MockResponse; m != nil {
		reply := Reply{Kind: ChatResponse, Content: m.Text}
		if m.Kind == "error" {
			reply = Reply{Kind: ReplyError, ErrorType: m.ErrorType, Message: m.Message}
		}
		first.ProviderScript = []Reply{reply}
	}
	return append([]Exchange{first}, f.ContinuedTurns...)
}

// errorKind returns the kind of error that name stands for. The original's names are those of its classes: RateLimited
// is rate_limited here.
func errorKind(name string) (llm.Kind, error) {
	var known []string
	for _, kind := range llm.Kinds {
		if fold(name) == fold(string(kind)) {
			return kind, nil
		}
		known = append(known, string(kind))
	}
	return "", fmt.Errorf("error_type is %q; want one of %s", name, strings.Join(known, ", "))
}

var finishReasons = []llm.FinishReason{llm.EndTurn, llm.MaxTokens, llm.ToolUse, llm.StopSequence}

// finishReason returns the finish reason that name stands for, or "" for none.
func finishReason(name string) (llm.FinishReason, error) {
	if name == "" {
		return "", nil
	}
	var known []string
	for _, reason := range finishReasons {
		if fold(name) == fold(string(reason)) {
			return reason, nil
		}
		known = append(known, string(reason))
	}
	return "", fmt.Errorf("finish_reason is %q; want one of %s", name, strings.Join(known, ", "))
}

func fold(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }
