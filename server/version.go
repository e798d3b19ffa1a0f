package server

import (
	"fmt"
	"strconv"

	"github.com/awaken-go/awaken/config"
)

type versionList struct {
	Live       int64                 `json:"live"`
	Items      []*config.Publication `json:"items"`
	NextBefore int64                 `json:"next_before,omitempty"` // as before, for the next page
}

func (c *call) listVersions() error {
	before, err := c.number("before", 0, 0, 1<<53)
	if err != nil {
		return err
	}
	limit, err := c.number("limit", 100, 1, 1000)
	if err != nil {
		return err
	}
	head, err := c.srv.cfg.Control.Versions().Head(c.ctx)
	if err != nil {
		return err
	}
	list, err := c.srv.cfg.Control.Versions().List(c.ctx, int64(before), limit)
	if err != nil {
		return err
	}
	out := versionList{Live: head.Live, Items: append([]*config.Publication{}, list...)}
	if len(list) == limit {
		out.NextBefore = list[len(list)-1].Number
	}
	return c.Reply(200, out)
}

// version is the number of a version that a path names.
func (c *call) version() (int64, error) {
	n, err := strconv.ParseInt(c.path("version"), 10, 64)
	if err != nil || n < 1 {
		return 0, notFound("version", c.path("version"))
	}
	return n, nil
}

func (c *call) getVersion() error {
	n, err := c.version()
	if err != nil {
		return err
	}
	p, err := c.srv.cfg.Control.Versions().Get(c.ctx, n)
	if err != nil {
		return err
	}
	return c.Reply(200, p)
}

func (c *call) rollback() error {
	n, err := c.version()
	if err != nil {
		return err
	}
	p, err := c.srv.cfg.Control.Versions().Rollback(c.ctx, n, c.actor())
	if err != nil {
		return c.refused(err)
	}
	return c.Reply(200, p)
}

type draftList struct {
	Items []draft `json:"items"`
}

type draft struct {
	config.Key
	Spec rawDocument `json:"spec"`
	Meta config.Meta `json:"meta"`
}

func (c *call) listDrafts() error {
	views, err := c.srv.cfg.Control.Drafts().List(c.ctx)
	if err != nil {
		return err
	}
	out := draftList{[]draft{}}
	for _, v := range views {
		out.Items = append(out.Items, draft{v.Key, rawDocument(v.Spec), v.Meta})
	}
	return c.Reply(200, out)
}

type publishBody struct {
	Records []config.Key `json:"records,omitempty"` // none means every draft
	Canary  *canaryBody  `json:"canary,omitempty"`
	Note    string       `json:"note,omitempty"`
}

type canaryBody struct {
	Version int64              `json:"version,omitempty"` // of a canary that is already there
	Share   float64            `json:"share"`
	Rule    *config.CanaryRule `json:"rule,omitempty"`
}

func (b *canaryBody) canary() (*config.Canary, error) {
	if b == nil {
		return nil, nil
	}
	if !(b.Share > 0 && b.Share <= 1) {
		return nil, badRequest(fmt.Sprintf("share is %v, want more than 0 and at most 1", b.Share))
	}
	return &config.Canary{Version: b.Version, Share: b.Share, Rule: b.Rule}, nil
}

func (c *call) publish() error {
	var body publishBody
	if err := c.Decode(&body); err != nil {
		return err
	}
	canary, err := body.Canary.canary()
	if err != nil {
		return err
	}
	p, err := c.srv.cfg.Control.Drafts().Publish(c.ctx, body.Records, canary, body.Note, c.actor())
	if err != nil {
		return c.refused(err)
	}
	return c.Reply(200, p)
}

func (c *call) getCanary() error {
	out, err := c.srv.cfg.Control.Canary().Report(c.ctx)
	if err != nil {
		return err
	}
	return c.Reply(200, out)
}

func (c *call) putCanary() error {
	var body canaryBody
	if err := c.Decode(&body); err != nil {
		return err
	}
	canary, err := body.canary()
	if err != nil {
		return err
	}
	head, err := c.srv.cfg.Control.Canary().Set(c.ctx, *canary, c.actor())
	if err != nil {
		return c.refused(err)
	}
	return c.Reply(200, head)
}

func (c *call) promoteCanary() error {
	head, err := c.srv.cfg.Control.Canary().Promote(c.ctx, c.actor())
	if err != nil {
		return c.refused(err)
	}
	return c.Reply(200, head)
}

func (c *call) dropCanary() error {
	head, err := c.srv.cfg.Control.Canary().Drop(c.ctx, c.actor())
	if err != nil {
		return c.refused(err)
	}
	return c.Reply(200, head)
}
