package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
)

// Output decodes the answer of a run into a T. The zero value is ready for use:
//
//	var weather engine.Output[Weather]
//	res, err := rt.Run(ctx, awaken.RunRequest{OutputSchema: weather.Schema(), …}, nil)
//	…
//	w, err := weather.Decode(res)
//
// The schema is inferred like that of a tool's arguments: `json` tags name the properties,
// `jsonschema` tags describe and constrain them; see awaken.NewTool.
type Output[T any] struct{}

// Schema returns the JSON Schema of T, for RunRequest.OutputSchema or AgentSpec.OutputSchema. It
// panics if T has none, which is a programming error.
func (Output[T]) Schema() json.RawMessage {
	raw, err := schema.For(reflect.TypeFor[T]())
	if err != nil {
		panic(fmt.Sprintf("awaken: no schema for %v: %v", reflect.TypeFor[T](), err))
	}
	return raw
}

// Decode returns the run's answer. It fails with ErrNotFound if res is nil or has no structured
// output, because the run did not reach its natural end or had no output schema.
func (Output[T]) Decode(res *awaken.RunResult) (T, error) {
	var v T
	if res == nil {
		return v, fmt.Errorf("output: %w: the result is nil", awaken.ErrNotFound)
	}
	if len(res.StructuredOutput) == 0 {
		return v, fmt.Errorf("output of run %s: %w: the run ended with %s", res.RunID, awaken.ErrNotFound, res.Termination)
	}
	if err := json.Unmarshal(res.StructuredOutput, &v); err != nil {
		return v, fmt.Errorf("output of run %s: %w", res.RunID, err)
	}
	return v, nil
}

// OutputError reports that the model's answer did not match the schema in any attempt. The run
// fails with it.
type OutputError struct {
	Attempts int    // answers that the model gave; see AgentSpec.MaxOutputRepairs
	Answer   string // of the last attempt
	Err      error  // the mismatch
}

// Error says how many attempts were made and what was wrong with the last.
func (e *OutputError) Error() string {
	return fmt.Sprintf("the answer does not fit the output schema after %d attempts: %s", e.Attempts, oneLine(e.Err))
}

// Unwrap returns the mismatch of the last answer.
func (e *OutputError) Unwrap() error { return e.Err }

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// finalOutput checks the answer of a run against a schema.
type finalOutput struct {
	*core

	plan       *registry.OutputPlan // nil if there is no schema
	structured json.RawMessage      // the answer that matches
}

// finishes reports whether a call gives the final answer.
func (fo *finalOutput) finishes(c *call) bool {
	return fo.plan != nil && c.entry != nil && c.entry == fo.plan.Finish
}

// takeAnswer checks an answer given by a call. An answer that matches ends the run when the other
// calls of the step are over.
func (fo *finalOutput) takeAnswer(c *call) (*awaken.ToolResult, *end) {
	if _, err := fo.plan.Given(c.state.Arguments); err != nil {
		e := fo.misfit(string(c.state.Arguments), err)
		return awaken.ErrorResult("invalid_output", fmt.Sprintf("the answer does not fit: %s. Call %s again with an answer that does.", oneLine(err), awaken.FinalOutputTool)), e
	}
	return awaken.TextResult("The answer was taken."), nil
}

// misfit counts an answer that does not match, and fails the run if there were too many.
func (fo *finalOutput) misfit(answer string, err error) *end {
	if fo.rec.OutputRepairs >= fo.agent.Spec.OutputRepairs() {
		return fo.fail(&OutputError{Attempts: fo.rec.OutputRepairs + 1, Answer: answer, Err: err})
	}
	fo.rec.OutputRepairs++
	return nil
}

// given reports whether a call of the step gives an answer that matches. Other calls of the step
// may still be open.
func (fo *finalOutput) given() bool {
	for _, c := range fo.ledger.calls {
		if fo.finishes(c) {
			if _, err := fo.plan.Given(c.state.Arguments); err == nil {
				return true
			}
		}
	}
	return false
}

// answered is the end of a run whose answer was given by a call, or nil.
func (fo *finalOutput) answered() *end {
	for _, c := range fo.ledger.calls {
		if c.state.Status != awaken.CallSucceeded || !fo.finishes(c) {
			continue
		}
		if v, err := fo.plan.Given(c.state.Arguments); err == nil {
			fo.structured, fo.step.response = v, string(v)
			return &end{Termination: awaken.Termination{Type: awaken.NaturalEnd}}
		}
	}
	return nil
}

// checkText checks an answer given as text. It returns nil if the model is to try again, after a
// message that says what is wrong.
func (fo *finalOutput) checkText(text string) *end {
	v, err := fo.plan.Said(text)
	if err == nil {
		fo.structured = v
		return fo.naturalEnd()
	}
	if e := fo.misfit(text, err); e != nil {
		return e
	}
	how := "Answer again with JSON that does, and nothing else."
	if fo.plan.Finish != nil {
		how = "Call the tool " + awaken.FinalOutputTool + " with an answer that does."
	}
	fo.askAgain("Your answer does not fit its JSON Schema: %s. %s", oneLine(err), how)
	return nil
}

// askAgain tells the model what is wrong with its answer.
func (fo *finalOutput) askAgain(format string, args ...any) {
	fo.conv.add(&llm.Message{ID: fo.rt.cfg.NewID(), Role: llm.User, Visibility: llm.Internal, Metadata: fo.metadata(), Content: []llm.Block{llm.Text(fmt.Sprintf(format, args...))}})
}

// checkWords asks the plugins whether an answer is right. It returns nil if the model is to try again, after a message
// that says what is wrong.
func (fo *finalOutput) checkWords(ctx context.Context, text string) *end {
	for _, check := range fo.agent.Answers {
		wrong, err := bounded(ctx, &fo.activation, func(context.Context) (wrong, err error) {
			defer caught(&err, "check of an answer")
			return check(text), nil
		}, "check of an answer")
		switch {
		case err != nil:
			return fo.fail(err)
		case wrong == nil:
			continue
		case fo.rec.OutputRepairs >= fo.agent.Spec.OutputRepairs() || fo.step.index+1 == fo.agent.Spec.Rounds():
			fo.warn("answer_invalid", "the answer of step %d is not right: %s", fo.step.index+1, oneLine(wrong))
			return fo.naturalEnd()
		}
		fo.rec.OutputRepairs++
		fo.askAgain("Your answer is not right: %s. Answer again, with the whole answer and nothing else.", oneLine(wrong))
		return nil
	}
	return fo.naturalEnd()
}
