package agui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

const events = "AG-UI events"

var (
	resumable   = []protocol.Param{{Name: "Last-Event-ID", Kind: "string", Doc: "resume the response to the same request after this frame"}}
	cursorParam = protocol.Param{Name: "cursor", Kind: "string", Doc: "resume after this frame; same as Last-Event-ID"}
)

// Routes returns the routes that a server mounts. Those below /v1/ag-ui/agent, and
// /v1/ag-ui/info, form the CopilotKit runtime at runtimeUrl …/v1/ag-ui.
func Routes() []protocol.Route {
	runs := func(path, summary string, handle func(c protocol.Call) error) protocol.Route {
		return protocol.Route{Method: "POST", Path: path, Needs: permit.StartRuns, Scope: protocol.ByCaller, Handle: handle, Summary: summary, Body: input{}, Headers: resumable,
			Replies: map[int]any{200: nil}, Failures: []int{400, 404, 409}, Stream: true, Events: events}
	}
	return []protocol.Route{
		runs("/v1/ag-ui/run", "Run an agent", runAgent),
		runs("/v1/ag-ui/threads/{thread_id}/runs", "Run an agent on a thread", runAgent),
		runs("/v1/ag-ui/agents/{agent_id}/runs", "Run the agent in the path", runAgent),
		runs("/v1/ag-ui/agent/{agent_id}/run", "Run the agent in the path", runAgent),
		runs("/v1/ag-ui/agent/{agent_id}/connect", "Get the messages of a thread and stream its run in flight", connectAgent),
		{Method: "POST", Path: "/v1/ag-ui/agent/{agent_id}/stop/{thread_id}", Needs: permit.CancelRuns, Scope: protocol.ByPath, Handle: stopAgent, Summary: "Cancel the thread's run",
			Body: stopBody{}, Replies: map[int]any{200: stopped{}}},
		{Method: "GET", Path: "/v1/ag-ui/info", Needs: permit.ReadAgents, Scope: protocol.Shared, Handle: info, Summary: "List agents for CopilotKit", Replies: map[int]any{200: runtimeInfo{}}},
		{Method: "POST", Path: "/v1/ag-ui", Needs: permit.StartRuns, Scope: protocol.ByCaller, Handle: single, Summary: "Handle a request of CopilotKit's single-endpoint transport", Body: envelope{}, Headers: resumable,
			Replies: map[int]any{200: nil}, Failures: []int{400, 404, 409}, Stream: true, Events: events},
		{Method: "GET", Path: "/v1/ag-ui/threads/{thread_id}/stream", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: follow, Summary: "Stream the run in flight; 204 if there is none",
			Query: []protocol.Param{cursorParam, {Name: "run_id", Kind: "string", Doc: "the client's name for the run"}}, Headers: resumable,
			Replies: map[int]any{200: nil, 204: nil}, Failures: []int{400, 404, 410}, Stream: true, Events: events},
		{Method: "GET", Path: "/v1/ag-ui/threads/{thread_id}/replay", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: getPage, Summary: "Get a thread's stream, one page at a time",
			Query: []protocol.Param{cursorParam, {Name: "limit", Kind: "integer", Doc: "maximum number of frames, 1 to 500; default 100"}}, Headers: resumable,
			Replies: map[int]any{200: nil}, Failures: []int{400, 404, 410}, Stream: true, Events: events},
		{Method: "GET", Path: "/v1/ag-ui/threads/{thread_id}/messages", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: messages, Summary: "List the messages of a thread",
			Query:   []protocol.Param{{Name: "offset", Kind: "integer", Doc: "number of messages to skip; default 0"}, {Name: "limit", Kind: "integer", Doc: "maximum number of messages, 1 to 200; default 50"}},
			Replies: map[int]any{200: messageList{}}, Failures: []int{400, 404}},
		{Method: "POST", Path: "/v1/ag-ui/threads/{thread_id}/cancel", Needs: permit.CancelRuns, Scope: protocol.ByPath, Handle: cancelThread, Summary: "Cancel the thread's run", Replies: map[int]any{202: accepted{}}, Failures: []int{404}},
		{Method: "POST", Path: "/v1/ag-ui/threads/{thread_id}/interrupt", Needs: permit.CancelRuns, Scope: protocol.ByPath, Handle: interruptThread, Summary: "Cancel the thread's run and its queued dispatches",
			Replies: map[int]any{202: accepted{}}, Failures: []int{404}},
	}
}

func runAgent(c protocol.Call) error {
	var in input
	if err := c.Decode(&in); err != nil {
		return err
	}
	r := c.Request()
	return run(c, &in, r.PathValue("agent_id"), r.PathValue("thread_id"))
}

func connectAgent(c protocol.Call) error {
	var in input
	if err := c.Decode(&in); err != nil {
		return err
	}
	return connect(c, &in)
}

// stopBody optionally names the run to stop.
type stopBody struct {
	RunID string `json:"runId,omitempty"`
}

// UnmarshalJSON ignores unknown fields.
func (b *stopBody) UnmarshalJSON(data []byte) error {
	type plain stopBody
	return strict.UnmarshalKnown(data, (*plain)(b))
}

type stopped struct {
	Stopped bool `json:"stopped"`
}

func stopAgent(c protocol.Call) error {
	var body stopBody
	if err := c.Decode(&body); err != nil {
		return err
	}
	return stop(c, c.Request().PathValue("thread_id"), body.RunID)
}

// stop cancels the thread's run. If the client names a known run, only that run is cancelled,
// never a later one. An unknown name belongs to the answer to an interrupt, whose run has
// another id.
func stop(c protocol.Call, threadID, runID string) error {
	if err := c.Admit(threadID, runID); err != nil {
		return err
	}
	ctx, t := c.Context(), c.Tenant()
	_, err := t.Store.Thread(ctx, threadID)
	if err == nil && runID != "" {
		known, err := t.Store.LoadRun(ctx, runID)
		if err != nil && !errors.Is(err, awaken.ErrNotFound) {
			return err
		}
		if err != nil || known.ThreadID != threadID {
			runID = ""
		}
	}
	if err == nil {
		err = t.Cancel(ctx, cmp.Or(runID, threadID))
	}
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		return err
	}
	return c.Reply(200, stopped{Stopped: err == nil})
}

// runtimeInfo describes this runtime to CopilotKit.
type runtimeInfo struct {
	Version         string               `json:"version"`
	Mode            string               `json:"mode"`
	Agents          map[string]agentInfo `json:"agents"`
	Transcription   bool                 `json:"audioFileTranscriptionEnabled"`
	A2UI            bool                 `json:"a2uiEnabled"`
	OpenUI          bool                 `json:"openGenerativeUIEnabled"`
	Suggestions     bool                 `json:"suggestions"`
	ThreadEndpoints threadEndpoints      `json:"threadEndpoints"`
	NoTelemetry     bool                 `json:"telemetryDisabled"`
}

type agentInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	ClassName   string `json:"className"`
}

type threadEndpoints struct {
	List             bool `json:"list"`
	Inspect          bool `json:"inspect"`
	Mutations        bool `json:"mutations"`
	RealtimeMetadata bool `json:"realtimeMetadata"`
}

func info(c protocol.Call) error {
	out := runtimeInfo{Version: version, Mode: "sse", Agents: map[string]agentInfo{}, NoTelemetry: true}
	for _, spec := range c.Agents() {
		out.Agents[spec.ID] = agentInfo{Name: spec.ID, Description: spec.Description, ClassName: "AwakenAgent"}
	}
	return c.Reply(200, out)
}

// envelope is a request to CopilotKit's single endpoint.
type envelope struct {
	Method string          `json:"method"` // info, agent/run, agent/connect, agent/stop
	Params envelopeParams  `json:"params,omitzero"`
	Body   json.RawMessage `json:"body,omitempty"`
}

type envelopeParams struct {
	AgentID  string `json:"agentId,omitempty"`
	ThreadID string `json:"threadId,omitempty"`
}

// UnmarshalJSON ignores unknown fields.
func (e *envelope) UnmarshalJSON(data []byte) error {
	type plain envelope
	return strict.UnmarshalKnown(data, (*plain)(e))
}

// body decodes the request inside the envelope.
func (e *envelope) body(v json.Unmarshaler) error {
	if len(bytes.TrimSpace(e.Body)) == 0 || string(e.Body) == "null" {
		return nil
	}
	if err := v.UnmarshalJSON(e.Body); err != nil {
		return protocol.InvalidBody("body: %v", err)
	}
	return nil
}

func single(c protocol.Call) error {
	var e envelope
	if err := c.Decode(&e); err != nil {
		return err
	}
	if err := protocol.CheckID("params.agentId", e.Params.AgentID); err != nil {
		return err
	}
	var in input
	switch e.Method {
	case "info":
		return info(c)
	case "agent/run", "agent/connect":
		if err := e.body(&in); err != nil {
			return err
		}
		if e.Method == "agent/connect" {
			return connect(c, &in)
		}
		return run(c, &in, e.Params.AgentID, "")
	case "agent/stop":
		if !protocol.ValidID(e.Params.ThreadID) {
			return protocol.BadRequest("params.threadId is %.80q, want a thread id", e.Params.ThreadID)
		}
		var b stopBody
		if err := e.body(&b); err != nil {
			return err
		}
		return stop(c, e.Params.ThreadID, b.RunID)
	}
	return protocol.BadRequest("method is %.80q, want info, agent/run, agent/connect or agent/stop", e.Method)
}

// follow streams the run in flight, from its beginning or from the client's position.
func follow(c protocol.Call) error {
	id := c.Request().PathValue("thread_id")
	x := &exchange{Call: c, in: input{ThreadID: id, RunID: c.Request().URL.Query().Get("run_id"), ProtocolVersion: version}}
	if err := x.load(); err != nil {
		return err
	}
	if x.thread == nil {
		return protocol.NotFound("thread", id)
	}
	going, end, err := protocol.ActiveRun(c.Context(), c.Tenant(), id)
	if err != nil {
		return err
	}
	opts := Options{RunID: x.in.RunID}
	if going != nil {
		return x.stream(&protocol.Stream{RunID: going.RunID, After: x.has, Through: end, Resumed: true}, opts)
	}
	// The run may have parked or ended while the client was away.
	if latest := x.latestRun(); latest != "" && x.has != (protocol.Position{}) {
		return x.stream(&protocol.Stream{RunID: latest, After: x.has, Through: x.has.Cursor, Resumed: true}, opts)
	}
	return c.Reply(204, nil)
}

// getPage streams a page of what was streamed on a thread.
func getPage(c protocol.Call) error {
	x := &exchange{Call: c, in: input{ThreadID: c.Request().PathValue("thread_id"), ProtocolVersion: version}}
	if err := x.load(); err != nil {
		return err
	}
	if x.thread == nil {
		return protocol.NotFound("thread", x.in.ThreadID)
	}
	limit := protocol.NumberParam(c.Request().URL.Query(), "limit", 100, 1, 500)
	return c.Stream(&protocol.Stream{ThreadID: x.in.ThreadID, After: x.has, Limit: limit, Encoder: x.encoders(Options{}).next})
}

type messageList struct {
	Messages   []json.RawMessage `json:"messages"`
	Total      int               `json:"total"`
	HasMore    bool              `json:"has_more"`
	NextCursor string            `json:"next_cursor,omitempty"` // offset of the next page
}

func messages(c protocol.Call) error {
	th, err := protocol.PathThread(c)
	if err != nil {
		return err
	}
	query := c.Request().URL.Query()
	offset, limit := protocol.NumberParam(query, "offset", 0, 0, math.MaxInt32), protocol.NumberParam(query, "limit", 50, 1, 200)
	all, err := protocol.Conversation(c.Context(), c.Tenant(), th.ID)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(slices.Clone(all), (*llm.Message).IsInternal)
	out := messageList{Messages: []json.RawMessage{}, Total: len(all)}
	end := min(len(all), offset+limit)
	if offset < len(all) {
		shown, err := protocol.ShowFiles(c, all[offset:end])
		if err != nil {
			return err
		}
		list, err := appendMessages([]byte{'['}, shown)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(append(list, ']'), &out.Messages); err != nil {
			return err
		}
	}
	if end < len(all) {
		out.HasMore, out.NextCursor = true, strconv.Itoa(end)
	}
	return c.Reply(200, out)
}

type accepted struct {
	Status   string `json:"status"`
	ThreadID string `json:"thread_id"`
}

func cancelThread(c protocol.Call) error {
	id := c.Request().PathValue("thread_id")
	if err := c.Tenant().Cancel(c.Context(), id); err != nil {
		return protocol.StopFailure(id, err)
	}
	return c.Reply(202, accepted{"cancel_requested", id})
}

func interruptThread(c protocol.Call) error {
	id := c.Request().PathValue("thread_id")
	if _, err := c.Tenant().Interrupt(c.Context(), id); err != nil {
		return protocol.StopFailure(id, err)
	}
	return c.Reply(202, accepted{"interrupt_requested", id})
}
