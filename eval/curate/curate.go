// Package curate turns recorded runs into the cases of a dataset.
//
//	rec, err := trace.Record(ctx, store, runID)
//	fixture, err := curate.Fixture(rec, curate.Options{})
//
// The case has what the user said, what the models answered as a script, and what the tools returned, so that it runs at
// once, without a model and without effects.
package curate

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/trace"
)

// Mode selects how to handle a run whose answers cannot become a script.
type Mode string

// The modes.
const (
	Optional Mode = "optional" // the case says why it has no script
	Require  Mode = "require"  // it is an error
	Skip     Mode = "skip"     // no case has a script
)

// Options says how to make a case.
type Options struct {
	ID          string // "" makes one of the run's id
	Description string
	UserInput   string // "" takes what the user said
	AllowUnused bool
	Mode        Mode // "" means Optional
	Expect      eval.Expectation
}

// ErrUncuratable means that a run cannot become a case.
var ErrUncuratable = errors.New("the run cannot become a case")

// Fixture makes a case of a run. Errors are ErrUncuratable.
func Fixture(rec *trace.Recording, o Options) (*eval.Fixture, error) {
	x, results, err := exchange(rec, o.UserInput, o.Mode)
	if err != nil {
		return nil, err
	}
	f := &eval.Fixture{ID: o.ID, Description: o.Description, Exchange: *x, SourceRunID: rec.Run.RunID, SourceModelID: modelOf(rec), AllowUnusedProviderScript: o.AllowUnused, ToolResults: results, Expect: o.Expect}
	if f.ID == "" {
		f.ID = "run-" + rec.Run.RunID
	}
	return f, f.Validate()
}

// Dialogue makes one case of several runs, each a turn.
func Dialogue(recs []*trace.Recording, o Options) (*eval.Fixture, error) {
	if len(recs) == 0 {
		return nil, fmt.Errorf("%w: there is no run", ErrUncuratable)
	}
	f, err := Fixture(recs[0], o)
	if err != nil {
		return nil, err
	}
	for _, rec := range recs[1:] {
		x, results, err := exchange(rec, "", o.Mode)
		if err != nil {
			return nil, err
		}
		f.ContinuedTurns = append(f.ContinuedTurns, *x)
		f.ToolResults = append(f.ToolResults, results...)
	}
	scripted := f.Scripted()
	for i := range f.ContinuedTurns {
		scripted = scripted && len(f.ContinuedTurns[i].ProviderScript) > 0
	}
	if !scripted { // a script for every turn, or for none
		f.ProviderScript = nil
		for i := range f.ContinuedTurns {
			f.ContinuedTurns[i].ProviderScript = nil
		}
	}
	return f, f.Validate()
}

// exchange returns what the user said and the models answered in a run, and what its tools returned.
func exchange(rec *trace.Recording, input string, mode Mode) (*eval.Exchange, []eval.ToolResult, error) {
	if input == "" {
		input = rec.UserText()
	}
	if input == "" {
		return nil, nil, fmt.Errorf("%w: run %s has no text of a user; want user_input", ErrUncuratable, rec.Run.RunID)
	}
	x := &eval.Exchange{UserInput: input}
	if mode == Skip {
		return x, nil, nil
	}
	script, results, err := scriptOf(rec)
	switch {
	case err != nil && mode == Require:
		return nil, nil, fmt.Errorf("%w: run %s: %w", ErrUncuratable, rec.Run.RunID, err)
	case err != nil:
		x.ProviderScriptError = err.Error()
		return x, nil, nil
	}
	x.ProviderScript = script
	return x, results, nil
}

// scriptOf returns the answers of a run as a script, with the results of its calls.
func scriptOf(rec *trace.Recording) (script []eval.Reply, results []eval.ToolResult, err error) {
	if rec.Run.Status != awaken.RunDone {
		return nil, nil, fmt.Errorf("it has not ended: its status is %s", rec.Run.Status)
	}
	for i := range rec.Turns {
		t := &rec.Turns[i]
		if !t.Answered {
			return nil, nil, fmt.Errorf("step %d has no whole answer of a model", t.Step)
		}
		r := eval.Reply{Kind: eval.ChatResponse, Content: t.Text, FinishReason: string(t.Finish)}
		if t.Usage != nil {
			tokens := int(t.Usage.CompletionTokens)
			r.Tokens = &tokens
		}
		if t.Finish != llm.EndTurn && t.Finish != llm.ToolUse && t.Finish != llm.MaxTokens && t.Finish != llm.StopSequence {
			r.FinishReason = ""
		}
		if len(t.ToolCalls) == 1 && t.Text == "" {
			c := t.ToolCalls[0]
			r = eval.Reply{Kind: eval.ToolCall, ID: c.ID, Name: c.Name, Arguments: c.Arguments, Tokens: r.Tokens}
		} else {
			for _, c := range t.ToolCalls {
				r.ToolCalls = append(r.ToolCalls, eval.ReplyCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
			}
		}
		for _, c := range t.ToolCalls {
			if !json.Valid(c.Arguments) {
				return nil, nil, fmt.Errorf("step %d calls %s with arguments that are not JSON", t.Step, c.Name)
			}
			if result := resultOf(rec, &c); result != nil {
				results = append(results, *result)
			}
		}
		script = append(script, r)
	}
	if len(script) == 0 {
		return nil, nil, errors.New("no model was asked")
	}
	return script, results, nil
}

// resultOf returns the result of a call, or nil if it has none.
func resultOf(rec *trace.Recording, c *llm.ToolCall) *eval.ToolResult {
	r := rec.Result(c.ID)
	if r == nil {
		return nil
	}
	out := &eval.ToolResult{Name: c.Name, ArgsSubset: c.Arguments}
	switch data := r.Data; {
	case r.Status == awaken.ToolError:
		out.Error = r.Text()
	case len(data) > 0 && string(data) != "null" && r.Message == "" && len(r.Content) == 0:
		out.Result = data
	default:
		out.Result, _ = json.Marshal(r.Text())
	}
	return out
}

func modelOf(rec *trace.Recording) string {
	for i := range rec.Turns {
		if m := rec.Turns[i].Model; m != "" {
			return m
		}
	}
	return ""
}
