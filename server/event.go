package server

import (
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/sse"
	"github.com/awaken-go/awaken/protocol"
)

// events has the handlers of the events of threads and runs.
type events struct {
	streams *streams
}

func (h *events) routes() []protocol.Route {
	var out []protocol.Route
	for _, of := range []string{"thread", "run"} {
		path := "/v1/" + of + "s/{" + of + "_id}/events"
		out = append(out,
			protocol.Route{Method: "GET", Path: path, Access: protocol.Readers, Handle: own(h.list),
				Summary: "The " + of + "'s events", Query: []protocol.Param{cursorParam, pageParams[1]}, Headers: lastEventID, Replies: map[int]any{200: eventList{}},
				Failures: []int{410}},
			protocol.Route{Method: "GET", Path: path + "/stream", Access: protocol.Readers, Handle: own(h.stream),
				Summary: "Follow the " + of + "'s events", Query: []protocol.Param{cursorParam}, Headers: lastEventID, Replies: map[int]any{200: nil},
				Failures: []int{410}, Stream: true, EventSchema: "CanonicalEvent"})
	}
	return out
}

var (
	cursorParam = param("cursor", "string", "go on after this event; Last-Event-ID does the same")
	lastEventID = []protocol.Param{param("Last-Event-ID", "string", "go on after this event")}
)

type eventList struct {
	Items      []*canonicalEvent `json:"items"`
	NextCursor string            `json:"next_cursor,omitempty"`
	HasMore    bool              `json:"has_more"`
}

func (h *events) list(req *request) error {
	limit := req.number("limit", 50, 1, 200)
	t, runID, err := eventScopeOf(req)
	if err != nil {
		return err
	}
	after, err := startCursor(req, t, awaken.Cursor{})
	if err != nil {
		return err
	}
	out := eventList{Items: []*canonicalEvent{}}
	for e, err := range req.tenant.Log.Tail(req.ctx, t.ID, after, eventlog.Follow{RunID: runID, Committed: true}) {
		if err != nil {
			return err
		}
		if len(out.Items) == limit {
			out.HasMore = true
			break
		}
		ev, err := canonical(t.ID, &e)
		if err != nil {
			return err
		}
		out.Items = append(out.Items, ev)
		out.NextCursor = e.Cursor.String()
	}
	return req.Reply(200, out)
}

func (h *events) stream(req *request) error {
	t, runID, err := eventScopeOf(req)
	if err != nil {
		return err
	}
	after, err := startCursor(req, t, t.End)
	if err != nil {
		return err
	}
	frames := func(buf []byte, e *awaken.Entry) ([]byte, error) {
		ev, err := canonical(t.ID, e)
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(ev)
		if err != nil {
			return nil, err
		}
		return sse.AppendFrame(buf, e.Cursor.String(), "", data), nil
	}
	if runID != "" {
		return h.streams.run(req, t.ID, runID, after, frames)
	}
	return h.streams.thread(req, t.ID, after, frames)
}

// eventScopeOf is the thread, and the run if it is one, whose events are asked for.
func eventScopeOf(req *request) (*awaken.Thread, string, error) {
	if req.path("run_id") == "" {
		t, err := loadThread(req.ctx, req.tenant, req.path("thread_id"))
		return t, "", err
	}
	run, err := loadRun(req.ctx, req.tenant, req.path("run_id"))
	if err != nil {
		return nil, "", err
	}
	t, err := req.tenant.Store.Thread(req.ctx, run.ThreadID)
	return t, run.RunID, err
}

// startCursor reads where a client wants to go on: a parameter, or the header a browser
// sends. Without one it is def.
func startCursor(req *request, t *awaken.Thread, def awaken.Cursor) (awaken.Cursor, error) {
	text := req.value("cursor")
	if text == "" {
		text = req.r.Header.Get("Last-Event-ID")
	}
	if text == "" {
		return def, nil
	}
	at, err := awaken.ParseCursor(text)
	if err != nil {
		return at, protocol.BadRequest("invalid cursor: %q", text)
	}
	if at.Epoch > t.End.Epoch {
		return at, fail(410, "cursor_expired", "cursor %s is not of this log, which ends at %s", at, t.End)
	}
	return at, nil
}

// canonicalEvent is an event with all that is known about it.
type canonicalEvent struct {
	EventID        string          `json:"event_id"`
	Scopes         []eventScope    `json:"scopes"`
	CursorsByScope []scopeCursor   `json:"cursors_by_scope"`
	EventKind      string          `json:"event_kind"`
	Payload        json.RawMessage `json:"payload"`
	ThreadID       string          `json:"thread_id"`
	RunID          string          `json:"run_id,omitempty"`
	Origin         string          `json:"origin"`
	Visibility     string          `json:"visibility"`
	SchemaVersion  int             `json:"schema_version"`
	CreatedAt      int64           `json:"created_at"` // unix ms
}

type eventScope struct {
	ScopeType string `json:"scope_type"` // thread or run
	ThreadID  string `json:"thread_id,omitempty"`
	RunID     string `json:"run_id,omitempty"`
}

type scopeCursor struct {
	Scope  eventScope `json:"scope"`
	Cursor string     `json:"cursor"`
}

func canonical(threadID string, e *awaken.Entry) (*canonicalEvent, error) {
	payload, err := awaken.AppendEvent(nil, e.Event)
	if err != nil {
		return nil, err
	}
	at := e.Cursor.String()
	ofThread, ofRun := eventScope{ScopeType: "thread", ThreadID: threadID}, eventScope{ScopeType: "run", RunID: e.RunID}
	return &canonicalEvent{EventID: "evt_" + threadID + "_" + at, Scopes: []eventScope{ofThread, ofRun},
		CursorsByScope: []scopeCursor{{ofThread, at}, {ofRun, at}}, EventKind: kind(e.Event), Payload: payload, ThreadID: threadID, RunID: e.RunID,
		Origin: "runtime", Visibility: "public", SchemaVersion: 1, CreatedAt: e.Time}, nil
}

// kind is what an event is called in the log.
func kind(ev awaken.Event) string {
	switch ev := ev.(type) {
	case *awaken.RunStart:
		if ev.Identity != nil && ev.Identity.Mode == "resume" {
			return "RunResumed"
		}
		return "RunStarted"
	case *awaken.RunFinish:
		switch ev.Termination.Type {
		case awaken.Suspended:
			return "RunSuspended"
		case awaken.Cancelled:
			return "RunCancelled"
		case awaken.Failed:
			return "RunErrored"
		case awaken.NaturalEnd:
			return "RunFinished"
		}
		return "RunTerminated"
	case *awaken.TextDelta:
		return "TextDeltaObserved"
	case *awaken.ReasoningDelta:
		return "ReasoningDeltaObserved"
	case *awaken.ReasoningEncryptedValue:
		return "ReasoningEncryptedValueObserved"
	case *awaken.ToolCallStart:
		return "ToolCallStarted"
	case *awaken.ToolCallDelta:
		return "ToolCallDeltaObserved"
	case *awaken.ToolCallReady:
		return "ToolCallReady"
	case *awaken.ToolCallDone:
		if ev.Outcome == awaken.CallSuspended {
			return "ToolCallSuspended"
		}
		return "ToolCallDone"
	case *awaken.ToolCallStreamDelta:
		return "ToolCallStreamDeltaObserved"
	case *awaken.ToolCallResumed:
		return "ToolCallResumed"
	case *awaken.ToolCallCancel:
		return "ToolCallCancelled"
	case *awaken.StreamReset:
		return "StreamReset"
	case *awaken.StepStart:
		return "StepStarted"
	case *awaken.StepEnd:
		return "StepEnded"
	case *awaken.InferenceComplete:
		return "InferenceComplete"
	case *awaken.MessagesSnapshot:
		return "MessagesSnapshotObserved"
	case *awaken.ActivitySnapshot:
		return "ActivitySnapshotObserved"
	case *awaken.ActivityDelta:
		return "ActivityDeltaObserved"
	case *awaken.StateSnapshot:
		return "StateSnapshotObserved"
	case *awaken.StateDelta:
		return "StateDeltaObserved"
	}
	return "ErrorRecorded"
}
