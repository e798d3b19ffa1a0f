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
	request
	auth     *auth
	streams  *streams
	previews *previews
}

var _ protocol.Call = (*call)(nil)

func (c *call) Context() context.Context { return c.ctx }
func (c *call) Request() *http.Request   { return c.r }
func (c *call) Header() http.Header      { return c.w.Header() }
func (c *call) Tenant() *mailbox.Tenant  { return c.tenant }

func (c *call) Recent(threadID string, messages int) (*mailbox.Recent, error) {
	if threadID == "" {
		return nil, nil
	}
	r, err := c.tenant.Store.Recent(c.ctx, threadID, messages)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, nil
	}
	c.recent = r
	return r, err
}

func (c *call) Agents() []*awaken.AgentSpec { return agentsOf(runtimeOf(c.tenant).Registry()) }

func (c *call) Tools(agentID string) []awaken.ToolSpec {
	return runtimeOf(c.tenant).Registry().Offered(agentID)
}

func (c *call) Submit(s *mailbox.Submission) (*mailbox.Receipt, error) {
	if err := sign(&c.request, s); err != nil {
		return nil, err
	}
	if c.route.Own {
		if err := c.previews.sign(&c.request, s); err != nil {
			return nil, err
		}
	}
	if err := c.Admit(s.Request.ThreadID); err != nil {
		return nil, err
	}
	if len(s.Request.Decisions) > 0 {
		if err := vet(&c.request, true, s.Request.ThreadID, s.Request.Decisions); err != nil {
			return nil, err
		}
	}
	r, err := submit(&c.request, s)
	if err == nil && !c.route.Own {
		decisionLog{c.previews.control, c.streams.logger}.add(&c.request, r.Decided)
	}
	return r, err
}

func (c *call) Preview(agent []byte) (agentID, resolutionID string, err error) {
	return c.previews.ofAgent(&c.request, agent)
}

func (c *call) Assistant() (agentID, resolutionID string, err error) {
	return c.previews.ofAssistant(&c.request)
}

func (c *call) Bearer(secret awaken.Secret) error { return c.auth.match(c.r, c.key, secret) }

func (c *call) Release() { c.release() }

func (c *call) Reserve(bytes int64) bool { return c.hold(c.bodies.memory, bytes) == nil }

func (c *call) Failure(err error) *protocol.Failure { return failureOf(err) }

func (c *call) Owner() (*string, error) { return c.owner() }

func (c *call) Stream(s *protocol.Stream) error {
	if err := c.Admit(s.ThreadID); err != nil {
		return err
	}
	return c.streams.translate(&c.request, s)
}

func (c *call) Wait(r *mailbox.Receipt) (*awaken.Run, error) { return c.streams.await(&c.request, r) }
