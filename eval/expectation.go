package eval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Expectation lists the conditions for a run to pass. A field that is not set requires nothing.
type Expectation struct {
	FinalAnswerContains []string       `json:"final_answer_contains,omitempty"`
	FinalAnswerExcludes []string       `json:"final_answer_excludes,omitempty"`
	ToolSequence        []string       `json:"tool_sequence,omitempty"`
	ToolSequenceMode    SequenceMode   `json:"tool_sequence_mode,omitempty"` // the default is exact
	ForbiddenTools      []string       `json:"forbidden_tools,omitempty"`
	RequiredToolCalls   []RequiredCall `json:"required_tool_calls,omitempty"`
	MaxTokensTotal      *int           `json:"max_tokens_total,omitempty"`
	MaxDurationMS       *int64         `json:"max_duration_ms,omitempty"`
	MinJudgeScore       *float64       `json:"min_judge_score,omitempty"` // 0 to 1
	ExpectedErrorType   string         `json:"expected_error_type,omitempty"`
	// Scorers are further checks. The original has none.
	Scorers []Scorer `json:"scorers,omitempty"`
	// Rubric describes a good answer to the judge. It overrides the run's rubric.
	Rubric string `json:"rubric,omitempty"`
}

// SequenceMode is how the tools that a run called are compared with the expected tools.
type SequenceMode string

// The modes.
const (
	Exact             SequenceMode = "exact"          // these calls and no others
	OrderedSubsequent SequenceMode = "ordered_subseq" // these calls in this order, others between them
)

// RequiredCall is a call that a run has to make.
type RequiredCall struct {
	Name string `json:"name"`
	// ArgsSubset and ResultSubset are contained in the arguments and the result: objects member by member, at every depth.
	ArgsSubset   json.RawMessage `json:"args_subset,omitempty"`
	ResultSubset json.RawMessage `json:"result_subset,omitempty"`
	Count        *Count          `json:"count,omitempty"` // the default is at least one
}

// Count is a number of calls.
type Count struct {
	Op CountOp `json:"op"`
	N  int     `json:"n"`
}

// CountOp compares a number of calls with a Count.
type CountOp string

// The comparisons.
const (
	Exactly CountOp = "exactly"
	AtLeast CountOp = "at_least"
	AtMost  CountOp = "at_most"
)

func (c *Count) holds(n int) bool {
	switch {
	case c == nil:
		return n >= 1
	case c.Op == Exactly:
		return n == c.N
	case c.Op == AtMost:
		return n <= c.N
	}
	return n >= c.N
}

func (e *Expectation) validate() error {
	if m := e.ToolSequenceMode; m != "" && m != Exact && m != OrderedSubsequent {
		return fmt.Errorf("expect.tool_sequence_mode is %q; want %q or %q", m, Exact, OrderedSubsequent)
	}
	for i, c := range e.RequiredToolCalls {
		if c.Name == "" {
			return fmt.Errorf("expect.required_tool_calls[%d].name is empty; want the name of a tool", i)
		}
		if n := c.Count; n != nil && (n.N < 0 || n.Op != Exactly && n.Op != AtLeast && n.Op != AtMost) {
			return fmt.Errorf("expect.required_tool_calls[%d].count is %q %d; want %q, %q or %q and 0 or more", i, n.Op, n.N, Exactly, AtLeast, AtMost)
		}
	}
	if s := e.MinJudgeScore; s != nil && !(*s >= 0 && *s <= 1) {
		return fmt.Errorf("expect.min_judge_score is %g; want 0 to 1", *s)
	}
	if n := e.MaxTokensTotal; n != nil && *n < 0 {
		return fmt.Errorf("expect.max_tokens_total is %d; want 0 or more", *n)
	}
	if n := e.MaxDurationMS; n != nil && *n < 0 {
		return fmt.Errorf("expect.max_duration_ms is %d; want 0 or more", *n)
	}
	for i := range e.Scorers {
		if err := e.Scorers[i].Validate(); err != nil {
			return fmt.Errorf("expect.scorers[%d].%w", i, err)
		}
	}
	if e.ExpectedErrorType != "" {
		if _, err := errorKind(e.ExpectedErrorType); err != nil {
			return fmt.Errorf("expect.expected_%w", err)
		}
	}
	return nil
}

// Check returns the failed expectations, in the order of the fields. The judge's score is checked only if there is one: a report without it
// was not judged.
func (e *Expectation) Check(o *Observation) []Failure {
	var failures []Failure
	add := func(f Failure) { failures = append(failures, f) }
	if o.Runtime != nil {
		add(Failure{Kind: ReplayRuntimeFailure, Failure: o.Runtime})
	}
	for _, phrase := range e.FinalAnswerContains {
		if !strings.Contains(o.FinalText, phrase) {
			add(Failure{Kind: AnswerMissingPhrase, Phrase: phrase})
		}
	}
	for _, phrase := range e.FinalAnswerExcludes {
		if strings.Contains(o.FinalText, phrase) {
			add(Failure{Kind: AnswerContainsExcludedPhrase, Phrase: phrase})
		}
	}
	names := make([]string, len(o.Calls))
	for i, c := range o.Calls {
		names[i] = c.Name
	}
	if len(e.ToolSequence) > 0 && !e.sequence(names) {
		add(Failure{Kind: ToolSequenceMismatch, Expected: e.ToolSequence, Actual: names})
	}
	for _, tool := range e.ForbiddenTools {
		if slices.Contains(names, tool) {
			add(Failure{Kind: ForbiddenToolUsed, Tool: tool})
		}
	}
	for i := range e.RequiredToolCalls {
		want := &e.RequiredToolCalls[i]
		if n := want.among(o.Calls); !want.Count.holds(n) {
			add(Failure{Kind: RequiredToolCallNotSatisfied, Required: want, Matched: &n})
		}
	}
	if limit, n := e.MaxTokensTotal, o.InputTokens+o.OutputTokens; limit != nil && n > *limit {
		add(Failure{Kind: TokenBudgetExceeded, Limit: ref(float64(*limit)), Value: ref(float64(n))})
	}
	if limit := e.MaxDurationMS; limit != nil && o.DurationMS > *limit {
		add(Failure{Kind: DurationExceeded, Limit: ref(float64(*limit)), Value: ref(float64(o.DurationMS))})
	}
	if limit := e.MinJudgeScore; limit != nil && o.JudgeScore != nil && *o.JudgeScore < *limit {
		add(Failure{Kind: JudgeBelowThreshold, Limit: limit, Value: o.JudgeScore})
	}
	if want := e.ExpectedErrorType; want != "" {
		switch {
		case o.ErrorType == "":
			add(Failure{Kind: ExpectedErrorMissing, ErrorType: want})
		case fold(o.ErrorType) != fold(want):
			add(Failure{Kind: ErrorTypeMismatch, ErrorType: want, ActualErrorType: o.ErrorType})
		}
	}
	return failures
}

func (e *Expectation) sequence(names []string) bool {
	if e.ToolSequenceMode != OrderedSubsequent {
		return slices.Equal(e.ToolSequence, names)
	}
	rest := e.ToolSequence
	for _, name := range names {
		if len(rest) > 0 && rest[0] == name {
			rest = rest[1:]
		}
	}
	return len(rest) == 0
}

// among returns how many of calls are the one that is required.
func (c *RequiredCall) among(calls []Call) int {
	n := 0
	for i := range calls {
		if calls[i].Name == c.Name && contains(calls[i].Arguments, c.ArgsSubset) && contains(calls[i].Result, c.ResultSubset) {
			n++
		}
	}
	return n
}

func ref[T any](v T) *T { return &v }
