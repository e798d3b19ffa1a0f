package deliver

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/llm"
)

// RunKind is the [webhook.State] kind of hooks that were created for endpoints. Their messages are RunEvents.
const RunKind = "run"

var RunEvents = Kind{ContentType: "application/json", Messages: runMessages, GiveUp: 3 * 24 * time.Hour}

// RunEvent is a message to an endpoint.
type RunEvent struct {
	Type      webhook.Event `json:"type"`
	Timestamp time.Time     `json:"timestamp"` // when it happened
	Data      RunData       `json:"data"`
}

// RunData describes a run in a [RunEvent].
type RunData struct {
	RunID       string           `json:"run_id"`
	ThreadID    string           `json:"thread_id"`
	AgentID     string           `json:"agent_id"` // the agent that the run started with
	UserID      string           `json:"user_id,omitempty"`
	ParentRunID string           `json:"parent_run_id,omitempty"`
	Status      awaken.RunStatus `json:"status"`
	// Termination says why a finished run has ended, and Waiting what a waiting run waits for.
	Termination *awaken.Termination `json:"termination,omitempty"`
	Waiting     *awaken.Waiting     `json:"waiting,omitempty"`
	// Response is the last answer of a run that waits or has finished. If Truncated is set, it is only the beginning of the answer.
	Response  string          `json:"response,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	Output    json.RawMessage `json:"structured_output,omitempty"`
	Usage     *llm.Usage      `json:"usage,omitempty"`
	CostUSD   float64         `json:"cost_usd,omitempty"`
}

// maxResponse is the maximum size of Response, in bytes.
const maxResponse = 64 << 10

// runMessages returns the messages about a run for an endpoint.
func runMessages(h *webhook.Hook, run *awaken.Run, entries []awaken.Entry) (out [][]byte, err error) {
	base := RunData{RunID: run.RunID, ThreadID: run.ThreadID, AgentID: cmp.Or(run.FirstAgentID, run.AgentID), UserID: run.UserID, ParentRunID: run.ParentRunID}
	add := func(kind webhook.Event, at int64, d RunData) {
		if err != nil || len(h.Events) > 0 && !slices.Contains(h.Events, kind) {
			return
		}
		var data []byte
		data, err = json.Marshal(RunEvent{Type: kind, Timestamp: time.UnixMilli(at).UTC(), Data: d})
		out = append(out, data)
	}
	var started, waiting, finished bool
	for i := range entries {
		e := &entries[i]
		d := base
		switch ev := e.Event.(type) {
		case *awaken.RunStart:
			d.Status = awaken.RunRunning
			if !started {
				add(webhook.RunStarted, e.Time, d)
			} else if waiting {
				add(webhook.RunResumed, e.Time, d)
			}
			started, waiting = true, false
		case *awaken.RunFinish:
			d.fill(ev.Result)
			if ev.Termination.Type == awaken.Suspended {
				d.Status, waiting = awaken.RunWaiting, true
				add(webhook.RunWaiting, e.Time, d)
				continue
			}
			d.Status, d.Termination, d.Waiting, finished = awaken.RunDone, &ev.Termination, nil, true
			add(webhook.RunFinished, e.Time, d)
		}
	}
	if run.Status == awaken.RunDone && !finished { // it never began, or ended while it waited
		base.Status, base.Termination = awaken.RunDone, &run.Termination
		add(webhook.RunFinished, run.FinishedAt, base)
	}
	return out, err
}

// fill fills in the output of a run.
func (d *RunData) fill(r *awaken.RunOutput) {
	if r == nil {
		return
	}
	d.Response, d.Output, d.CostUSD, d.Waiting, d.Usage = r.Response, r.StructuredOutput, r.CostUSD, r.Waiting, &r.Usage
	if n := maxResponse; len(d.Response) > n {
		for n > 0 && !utf8.RuneStart(d.Response[n]) {
			n--
		}
		d.Response, d.Truncated = d.Response[:n], true
	}
}
