package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state/profile"
)

// marks is the taint of a run as its tools and hooks see it, and what they have read that tainted runs wrote. It is safe for
// concurrent use, and outlives the run with the calls that were abandoned.
type marks struct {
	now  func() time.Time
	run  atomic.Pointer[awaken.Taint] // of the run
	read atomic.Pointer[awaken.Taint] // read first; the run takes it over

	hooks *runProfile // that all hooks share; used by the run's goroutine
}

// Taint returns what has tainted the run, or what one of its calls has read.
func (m *marks) Taint() *awaken.Taint { return cmp.Or(m.run.Load(), m.read.Load()) }

// ReadTainted notes that the run has read what a tainted run wrote. The first counts.
func (m *marks) ReadTainted(t *awaken.Taint) {
	if m.run.Load() == nil && m.read.Load() == nil {
		read := *t
		read.At = m.now().UnixMilli()
		m.read.CompareAndSwap(nil, &read)
	}
}

// marked returns the marks of the run.
func (c *core) marked() *marks {
	if c.marks == nil {
		c.marks = &marks{now: c.rt.cfg.Now}
		c.marks.run.Store(c.rec.Taint)
	}
	return c.marks
}

// takeMarks taints the run if its tools or hooks have read what a tainted run wrote.
func (c *core) takeMarks() {
	if c.marks != nil && c.rec.Taint == nil {
		c.taint(c.marks.read.Load())
	}
}

// profile returns the profile for a call, or for a hook if callID is "". It is nil if the runtime has none.
func (c *core) profile(callID string) profile.Store {
	if c.rt.cfg.Profile == nil {
		return nil
	}
	m := c.marked()
	if callID != "" {
		return &runProfile{c.rt.cfg.Profile, m, callID}
	}
	if m.hooks == nil {
		m.hooks = &runProfile{c.rt.cfg.Profile, m, ""}
	}
	return m.hooks
}

// runProfile is the profile as a run sees it: what it writes while it is tainted is marked, and what it reads with a mark
// taints it.
type runProfile struct {
	profile.Store
	marks  *marks
	callID string
}

// Unmarked returns the profile itself; see [profile.Unmarked].
func (p *runProfile) Unmarked() profile.Store { return p.Store }

// writer returns the profile that marks what is written, if the run is tainted.
func (p *runProfile) writer() profile.Store {
	t := p.marks.Taint()
	if t == nil {
		return p.Store
	}
	mark, err := json.Marshal(t)
	if err != nil {
		mark = json.RawMessage(`{}`) // cannot happen; it is a mark all the same
	}
	return p.Store.Marked(mark)
}

// saw taints the run if an entry is marked.
func (p *runProfile) saw(e *profile.Entry) {
	if len(e.Mark) == 0 {
		return
	}
	var t awaken.Taint
	_ = json.Unmarshal(e.Mark, &t) // another mark is one all the same
	t.ReadBy = p.callID
	p.marks.ReadTainted(&t)
}

func (p *runProfile) Get(ctx context.Context, namespace, key string) (*profile.Entry, error) {
	e, err := p.Store.Get(ctx, namespace, key)
	if e != nil {
		p.saw(e)
	}
	return e, err
}

func (p *runProfile) List(ctx context.Context, namespace string) ([]profile.Entry, error) {
	list, err := p.Store.List(ctx, namespace)
	for i := range list {
		p.saw(&list[i])
	}
	return list, err
}

// Page reads values whole, since a store may not find the mark of one that it cuts.
func (p *runProfile) Page(ctx context.Context, namespace string, page profile.Page) ([]profile.Entry, error) {
	whole := page
	whole.Size = 0
	list, err := p.Store.Page(ctx, namespace, whole)
	for i := range list {
		p.saw(&list[i])
		list[i].Value = page.Cut(list[i].Value)
	}
	return list, err
}

func (p *runProfile) Set(ctx context.Context, namespace, key string, value json.RawMessage) error {
	return p.writer().Set(ctx, namespace, key, value)
}

func (p *runProfile) CompareAndSet(ctx context.Context, namespace, key string, old, value json.RawMessage) (bool, error) {
	return p.writer().CompareAndSet(ctx, namespace, key, old, value)
}
