package figures

import (
	"slices"
	"strconv"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// activity has the handlers of run counts and of the agents' recent activity.
type activity struct {
	stats    *Stats // nil if none are kept
	registry func() *registry.Registry
}

func (h *activity) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/agents/runtime-stats", Needs: permit.ReadServer, Handle: server.Handle(h.listStats),
			Summary: "Get recent activity of all agents in this process", Query: []protocol.Param{windowParam}, Replies: map[int]any{200: statsList{}}},
		{Method: "GET", Path: "/v1/agents/{agent_id}/runtime-stats", Needs: permit.ReadServer, Handle: server.Handle(h.agentStats),
			Summary: "Get recent activity of an agent in this process", Query: []protocol.Param{windowParam}, Replies: map[int]any{200: AgentStats{}}},
		{Method: "GET", Path: "/v1/runs/summary", Needs: permit.ReadUsage, Scope: protocol.ByCaller, Handle: server.Handle(h.countRuns),
			Summary: "Count the open runs by status", Query: []protocol.Param{server.UserParam}, Replies: map[int]any{200: runCounts{}}},
	}
}

var windowParam = server.Param("window", "string", "how far back, such as 600, 10m, 6h or 1d; default and maximum 1d")

type statsList struct {
	Agents []*AgentStats `json:"agents"`
}

func (h *activity) listStats(req *server.Request) error {
	window, err := h.window(req.Query)
	if err != nil {
		return err
	}
	out := statsList{[]*AgentStats{}}
	for _, id := range h.stats.Agents() {
		out.Agents = append(out.Agents, h.stats.Snapshot(id, window))
	}
	return req.Reply(200, out)
}

func (h *activity) agentStats(req *server.Request) error {
	window, err := h.window(req.Query)
	if err != nil {
		return err
	}
	id := req.Path("agent_id")
	if h.registry().Agent(id) == nil && !slices.Contains(h.stats.Agents(), id) {
		return protocol.NotFound("agent", id)
	}
	return req.Reply(200, h.stats.Snapshot(id, window))
}

// window returns how far back the requested stats go.
func (h *activity) window(q server.Query) (time.Duration, error) {
	if h.stats == nil {
		return 0, server.Unavailable("runtime stats are not configured")
	}
	if s := q.Value("window"); s != "" {
		return parseWindow(s)
	}
	return bucketCount * bucketTime, nil
}

// parseWindow parses a duration such as 600, 90s, 10m, 6h or 1d. It is capped at what is kept.
func parseWindow(s string) (time.Duration, error) {
	unit := time.Second
	number := s
	if n := len(s); n > 0 {
		if u, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[s[n-1]]; ok {
			unit, number = u, s[:n-1]
		}
	}
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n <= 0 {
		return 0, protocol.BadRequest("window is %q, want a duration such as 600, 10m, 6h or 1d", s)
	}
	return min(time.Duration(n), bucketCount*bucketTime/unit) * unit, nil
}

type runCounts struct {
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	Created int `json:"created"`
}

func (h *activity) countRuns(req *server.Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	owner, err := req.Owner()
	if err != nil {
		return err
	}
	s := server.ThreadsOf(req.Tenant())
	var out runCounts
	for status, n := range map[awaken.RunStatus]*int{awaken.RunRunning: &out.Running, awaken.RunWaiting: &out.Waiting, awaken.RunCreated: &out.Created} {
		if *n, err = s.CountRuns(req.Context(), awaken.RunQuery{Status: status, Owner: owner}); err != nil {
			return err
		}
	}
	return req.Reply(200, out)
}
