package a2a

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
)

// version is the version of the protocol.
const version = "1.0"

// exchange is one request, in either binding.
type exchange struct {
	protocol.Call
	cfg   *Config
	agent string          // the agent that the request names, or ""
	rpc   json.RawMessage // id of a JSON-RPC request, or nil
}

// checkVersion refuses versions other than 1.0. A client that names none speaks this one.
func checkVersion(c protocol.Call) error {
	r := c.Request()
	v := r.Header.Get("A2A-Version")
	if v == "" {
		v = r.URL.Query().Get("A2A-Version")
	}
	c.Header().Set("A2A-Version", version)
	if v = strings.TrimSpace(v); v == "" || v == version || strings.HasPrefix(v, version+".") {
		return nil
	}
	return failure(http.StatusBadRequest, versionNotSupported, "A2A-Version is %.80q, want %s", v, version)
}

// checkContent refuses bodies that are not JSON.
func checkContent(c protocol.Call) error {
	kind, _, _ := strings.Cut(c.Request().Header.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "", "application/json", "application/a2a+json":
		return nil
	}
	return failure(http.StatusUnsupportedMediaType, contentTypeUnknown, "the content type is %.80q, want application/json or application/a2a+json", kind)
}

// reply sends a result.
func (x *exchange) reply(result any) error {
	if x.rpc != nil {
		return x.Reply(http.StatusOK, rpcResponse{Version: "2.0", ID: x.rpc, Result: result})
	}
	return x.Reply(http.StatusOK, result)
}

// address takes the tenant that a request names beside its path: the agent.
func (x *exchange) address(tenant string) error {
	if err := protocol.CheckID("tenant", tenant); err != nil {
		return err
	}
	switch {
	case tenant == "" || tenant == x.agent:
	case x.agent != "":
		return protocol.BadRequest("tenant is %.80q, but the path names %.80q", tenant, x.agent)
	default:
		x.agent = tenant
	}
	if x.agent != "" && !x.cfg.exposes(x.agent) {
		return noAgent(x.agent)
	}
	return nil
}

func noAgent(id string) error {
	return failure(http.StatusNotFound, "not_found", "agent not found: %.80s", id)
}

// target returns the agent of a new task.
func (x *exchange) target() (string, error) {
	agents := x.cfg.exposed(x.Agents())
	if x.agent == "" {
		if a := public(agents); a != nil {
			return a.ID, nil
		}
		return "", failure(http.StatusNotFound, "not_found", "no agent is exposed")
	}
	if !slices.ContainsFunc(agents, func(a *awaken.AgentSpec) bool { return a.ID == x.agent }) {
		return "", noAgent(x.agent)
	}
	return x.agent, nil
}

// visible reports whether the request may see a run as a task: a run of an exposed agent, and of the one that the
// request names, if any, or of one of its variants. Children of runs are not tasks.
func (x *exchange) visible(run *awaken.Run) bool {
	agent := run.AgentID
	if run.FirstAgentID != "" {
		agent = run.FirstAgentID
	}
	of := func(id string) bool { return id == agent || awaken.IsVariant(agent, id) }
	return run.ParentRunID == "" && (len(x.cfg.Agents) == 0 || slices.ContainsFunc(x.cfg.Agents, of)) && (x.agent == "" || of(x.agent))
}

// run returns the run of a task.
func (x *exchange) run(taskID string) (*awaken.Run, error) {
	if !protocol.ValidID(taskID) {
		return nil, noTask(taskID)
	}
	if err := x.Admit(taskID); err != nil {
		return nil, taskFailure(taskID, err)
	}
	run, err := x.Tenant().Store.LoadRun(x.Context(), taskID)
	if err != nil {
		return nil, taskFailure(taskID, err)
	}
	if !x.visible(run) {
		return nil, noTask(taskID)
	}
	return run, nil
}

// has returns the position of a client that was cut off, or the zero Position.
func (x *exchange) has(threadID string) (protocol.Position, error) {
	if x.Request().Header.Get("Last-Event-ID") == "" {
		return protocol.Position{}, nil
	}
	th, err := x.Tenant().Store.Thread(x.Context(), threadID)
	if errors.Is(err, awaken.ErrNotFound) {
		return protocol.Position{}, nil
	}
	if err != nil {
		return protocol.Position{}, err
	}
	at, err := protocol.ResumeAfter(x, th.End)
	if err != nil {
		return at, err
	}
	lost, err := protocol.PositionLost(x.Context(), x.Tenant(), threadID, at)
	if err != nil || lost {
		at = protocol.Position{}
	}
	return at, err
}

// encoder returns a factory of encoders, and their format. An encoder that begins with a task is for one client.
func (x *exchange) encoder(opts Options) (func() protocol.Encoder, string) {
	opts.RPC = x.rpc
	format := ""
	if opts.Snapshot.Seq == 0 {
		format = "a2a " + string(opts.RPC)
	}
	return func() protocol.Encoder { return NewEncoder(opts) }, format
}

// continues reports that a run waits only for its own children.
func continues(fin *awaken.RunFinish) bool {
	return fin.Result != nil && waitingState(fin.Result.Waiting) == Working
}

// stream streams a run.
func (x *exchange) stream(s *protocol.Stream, opts Options) error {
	x.Header().Set("X-Run-Id", s.RunID)
	x.Header().Set("X-Thread-Id", s.ThreadID)
	opts.TaskID, opts.ContextID = s.RunID, s.ThreadID
	s.Continues = continues
	s.Encoder, s.Format = x.encoder(opts)
	return x.Stream(s)
}
