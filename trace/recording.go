package trace

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/trace/body"
)

// Source is the part of a store that recordings are read from.
type Source interface {
	awaken.RunStore
	awaken.EventLog
	// Messages returns records of the message log, ordered by Seq.
	Messages(ctx context.Context, threadID string, q awaken.MessageQuery) ([]awaken.MessageRecord, error)
}

// Recording is the complete record of a run. It must not be modified.
type Recording struct {
	Run *awaken.Run
	// Before is the log of the thread before the run's input. It is empty unless [Recorder.Before] is set.
	Before []*llm.Message
	// State is the last state, by key, of the previous run on the thread. It is nil unless [Recorder.Before] is set.
	State map[string]json.RawMessage
	// Input are the messages that the run started with.
	Input []*llm.Message
	// Messages are the log records after the input, up to the last record of the run: answers, results, and messages that arrived while it
	// ran.
	Messages []awaken.MessageRecord
	// Turns are the answers of models, one for each step.
	Turns []Turn
	// Calls is the ledger, ordered by step and index.
	Calls []*awaken.CallState
	// Decisions are the decisions of people about calls, in the order they were accepted.
	Decisions []awaken.Decision
	// Events are the events of the run as clients received them.
	Events []awaken.Entry
	// Children are the runs that this run started, oldest first.
	Children []*Recording
	// Evaluations are the scores that the run got after it had ended. A [Recorder] does not read them.
	Evaluations []Evaluation
	// Requests are the stored requests to models, word for word; see [Recorder.Bodies] and package trace/body.
	Requests []*body.Record
	// Agent is the agent in the run's registry version, if the caller has set it.
	Agent *awaken.AgentSpec
}

// Record reads a run and its descendants. It returns ErrNotFound if the run does not exist.
func Record(ctx context.Context, from Source, runID string) (*Recording, error) {
	return (&Recorder{Source: from}).Record(ctx, runID)
}

// Recorder reads recordings.
type Recorder struct {
	Source
	// Before includes the log of the thread before the run, and the state.
	Before bool
	// Alone omits the children.
	Alone bool
	// Bodies includes the stored requests.
	Bodies bool
}

// maxDepth bounds how deep a recording is read. The engine allows far fewer generations.
const maxDepth = 64

// Record reads a run. It returns ErrNotFound if the run does not exist.
func (r *Recorder) Record(ctx context.Context, runID string) (*Recording, error) {
	run, err := r.LoadRun(ctx, runID)
	if err != nil {
		return nil, err
	}
	return r.read(ctx, run, 0)
}

func (r *Recorder) read(ctx context.Context, run *awaken.Run, depth int) (*Recording, error) {
	rec := &Recording{Run: run}
	if run.StartedAt == 0 {
		return rec, nil // accepted, or ended before it started
	}
	if err := r.readMessages(ctx, rec); err != nil {
		return nil, err
	}
	if err := r.readState(ctx, rec); err != nil {
		return nil, err
	}
	var err error
	if rec.Calls, err = r.Calls(ctx, run.RunID); err != nil {
		return nil, err
	}
	rec.Decisions = decisions(rec.Calls)
	if rec.Events, err = r.readEvents(ctx, run); err != nil {
		return nil, err
	}
	rec.Turns = turns(rec)
	if r.Bodies {
		if rec.Requests, err = body.Read(ctx, r.Source, run.ThreadID, run.RunID); err != nil {
			return nil, err
		}
	}
	if r.Alone || depth == maxDepth {
		return rec, nil
	}
	list := func(ctx context.Context, offset, limit int) ([]*awaken.Run, error) {
		return r.ListRuns(ctx, awaken.RunQuery{ParentRunID: run.RunID, Offset: offset, Limit: limit})
	}
	for child, err := range awaken.Pages(ctx, 100, list) {
		if err != nil {
			return nil, err
		}
		if child.RunID == run.RunID {
			return nil, fmt.Errorf("run %s is its own parent", run.RunID)
		}
		c, err := r.read(ctx, child, depth+1)
		if err != nil {
			return nil, err
		}
		rec.Children = append(rec.Children, c)
	}
	slices.Reverse(rec.Children) // stores list the newest first
	return rec, nil
}

// readMessages reads the log around the run.
func (r *Recorder) readMessages(ctx context.Context, rec *Recording) error {
	first, last := rec.Run.Input.FromSeq, logEnd(rec.Run)
	if first == 0 {
		first = rec.Run.Output.FromSeq
	}
	if first == 0 { // no input and no output
		return nil
	}
	q := awaken.MessageQuery{After: first - 1, Before: last + 1}
	if r.Before {
		q.After = 0
	}
	records, err := r.Source.Messages(ctx, rec.Run.ThreadID, q)
	if err != nil {
		return err
	}
	for _, m := range records {
		switch {
		case m.Seq < first:
			rec.Before = append(rec.Before, m.Message)
		case m.Seq <= rec.Run.Input.ToSeq:
			rec.Input = append(rec.Input, m.Message)
		default:
			rec.Messages = append(rec.Messages, m)
		}
	}
	return nil
}

// atOnce is how many entries are read at once.
const atOnce = 1000

// readState reads the last state of the previous run: the run whose log records end last before the records of this run.
func (r *Recorder) readState(ctx context.Context, rec *Recording) error {
	if len(rec.Before) == 0 {
		return nil
	}
	list := func(ctx context.Context, offset, limit int) ([]*awaken.Run, error) {
		return r.ListRuns(ctx, awaken.RunQuery{ThreadID: rec.Run.ThreadID, Offset: offset, Limit: limit})
	}
	var last *awaken.Run
	for run, err := range awaken.Pages(ctx, 100, list) {
		if err != nil {
			return err
		}
		if end := logEnd(run); end > 0 && end <= len(rec.Before) && (last == nil || end > logEnd(last)) {
			last = run
		}
	}
	if last == nil {
		return nil
	}
	events, err := r.readEvents(ctx, last)
	if err != nil {
		return err
	}
	for i := range slices.Backward(events) {
		snapshot, ok := events[i].Event.(*awaken.StateSnapshot)
		if !ok {
			continue
		}
		data, err := snapshot.Snapshot.MarshalJSON()
		if err != nil {
			return err
		}
		var shown struct {
			Extensions map[string]json.RawMessage `json:"extensions"`
		}
		err = json.Unmarshal(data, &shown)
		rec.State = shown.Extensions
		return err
	}
	return nil
}

// logEnd returns the number of the last record of a run in the log, or 0.
func logEnd(run *awaken.Run) int { return max(run.Input.ToSeq, run.Output.ToSeq) }

// readEvents returns the events of a run, with coalesced deltas as they were received.
func (r *Recorder) readEvents(ctx context.Context, run *awaken.Run) (events []awaken.Entry, err error) {
	for q := (awaken.EntryQuery{RunID: run.RunID, Limit: atOnce}); ; {
		entries, err := r.Entries(ctx, run.ThreadID, q)
		if err != nil {
			return nil, err
		}
		for i := range entries {
			events = append(events, entries[i].Split()...)
			q.After = max(q.After, entries[i].Seq) // a coalesced entry may reach beyond those behind it
		}
		if len(entries) < q.Limit {
			break
		}
	}
	slices.SortStableFunc(events, func(a, b awaken.Entry) int {
		switch {
		case a.Before(b.Cursor):
			return -1
		case b.Before(a.Cursor):
			return 1
		}
		return 0
	})
	return slices.CompactFunc(events, func(a, b awaken.Entry) bool { return a.Cursor == b.Cursor }), nil // read twice at the border of two pages
}

// decisions returns the decisions in a ledger, in the order in which they were accepted.
func decisions(calls []*awaken.CallState) []awaken.Decision {
	var out []awaken.Decision
	for _, c := range calls {
		out = append(out, c.Earlier...)
		if c.Decision != nil {
			out = append(out, *c.Decision)
		}
	}
	slices.SortStableFunc(out, func(a, b awaken.Decision) int { return int(a.UpdatedAt - b.UpdatedAt) })
	return out
}

// Result returns the result of a call, or nil if it has none.
func (rec *Recording) Result(callID string) *awaken.ToolResult {
	for _, c := range rec.Calls {
		if c.CallID == callID {
			return c.Result
		}
	}
	return nil
}

// UserText returns the text of the user's messages in the input, joined by blank lines.
func (rec *Recording) UserText() string {
	text := ""
	for _, m := range rec.Input {
		if m.Role != llm.User || m.IsInternal() || m.Text() == "" {
			continue
		}
		if text != "" {
			text += "\n\n"
		}
		text += m.Text()
	}
	return text
}
