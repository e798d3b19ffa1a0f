package builtin

import (
	"strings"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// Compactions is the state of summarising a thread's conversation. Only the runtime writes it.
var Compactions = state.NewValue[CompactionState]("__context_compaction", state.Options{Scope: state.Thread})

// CompactionState is the state of summarising a conversation.
type CompactionState struct {
	Total      int                  `json:"total_compactions"`
	Boundaries []CompactionBoundary `json:"boundaries,omitempty"` // the latest, at most 8
	// InFlight is the current attempt, in this process or another. There is at most one.
	// It times out, so that an attempt lost in a crash does not block later ones.
	InFlight *CompactionTask `json:"in_flight,omitempty"`
	// Ended are the attempts that ended since a state_snapshot last showed the state: those of one step of one run. A replay reads from
	// them what became of each attempt, and where, so none is left out.
	Ended []CompactionEnd `json:"ended,omitempty"`

	Failures  int    `json:"failures,omitempty"` // in a row
	LastError string `json:"last_error,omitempty"`
	NotBefore int64  `json:"not_before_ms,omitempty" time:"ms"` // Unix ms; no attempt before that, after a failure
	// Skipped counts summaries that would have saved too little. The next attempt waits
	// until the part to summarise has grown to 1.5 times SkippedTokens.
	Skipped       int `json:"skipped,omitempty"`
	SkippedTokens int `json:"skipped_tokens,omitempty"`
}

// CompactionTask is an attempt to summarise.
type CompactionTask struct {
	TaskID            string `json:"task_id"`
	BoundaryMessageID string `json:"boundary_message_id"` // the last summarised message
	StartedAt         int64  `json:"started_at_ms" time:"ms"`

	FirstMessageID string `json:"first_message_id,omitempty"` // the first summarised message
	RunID          string `json:"run_id,omitempty"`           // the run that began the attempt
	Step           int    `json:"step,omitempty"`             // the step of that run, 0-based
	Overflow       bool   `json:"overflow,omitempty"`         // a request of that step was refused as too large
}

// CompactionEnd is an attempt to summarise that has ended.
type CompactionEnd struct {
	CompactionTask
	Outcome CompactionOutcome `json:"outcome"`
	EndedBy string            `json:"ended_by"`           // the run that recorded the end
	EndStep int               `json:"end_step,omitempty"` // the number of steps that this run had completed
	Point   CompactionPoint   `json:"point"`              // where it did

	MessageID  string    `json:"message_id,omitempty"` // of the summary
	Error      string    `json:"error,omitempty"`      // why there is none
	PreTokens  int       `json:"pre_tokens,omitempty"`
	PostTokens int       `json:"post_tokens,omitempty"`
	Usage      llm.Usage `json:"usage,omitzero"`
	CostUSD    float64   `json:"cost_usd,omitempty"`
	At         int64     `json:"timestamp_ms" time:"ms"`
}

// CompactionOutcome is what became of an attempt to summarise.
type CompactionOutcome string

const (
	CompactionSummary   CompactionOutcome = "summary"   // the summary replaced messages
	CompactionFailed    CompactionOutcome = "failed"    // there is none
	CompactionSkipped   CompactionOutcome = "skipped"   // it would have saved too little
	CompactionRewritten CompactionOutcome = "rewritten" // the conversation no longer has the summarised messages
	CompactionCancelled CompactionOutcome = "cancelled" // the run was cancelled, or its owner stopped
	CompactionLost      CompactionOutcome = "lost"      // there was no result in time, and another attempt began
	CompactionLate      CompactionOutcome = "late"      // the result of a lost attempt arrived: only its cost counted
)

// CompactionPoint is a place in a run where an attempt to summarise can end.
type CompactionPoint string

const (
	AtStep     CompactionPoint = "step"     // before a step
	AtOverflow CompactionPoint = "overflow" // after the model refused a request as too large
	AtBegin    CompactionPoint = "begin"    // when another attempt began
	AtHandoff  CompactionPoint = "handoff"
	AtYield    CompactionPoint = "yield" // when its owner stopped
	AtPark     CompactionPoint = "park"
	AtEnd      CompactionPoint = "end"
	AtOpen     CompactionPoint = "open"   // in the inbox, when an activation began
	AtInbox    CompactionPoint = "inbox"  // in the inbox, while the run was active
	AtUnread   CompactionPoint = "unread" // in the inbox, for which the store refused to end or park the run
)

// End records the end of the attempt in flight, or of one that was lost. It forgets the ends that a state_snapshot has shown: ends of other
// runs and of earlier steps.
func (s *CompactionState) End(e CompactionEnd) {
	kept := make([]CompactionEnd, 0, len(s.Ended)+1) // states share the list
	for _, o := range s.Ended {
		if o.EndedBy == e.EndedBy && o.EndStep >= e.EndStep {
			kept = append(kept, o)
		}
	}
	s.Ended = append(kept, e)
}

// CompactionLease is the time after which an attempt without a result counts as lost.
const CompactionLease = 5*time.Minute + 30*time.Second

// Lost reports whether the attempt counts as lost at a time, in Unix ms.
func (t *CompactionTask) Lost(now int64) bool {
	return now >= t.StartedAt+CompactionLease.Milliseconds()
}

// CompactionBoundary is a summary that became part of the conversation.
type CompactionBoundary struct {
	MessageID         string `json:"message_id"` // of the summary
	BoundaryMessageID string `json:"boundary_message_id"`
	PreTokens         int    `json:"pre_tokens"`
	PostTokens        int    `json:"post_tokens"`
	At                int64  `json:"timestamp_ms" time:"ms"`
}

// ContextWindow is the size of a thread's conversation in its model's context window. Agents
// with a context policy have this key. Only the runtime writes it.
var ContextWindow = state.NewValue[WindowState]("__runtime.context_window", state.Options{Scope: state.Thread})

// WindowState holds the size of a conversation, and how the model's token counts differ from
// estimates. Tokens are estimates by llm.Message.Tokens.
type WindowState struct {
	Messages      int    `json:"messages"`                  // number of messages counted so far
	LastMessageID string `json:"last_message_id,omitempty"` // the last of them
	Tokens        int    `json:"tokens"`                    // of them, as shown to the model
	Previews      int    `json:"previews,omitempty"`        // number of tool results that are shortened
	LeftOut       int    `json:"left_out,omitempty"`        // number of messages that the last request left out

	Model string `json:"model,omitempty"` // model of the last request
	// Ratio is the number of tokens that the model counts per estimated token.
	Ratio float64 `json:"ratio,omitempty"`
	// Limit is the largest estimate that a request may have, learned from a request that
	// the provider rejected as too large. 0 means that none was.
	Limit int `json:"limit,omitempty"`
}

const summaryOpen, summaryClose = "<conversation-summary>\n", "\n</conversation-summary>"

// NewSummary makes the message that replaces the messages that text summarises.
func NewSummary(text string) *llm.Message {
	return &llm.Message{Role: llm.System, Visibility: llm.Internal, Content: []llm.Block{llm.Text(summaryOpen + text + summaryClose)}}
}

// SummaryText returns the text of a message that NewSummary made.
func SummaryText(m *llm.Message) string {
	return strings.TrimSuffix(strings.TrimPrefix(m.Text(), summaryOpen), summaryClose)
}
