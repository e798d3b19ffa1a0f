package runs

import (
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/trace/timeline"
)

// timelines has the handler that tells what happened to a run.
type timelines struct {
	pageBytes int // what the messages of a shown request may have together
}

func (h *timelines) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/runs/{run_id}/timeline", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: server.Handle(h.get),
			Summary: "Get the history of a run: commits, owners, takeovers, steps, calls, waits",
			Query:   []protocol.Param{server.Param("cursor", "string", "next_cursor of the page before"), server.Param("limit", "integer", "maximum number of commits, 1 to 200; default 50")},
			Replies: map[int]any{200: timelinePage{}}},
	}
}

// requests returns the routes that show what agents are made of, as their documents do.
func (h *timelines) requests() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/runs/{run_id}/steps/{step}/request", Needs: permit.ReadConfig, Handle: server.Handle(h.shown),
			Summary: "Get the request to the model in a step, and the unrecorded influences on it", Replies: map[int]any{200: shownRequest{}}},
	}
}

// shownRequest is the request to the model in a step, with only the last messages if they are too long.
type shownRequest struct {
	RunID string `json:"run_id"`
	timeline.ShownRequest
	// OmittedMessages is how many of the first messages this response leaves out, because it would be too long.
	OmittedMessages int `json:"omitted_messages"`
}

// shown shows the request of a step. It has the agent's prompt and parameters, which only admins of the server may read.
func (h *timelines) shown(req *server.Request) error {
	run, err := req.Run()
	if err != nil {
		return err
	}
	step, err := strconv.Atoi(req.Path("step"))
	if err != nil || step < 0 {
		return protocol.NotFound("step", req.Path("step"))
	}
	got, err := server.RuntimeOf(req.Tenant()).Shown(req.Context(), run.RunID, step)
	if err != nil {
		return explainMissing(err, "step", req.Path("step"))
	}
	out := shownRequest{RunID: run.RunID, ShownRequest: *got}
	size, first := 0, len(got.Messages)
	var text []byte
	for ; first > 0; first-- {
		if text, err = got.Messages[first-1].AppendJSON(text[:0]); err != nil {
			return err
		}
		if size += len(text); size > h.pageBytes && first < len(got.Messages) {
			break
		}
	}
	out.Messages, out.OmittedMessages = append([]*llm.Message{}, got.Messages[first:]...), first
	return req.Reply(200, out)
}

// timelinePage is a part of the timeline of a run, with what the run is now.
type timelinePage struct {
	RunID    string           `json:"run_id"`
	ThreadID string           `json:"thread_id"`
	AgentID  string           `json:"agent_id"`
	Version  string           `json:"version,omitempty"` // of the registry, that the run is pinned to
	Status   awaken.RunStatus `json:"status"`
	timeline.Page
	CostUSD      float64 `json:"cost_usd"`       // of the run so far
	ChildCostUSD float64 `json:"child_cost_usd"` // of the runs below it that have ended
	HasMore      bool    `json:"has_more"`
	// NextCursor is also set on the last page: it has what happens later.
	NextCursor string `json:"next_cursor"`
}

// timelineCursor is a place in the timeline of a run.
type timelineCursor struct {
	Run string `json:"r"`
	timeline.Mark
}

func (h *timelines) get(req *server.Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	run, err := req.Run()
	if err != nil {
		return err
	}
	at := timelineCursor{Run: run.RunID}
	if text := req.Value("cursor"); text != "" {
		if err := server.ParseCursor("tml_", text, &at); err != nil || at.Run != run.RunID || at.Point.Steps < 0 || at.Point.Activations < 0 {
			return server.ErrCursor
		}
	}
	page, next, more, err := timeline.Read(req.Context(), server.ThreadsOf(req.Tenant()), run, at.Mark, req.Number("limit", 50, 1, 200))
	if err != nil {
		return err
	}
	return req.Reply(200, timelinePage{RunID: run.RunID, ThreadID: run.ThreadID, AgentID: run.AgentID, Version: run.ResolutionID, Status: run.Status, Page: *page,
		CostUSD: run.CostUSD, ChildCostUSD: run.ChildCostUSD, HasMore: more, NextCursor: server.CursorText("tml_", timelineCursor{run.RunID, next})})
}
