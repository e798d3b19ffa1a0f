package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// call implements [protocol.Call] for the handlers of protocols: a request, with streams and
// previews.
type call struct {
	req      Request
	auth     *auth
	streams  *Streams
	previews *previews
	release  func() // ends its admission; nil if it needs none, or was not admitted
	unbound  func() // ends the limit of its time; nil if it has none yet
	span     span
}

// finish releases what the call holds.
func (c *call) finish() {
	for _, end := range [...]func(){c.req.unwatch, c.unbound, c.release} {
		if end != nil {
			end()
		}
	}
}

var _ protocol.Call = (*call)(nil)

func (c *call) Context() context.Context { return c.req.ctx }
func (c *call) Request() *http.Request   { return c.req.r }
func (c *call) Header() http.Header      { return c.req.w.Header() }
func (c *call) Tenant() *mailbox.Tenant  { return c.req.tenant }

func (c *call) Decode(v any) error               { return c.req.Decode(v) }
func (c *call) Reply(status int, body any) error { return c.req.Reply(status, body) }
func (c *call) Admit(ids ...string) error        { return c.req.Admit(ids...) }
func (c *call) IdempotencyKey() (string, error)  { return c.req.IdempotencyKey() }

func (c *call) Recent(threadID string, messages int) (*mailbox.Recent, error) {
	if threadID == "" {
		return nil, nil
	}
	r, err := c.req.tenant.Store.Recent(c.req.ctx, threadID, messages)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, nil
	}
	c.req.recent = r
	return r, err
}

func (c *call) Agents() []*awaken.AgentSpec { return AgentsOf(RuntimeOf(c.req.tenant).Registry()) }

func (c *call) Tools(agentID string) []awaken.ToolSpec {
	return RuntimeOf(c.req.tenant).Registry().Offered(agentID)
}

func (c *call) Submit(s *mailbox.Submission) (*mailbox.Receipt, error) {
	if err := Sign(&c.req, s); err != nil {
		return nil, err
	}
	if c.req.route.Own {
		if err := c.previews.sign(&c.req, s); err != nil {
			return nil, err
		}
	}
	if err := c.req.Admit(s.Request.ThreadID); err != nil {
		return nil, err
	}
	if len(s.Request.Decisions) > 0 {
		if err := Vet(&c.req, true, s.Request.ThreadID, s.Request.Decisions); err != nil {
			return nil, err
		}
	}
	r, err := Submit(&c.req, s)
	if err == nil && !c.req.route.Own {
		DecisionLog{c.previews.control, c.streams.logger}.Add(&c.req, r.Decided)
	}
	return r, err
}

func (c *call) Preview(agent, calls []byte) (agentID, resolutionID string, err error) {
	return c.previews.ofAgent(&c.req, agent, calls)
}

func (c *call) Assistant() (agentID, resolutionID string, err error) {
	return c.previews.ofAssistant(&c.req)
}

func (c *call) Bearer(secret awaken.Secret) error { return c.auth.match(c.req.r, c.req.Key, secret) }

func (c *call) Release() { c.req.Release() }

func (c *call) Reserve(bytes int64) bool { return c.req.hold(c.req.bodies.memory, bytes) == nil }

func (c *call) Failure(err error) *protocol.Failure { return FailureOf(err) }

func (c *call) Owner() (*string, error) { return c.req.Owner() }

func (c *call) Stream(s *protocol.Stream) error {
	if err := c.req.Admit(s.ThreadID); err != nil {
		return err
	}
	return c.streams.translate(&c.req, s)
}

func (c *call) Wait(r *mailbox.Receipt) (*awaken.Run, error) { return c.streams.Await(&c.req, r) }
