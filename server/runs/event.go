package runs

import (
	"cmp"
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// events has the handlers of the events of threads and runs.
type events struct {
	streams *server.Streams
}

func (h *events) routes() []protocol.Route {
	var out []protocol.Route
	for _, of := range []string{"thread", "run"} {
		path := "/v1/" + of + "s/{" + of + "_id}/events"
		out = append(out,
			protocol.Route{Method: "GET", Path: path, Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: server.Handle(h.list),
				Summary: "List the " + of + "'s events", Query: []protocol.Param{cursorParam, server.PageParams[1]}, Headers: lastEventID, Replies: map[int]any{200: eventList{}},
				Failures: []int{410}},
			protocol.Route{Method: "GET", Path: path + "/stream", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: server.Handle(h.stream),
				Summary: "Stream the " + of + "'s events", Query: []protocol.Param{cursorParam}, Headers: lastEventID, Replies: map[int]any{200: nil},
				Failures: []int{410}, Stream: true, Events: "#CanonicalEvent"})
	}
	return out
}

var (
	cursorParam = server.Param("cursor", "string", "resume after this event; same as Last-Event-ID")
	lastEventID = []protocol.Param{server.Param("Last-Event-ID", "string", "resume after this event")}
)

type eventList struct {
	Items      []*canonicalEvent `json:"items"`
	NextCursor string            `json:"next_cursor,omitempty"`
	HasMore    bool              `json:"has_more"`
}

func (h *events) list(req *server.Request) error {
	limit := req.Number("limit", 50, 1, 200)
	t, runID, err := eventScopeOf(req)
	if err != nil {
		return err
	}
	after, err := startCursor(req, t, awaken.Cursor{})
	if err != nil {
		return err
	}
	out := eventList{Items: []*canonicalEvent{}}
	for e, err := range req.Tenant().Log.Tail(req.Context(), t.ID, after, eventlog.Follow{RunID: runID, Committed: true}) {
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

func (h *events) stream(req *server.Request) error {
	t, runID, err := eventScopeOf(req)
	if err != nil {
		return err
	}
	after, err := startCursor(req, t, t.End)
	if err != nil {
		return err
	}
	return h.streams.Follow(req, t.ID, runID, after, false, server.NewFormat("canonical", canonicalFrames(t.ID)))
}

// canonicalFrames returns a framing of a thread's entries as canonical events, with their cursors as ids.
// The data is that of json.Marshal.
func canonicalFrames(threadID string) server.Framing {
	quoted := string(appendjson.String(nil, threadID))
	id := quoted[1 : len(quoted)-1]
	thread := `{"scope_type":"thread","thread_id":"` + id + `"}`
	return func(buf []byte, e *awaken.Entry) ([]byte, error) {
		run := func() {
			buf = append(appendjson.TextIf(append(buf, `{"scope_type":"run"`...), `,"run_id":`, e.RunID), '}')
		}
		buf = server.AppendCursor(append(buf, "id: "...), e.Cursor)
		buf = append(append(append(buf, "\ndata: {\"event_id\":\"evt_"...), id...), '_')
		buf = append(append(server.AppendCursor(buf, e.Cursor), `","scopes":[`...), thread...)
		buf = append(buf, ',')
		run()
		buf = append(append(buf, `],"cursors_by_scope":[{"scope":`...), thread...)
		buf = append(server.AppendCursor(append(buf, `,"cursor":"`...), e.Cursor), `"},{"scope":`...)
		run()
		buf = append(server.AppendCursor(append(buf, `,"cursor":"`...), e.Cursor), `"}]`...)
		buf = append(appendjson.Text(buf, `,"event_kind":`, kind(e.Event)), `,"payload":`...)
		buf, err := awaken.AppendEvent(buf, e.Event)
		if err != nil {
			return nil, err
		}
		buf = append(append(append(buf, `,"thread_id":"`...), id...), '"')
		buf = appendjson.TextIf(buf, `,"run_id":`, e.RunID)
		buf = appendjson.Int(append(buf, `,"origin":"runtime","visibility":"public","schema_version":1`...), `,"created_at":`, e.Time)
		return append(buf, "}\n\n"...), nil
	}
}

// eventScopeOf returns the thread, and the run if the path names one, whose events are requested.
func eventScopeOf(req *server.Request) (*awaken.Thread, string, error) {
	if req.Path("run_id") == "" {
		t, err := req.Thread()
		return t, "", err
	}
	run, err := req.Run()
	if err != nil {
		return nil, "", err
	}
	t, err := req.Tenant().Store.Thread(req.Context(), run.ThreadID)
	return t, run.RunID, err
}

// startCursor returns the position after which the client wants events, from the parameter or from
// the header that browsers send. Without either it is def.
func startCursor(req *server.Request, t *awaken.Thread, def awaken.Cursor) (awaken.Cursor, error) {
	text := cmp.Or(req.Value("cursor"), req.HTTP().Header.Get("Last-Event-ID"))
	if text == "" {
		return def, nil
	}
	at, err := awaken.ParseCursor(text)
	if err != nil {
		return at, protocol.BadRequest("cursor is %.80q, want epoch-seq, such as 1-42", text)
	}
	if at.Epoch > t.End.Epoch {
		return at, server.Fail(410, "cursor_expired", "cursor %s is not of this log, which ends at %s", at, t.End)
	}
	return at, nil
}

// canonicalEvent is an event with its scopes, cursors and origin.
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
	CreatedAt      int64           `json:"created_at"` // Unix ms
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

// eventKinds maps the type of an event to its kind in canonical events.
var eventKinds = map[string]string{
	"run_start":                 "RunStarted",
	"run_finish":                "RunTerminated",
	"text_delta":                "TextDeltaObserved",
	"reasoning_delta":           "ReasoningDeltaObserved",
	"reasoning_encrypted_value": "ReasoningEncryptedValueObserved",
	"tool_call_start":           "ToolCallStarted",
	"tool_call_delta":           "ToolCallDeltaObserved",
	"tool_call_ready":           "ToolCallReady",
	"tool_call_done":            "ToolCallDone",
	"tool_call_stream_delta":    "ToolCallStreamDeltaObserved",
	"tool_call_resumed":         "ToolCallResumed",
	"tool_call_cancel":          "ToolCallCancelled",
	"stream_reset":              "StreamReset",
	"step_start":                "StepStarted",
	"step_end":                  "StepEnded",
	"inference_complete":        "InferenceComplete",
	"messages_snapshot":         "MessagesSnapshotObserved",
	"activity_snapshot":         "ActivitySnapshotObserved",
	"activity_delta":            "ActivityDeltaObserved",
	"state_snapshot":            "StateSnapshotObserved",
	"state_delta":               "StateDeltaObserved",
	"error":                     "ErrorRecorded",
}

// finishKinds maps the termination of a run to the kind of its run_finish event.
var finishKinds = map[awaken.TerminationType]string{awaken.Suspended: "RunSuspended", awaken.Cancelled: "RunCancelled", awaken.Failed: "RunErrored", awaken.NaturalEnd: "RunFinished"}

// kind returns the kind of an event in canonical events.
func kind(ev awaken.Event) string {
	special := ""
	switch ev := ev.(type) {
	case *awaken.RunStart:
		if ev.Identity != nil && ev.Identity.Mode == "resume" {
			special = "RunResumed"
		}
	case *awaken.RunFinish:
		special = finishKinds[ev.Termination.Type]
	case *awaken.ToolCallDone:
		if ev.Outcome == awaken.CallSuspended {
			special = "ToolCallSuspended"
		}
	}
	return cmp.Or(special, eventKinds[ev.Type()], ev.Type()) // the type itself if a later version wrote it
}
