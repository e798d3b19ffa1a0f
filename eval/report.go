package eval

import "encoding/json"

// Observation records what a run of a case did.
type Observation struct {
	FinalText       string
	Calls           []Call // in the order in which they were made
	Inferences      int
	InferenceErrors int
	Steps           int
	InputTokens     int
	OutputTokens    int
	DurationMS      int64
	CostUSD         *float64
	ErrorType       string // how the run failed; empty if it did not
	Runtime         *RuntimeFailure
	JudgeScore      *float64
	JudgeReasoning  string
	Revisions       int // how often the agent was asked again because of the judge
	// JudgeRevision identifies the judge: its model, its instructions and its rubric.
	JudgeRevision string
	Live          bool // a model answered, not the script of the case
	// TraceRunID is the run whose trace is kept; "" if none is.
	TraceRunID string
	// Functions are the functions for scorers of kind func, by name.
	Functions map[string]ScoreFunc
}

// Call is a tool call of a run.
type Call struct {
	Agent     string
	Name      string
	Arguments json.RawMessage
	Result    json.RawMessage
	Failed    bool
}

// Failure is one failed expectation. The fields that apply to its kind are set: the phrase, the tool, the limit or the value.
type Failure struct {
	Kind            FailureKind     `json:"kind"`
	Phrase          string          `json:"phrase,omitempty"`
	Tool            string          `json:"tool,omitempty"`
	Expected        []string        `json:"expected,omitempty"`
	Actual          []string        `json:"actual,omitempty"`
	Required        *RequiredCall   `json:"required,omitempty"`
	Matched         *int            `json:"matched,omitempty"`
	Limit           *float64        `json:"limit,omitempty"`
	Value           *float64        `json:"value,omitempty"`
	ErrorType       string          `json:"error_type,omitempty"`
	ActualErrorType string          `json:"actual_error_type,omitempty"`
	Failure         *RuntimeFailure `json:"failure,omitempty"`
	Scorer          string          `json:"scorer,omitempty"` // that the run did not pass
	Reason          string          `json:"reason,omitempty"` // why
}

// FailureKind names a failure.
type FailureKind string

// The kinds of failures.
const (
	AnswerMissingPhrase          FailureKind = "answer_missing_phrase"
	AnswerContainsExcludedPhrase FailureKind = "answer_contains_excluded_phrase"
	ToolSequenceMismatch         FailureKind = "tool_sequence_mismatch"
	ForbiddenToolUsed            FailureKind = "forbidden_tool_used"
	RequiredToolCallNotSatisfied FailureKind = "required_tool_call_not_satisfied"
	TokenBudgetExceeded          FailureKind = "token_budget_exceeded"
	DurationExceeded             FailureKind = "duration_exceeded"
	JudgeBelowThreshold          FailureKind = "judge_below_threshold"
	ExpectedErrorMissing         FailureKind = "expected_error_missing"
	ErrorTypeMismatch            FailureKind = "error_type_mismatch"
	ReplayRuntimeFailure         FailureKind = "replay_runtime_failure"
	ScorerFailed                 FailureKind = "scorer_failed" // which the original does not have
)

// RuntimeFailure reports that a case could not be run as written.
type RuntimeFailure struct {
	Kind    RuntimeFailureKind `json:"kind"`
	Message string             `json:"message,omitempty"`
}

// RuntimeFailureKind names a runtime failure.
type RuntimeFailureKind string

// The kinds of runtime failures.
const (
	ScriptExhausted      RuntimeFailureKind = "script_exhausted"       // the agent asked more often than the script answers
	ProviderScriptUnused RuntimeFailureKind = "provider_script_unused" // the run ended before its script
	RuntimeError         RuntimeFailureKind = "runtime_error"          // the run failed otherwise
)

// Report is the result of one case.
type Report struct {
	FixtureID           string                    `json:"fixture_id"`
	Passed              bool                      `json:"passed"`
	Failures            []Failure                 `json:"failures"`
	FinalText           string                    `json:"final_text"`
	InferenceCount      int                       `json:"inference_count"`
	ToolCount           int                       `json:"tool_count"`
	ToolFailures        int                       `json:"tool_failures"`
	TotalInputTokens    int                       `json:"total_input_tokens"`
	TotalOutputTokens   int                       `json:"total_output_tokens"`
	TotalTokens         int                       `json:"total_tokens"`
	SessionDurationMS   int64                     `json:"session_duration_ms"`
	ToolCallsByAgent    map[string]map[string]int `json:"tool_calls_by_agent,omitempty"`
	ErrorType           string                    `json:"error_type,omitempty"`
	InferenceErrorCount int                       `json:"inference_error_count,omitempty"`
	RuntimeFailure      *RuntimeFailure           `json:"runtime_failure,omitempty"`
	CostUSD             *float64                  `json:"cost_usd,omitempty"`
	RevisionCount       int                       `json:"revision_count,omitempty"`
	JudgeScore          *float64                  `json:"judge_score,omitempty"`
	JudgeReasoning      string                    `json:"judge_reasoning,omitempty"`
	JudgeRevision       string                    `json:"judge_revision,omitempty"`
	Scores              []Score                   `json:"scores,omitempty"`
	Live                bool                      `json:"live,omitempty"` // a model answered, not the script of the case
}

// NewReport checks the observation of a run against the expectation of its case. A failed run passes only if its error is expected.
func NewReport(f *Fixture, o *Observation) *Report {
	r := &Report{
		FixtureID:           f.ID,
		Failures:            f.Expect.Check(o),
		FinalText:           o.FinalText,
		InferenceCount:      o.Inferences,
		ToolCount:           len(o.Calls),
		TotalInputTokens:    o.InputTokens,
		TotalOutputTokens:   o.OutputTokens,
		TotalTokens:         o.InputTokens + o.OutputTokens,
		SessionDurationMS:   o.DurationMS,
		ErrorType:           o.ErrorType,
		InferenceErrorCount: o.InferenceErrors,
		RuntimeFailure:      o.Runtime,
		CostUSD:             o.CostUSD,
		RevisionCount:       o.Revisions,
		JudgeScore:          o.JudgeScore,
		JudgeReasoning:      o.JudgeReasoning,
		JudgeRevision:       o.JudgeRevision,
		Live:                o.Live,
	}
	for i := range f.Expect.Scorers {
		score := f.Expect.Scorers[i].Score(f, o, o.Functions)
		if r.Scores = append(r.Scores, score); !score.Passed {
			r.Failures = append(r.Failures, Failure{Kind: ScorerFailed, Scorer: score.Scorer, Reason: score.Reason})
		}
	}
	for _, c := range o.Calls {
		if c.Failed {
			r.ToolFailures++
		}
		if r.ToolCallsByAgent == nil {
			r.ToolCallsByAgent = map[string]map[string]int{}
		}
		if r.ToolCallsByAgent[c.Agent] == nil {
			r.ToolCallsByAgent[c.Agent] = map[string]int{}
		}
		r.ToolCallsByAgent[c.Agent][c.Name]++
	}
	if o.ErrorType != "" && f.Expect.ExpectedErrorType == "" && o.Runtime == nil {
		r.RuntimeFailure = &RuntimeFailure{Kind: RuntimeError, Message: o.ErrorType}
		r.Failures = append(r.Failures, Failure{Kind: ReplayRuntimeFailure, Failure: r.RuntimeFailure})
	}
	if r.Failures == nil {
		r.Failures = []Failure{}
	}
	r.Passed = len(r.Failures) == 0
	return r
}
