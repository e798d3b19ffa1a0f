package mcp

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/toolname"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
)

// tool is a tool of a server, as it was listed.
type tool struct {
	conn *Connection
	*listing
	spec awaken.ToolSpec
}

// maxID is the longest name of a tool that all providers accept.
const maxID = 64

// toolID returns the id of a server's tool, or "" if the name has no letters or digits. Characters
// that providers do not accept in names become _.
func toolID(server, name string) string {
	name = toolname.Under(name)
	if name == "" {
		return ""
	}
	id := "mcp__" + server + "__" + name
	if len(id) <= maxID {
		return id
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // it never fails
	return id[:maxID-9] + "_" + hex.EncodeToString(h.Sum(nil))
}

// effectOf returns the effect of a tool: the operator's word, the hints of a server that is trusted for them, or the safest.
// If several of the operator's words are about the tool, the safest counts.
func (s *Server) effectOf(l *listing) awaken.EffectClass {
	var words []awaken.EffectClass
	for name, e := range s.Effects {
		if s.names(l).Named(name) {
			words = append(words, e)
		}
	}
	switch {
	case slices.Contains(words, awaken.Effectful):
		return awaken.Effectful
	case slices.Contains(words, awaken.Idempotent):
		return awaken.Idempotent
	case len(words) > 0:
		return awaken.ReadOnly
	case s.TrustHints:
		return hint(l.tool)
	}
	return awaken.Effectful
}

// names returns the names of a tool of the server.
func (s *Server) names(l *listing) toolname.Tool {
	spec := toolname.Spec{ID: l.id, Server: s.ID, Own: l.tool.Name}
	return toolname.New(slices.Values([]toolname.Spec{spec})).Tool(l.id)
}

// hint returns the effect that a tool's hints promise.
func hint(t *sdk.Tool) awaken.EffectClass {
	switch a := t.Annotations; {
	case a == nil:
		return awaken.Effectful
	case a.ReadOnlyHint:
		return awaken.ReadOnly
	case a.IdempotentHint:
		return awaken.Idempotent
	}
	return awaken.Effectful
}

// title returns the title of a tool, or "".
func title(t *sdk.Tool) string {
	if a := t.Annotations; a != nil {
		return cmp.Or(t.Title, a.Title)
	}
	return t.Title
}

func newTool(c *Connection, l *listing) *tool {
	return &tool{conn: c, listing: l, spec: awaken.ToolSpec{
		ID:          l.id,
		Name:        cmp.Or(title(l.tool), l.tool.Name),
		Description: l.tool.Description,
		Parameters:  l.params,
		Server:      c.server.ID,
		OwnName:     l.tool.Name,
		Category:    "mcp",
		Effect:      c.server.effectOf(l),
		InDoubt:     c.server.InDoubt,
		Untrusted:   true,
		Egress:      c.server.egress(),
		Timeout:     c.server.Timeout,
		Metadata:    map[string]any{"mcp.server": c.server.ID, "mcp.tool": l.tool.Name, "mcp.transport": c.server.transport()},
	}}
}

// sameTool reports whether two tools are the same for an agent.
func sameTool(a, b awaken.Tool) bool {
	x, own := a.(*tool)
	y, also := b.(*tool)
	if !own || !also {
		return own == also && a.Spec().ID == b.Spec().ID
	}
	return x.conn == y.conn && x.digest == y.digest && x.spec.ID == y.spec.ID
}

// Spec implements [awaken.Tool].
func (t *tool) Spec() awaken.ToolSpec { return t.spec }

// Call implements [awaken.Tool]. It calls the tool once, however often a question of the server suspends
// the call.
func (t *tool) Call(ctx context.Context, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	d, answered := resumed(call)
	s, err := t.conn.acquireFor(ctx, call)
	if needed, ok := errors.AsType[*oauth.Needed](err); ok {
		return nil, t.conn.askAuthorization(ctx, call, &d, answered, needed)
	}
	if err != nil {
		return nil, err
	}
	var x *exchange
	if answered && d.Requests == nil && !d.Again {
		x = s.retake(ctx, call, t.tool.Name)
		if x == nil && t.spec.Effect == awaken.Effectful {
			return nil, t.askAgain(call, &d)
		}
	}
	if err := t.current(); x == nil && err != nil {
		return nil, err
	}
	params := &sdk.CallToolParams{Name: t.tool.Name, Arguments: arguments(call)}
	for range maxQuestions {
		if d.Requests != nil {
			params.RequestState = d.State
			if params.InputResponses, err = t.answerAll(ctx, call, &d); err != nil {
				return nil, err
			}
			d.Requests = nil
		}
		if x == nil {
			if x, err = s.admit(ctx, call, t.tool.Name); err != nil {
				return nil, err
			}
			params.Meta = s.meta(x, tracecontext.Of(ctx))
			s.send(x, *params)
		}
		a, err := t.follow(ctx, s, x, &d)
		switch {
		case err != nil: // a question to a person
			return nil, err
		case a.err != nil:
			if needed, ok := errors.AsType[*oauth.Needed](a.err); ok { // the server has refused the call
				return nil, t.conn.askAuthorization(ctx, call, &d, false, needed)
			}
			return t.failure(ctx, s, call, &d, a.err)
		case !a.res.NeedsInput():
			d.end(call)
			return t.result(a.res), nil
		}
		if d.Requests, err = json.Marshal(a.res.InputRequests); err != nil {
			return nil, err
		}
		d.State, d.Answers, x = a.res.RequestState, nil, nil
	}
	return nil, fmt.Errorf("MCP server %q asked more than %d times for more input", t.conn.server.ID, maxQuestions)
}

// send begins the call of the server.
func (s *session) send(x *exchange, params sdk.CallToolParams) {
	x.done = make(chan answer, 1)
	go func() {
		res, err := s.CallTool(x.ctx, &params)
		x.done <- answer{res, err}
	}()
}

// cancelGrace is how long a call that was cancelled may take to end.
const cancelGrace = time.Second

// follow shows what the server says about a call, and answers what it asks, until the call ends. If a
// person must answer, it holds the call and returns an error that suspends it.
func (t *tool) follow(ctx context.Context, s *session, x *exchange, d *dialogue) (answer, error) {
	respond := func(q *question) error {
		r, err := t.respond(ctx, x.call, d, q)
		if err == nil {
			q.reply <- r
		}
		return err
	}
	if q := x.open; q != nil {
		x.open = nil
		if err := respond(q); err != nil {
			s.leave(x)
			return answer{}, err
		}
	}
	news, rest := x.news, (<-chan time.Time)(nil)
	over, late := x.ctx.Done(), (<-chan time.Time)(nil)
	for {
		select {
		case <-news:
			x.report()
			news, rest = nil, time.After(reportEvery)
		case <-rest:
			news, rest = x.news, nil
		case q := <-x.asks:
			if err := respond(q); err != nil {
				x.report()
				s.hold(x, q)
				return answer{}, err
			}
		case <-over:
			over, late = nil, time.After(cancelGrace)
		case <-late: // the call is not even sent: the server does not read
			s.leave(x)
			return answer{err: context.Cause(x.ctx)}, nil
		case a := <-x.done:
			x.report()
			s.leave(x)
			return a, nil
		}
	}
}

// current returns an error if the server lists the tool differently now.
func (t *tool) current() error {
	t.conn.mu.Lock()
	defer t.conn.mu.Unlock()
	switch now := t.conn.listed[t.tool.Name]; {
	case now == nil:
		return fmt.Errorf("MCP server %q has no tool %q any more, so the call was not made", t.conn.server.ID, t.tool.Name)
	case now.held != "":
		return fmt.Errorf("tool %q of MCP server %q is held, so the call was not made: %s", t.tool.Name, t.conn.server.ID, now.held)
	}
	return nil
}

// arguments returns the arguments of a call.
func arguments(call *awaken.ToolCall) any {
	if len(call.Args) == 0 || string(call.Args) == "null" {
		return json.RawMessage("{}")
	}
	return call.Args
}

// failure returns the result of a call that has none: the server refused it, or it is not known what
// became of it. If a person decides about calls in doubt, it suspends the call.
func (t *tool) failure(ctx context.Context, s *session, call *awaken.ToolCall, d *dialogue, err error) (*awaken.ToolResult, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // the server was told
	}
	_, unknown := errors.AsType[*unanswered](err)
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok && !unknown {
		return nil, fmt.Errorf("MCP server %q: %s", t.conn.server.ID, cut(t.conn.server.hide(refused.Message), 4<<10))
	}
	why := err
	select {
	case <-s.lost:
		why = s.cause
	case <-s.ctx.Done():
		why = context.Cause(s.ctx)
	case <-time.After(200 * time.Millisecond): // the end of a program is noticed after that of its output
	}
	lost := cut(t.conn.server.hide(why.Error()), 4<<10)
	if t.spec.Effect == awaken.Effectful && t.spec.InDoubt == awaken.DoubtSuspend {
		return nil, t.askDoubt(call, d, lost)
	}
	text := fmt.Sprintf("the connection to MCP server %q was lost in the call: %s", t.conn.server.ID, lost)
	res := awaken.ErrorResult("connection_lost", text)
	if t.spec.Effect == awaken.Effectful {
		res = awaken.InDoubtResult(fmt.Sprintf("%s; %v, and it was not repeated", text, awaken.ErrInDoubt))
	}
	meta := t.metadata()
	maps.Copy(meta, res.Metadata)
	res.Metadata = meta
	return res, nil
}

// metadata returns the metadata of results.
func (t *tool) metadata() map[string]any {
	return map[string]any{"mcp.server": t.conn.server.ID, "mcp.tool": t.tool.Name}
}
