package server

import (
	"bytes"
	"encoding/json"

	"github.com/awaken-go/awaken/mailbox"
)

// compact is JSON without white space.
func compact(data json.RawMessage) []byte {
	var buf bytes.Buffer
	if json.Compact(&buf, data) != nil {
		return data
	}
	return buf.Bytes()
}

type dispatchList struct {
	Items []*mailbox.Dispatch `json:"items"`
}

// dispatches leaves out what only the worker of a dispatch may know; and what went wrong
// inside, for all but admins.
func (c *call) dispatches(ds []*mailbox.Dispatch) dispatchList {
	out := dispatchList{Items: []*mailbox.Dispatch{}}
	for _, d := range ds {
		shown := *d
		shown.ClaimToken = ""
		if c.key == nil || c.key.Kind != AdminKey {
			shown.LastError, shown.ClaimedBy = "", ""
		}
		out.Items = append(out.Items, &shown)
	}
	return out
}

func (c *call) listMailbox() error {
	offset, limit, err := c.page()
	if err != nil {
		return err
	}
	ds, err := c.tenant.Store.Dispatches(c.ctx, mailbox.Query{ThreadID: c.path("thread_id"), Offset: offset, Limit: limit})
	if err != nil {
		return err
	}
	return c.Reply(200, c.dispatches(ds))
}

func (c *call) listPending() error {
	if _, err := c.thread(); err != nil {
		return err
	}
	list, err := c.tenant.Pending(c.ctx, c.path("thread_id"))
	if err != nil {
		return err
	}
	return c.Reply(200, list)
}

type pendingEdit struct {
	Revision int            `json:"revision"`
	Messages []inputMessage `json:"messages"`
}

func (c *call) editPending() error {
	var body pendingEdit
	if err := c.Decode(&body); err != nil {
		return err
	}
	msgs, err := c.messages(body.Messages)
	if err != nil {
		return err
	}
	if err := c.tenant.EditPending(c.ctx, c.path("thread_id"), c.path("pending_id"), body.Revision, msgs); err != nil {
		return err
	}
	return c.listPending()
}

func (c *call) retractPending() error {
	rev, err := c.number("revision", 0, 0, 1<<31-1)
	if err != nil {
		return err
	}
	if err := c.tenant.RetractPending(c.ctx, c.path("thread_id"), c.path("pending_id"), rev); err != nil {
		return err
	}
	return c.Reply(204, nil)
}

type pendingOrder struct {
	Revision string   `json:"revision"`
	Order    []string `json:"order"`
}

func (c *call) reorderPending() error {
	var body pendingOrder
	if err := c.Decode(&body); err != nil {
		return err
	}
	if _, err := c.thread(); err != nil {
		return err
	}
	if err := c.tenant.ReorderPending(c.ctx, c.path("thread_id"), body.Revision, body.Order); err != nil {
		return err
	}
	return c.listPending()
}

func (c *call) listDeadLetters() error {
	offset, limit, err := c.page()
	if err != nil {
		return err
	}
	ds, err := c.tenant.DeadLetters(c.ctx, offset, limit)
	if err != nil {
		return err
	}
	return c.Reply(200, c.dispatches(ds))
}

func (c *call) retryDeadLetter() error {
	r, err := c.tenant.RetryDeadLetter(c.ctx, c.path("dispatch_id"))
	if err != nil {
		return err
	}
	return c.Reply(202, mailboxAccepted{DispatchID: r.DispatchID, RunID: r.RunID, ThreadID: r.ThreadID})
}

func (c *call) dropDeadLetter() error {
	if err := c.tenant.DropDeadLetter(c.ctx, c.path("dispatch_id")); err != nil {
		return err
	}
	return c.Reply(204, nil)
}

type purged struct {
	Purged int `json:"purged"`
}

func (c *call) purgeDeadLetters() error {
	n, err := c.tenant.PurgeDeadLetters(c.ctx)
	if err != nil {
		return err
	}
	return c.Reply(200, purged{n})
}
