package runs

import (
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// ofPreviews returns the routes of the runs of previews, which are in no list of the clients' runs.
func (h *runs) ofPreviews() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/previews/runs", Needs: permit.TryConfig, Preview: true, Handle: server.Handle(h.list),
			Summary: "List the runs of previews, newest first", Query: slices.Concat(runFilters, []protocol.Param{server.Param("thread_id", "string", "only runs of this thread"), server.UserParam}, server.ListParams),
			Replies: map[int]any{200: runList{}}},
		{Method: "GET", Path: "/v1/previews/runs/{run_id}", Needs: permit.TryConfig, Preview: true, Handle: server.Handle(h.get),
			Summary: "Get the run of a preview", Replies: map[int]any{200: awaken.Run{}}},
	}
}

// ofPreviews returns the route of the trace of a preview.
func (h *traces) ofPreviews() []protocol.Route {
	return []protocol.Route{{Method: "GET", Path: "/v1/previews/runs/{run_id}/trace", Needs: permit.TryConfig, Preview: true, Handle: server.Handle(h.get),
		Summary: "Get the trace of the run of a preview, as GET /v1/traces/{run_id}",
		Query:   []protocol.Param{server.Param("offset", "integer", "number of events to skip; default 0"), server.Param("limit", "integer", "maximum number of events, 1 to 1000; default 1000")},
		Replies: map[int]any{200: server.NDJSON("")}}}
}
