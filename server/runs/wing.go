// Package runs serves threads and their runs: messages, decisions on tool calls, events, files, the queue, searches, forks, traces,
// and the feed of what changes in a tenant.
package runs

import (
	"cmp"
	"slices"

	"github.com/awaken-go/awaken/eval/live"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
)

// Config configures a Wing.
type Config struct {
	// Traces enables the routes of traces. They show what models and tools were told and said.
	Traces bool
	// Live keeps the judgements of runs, which traces show. If nil, they show none.
	Live live.Store
	// Changes is the log of what changes in tenants. If nil, the route of the feed is not registered.
	Changes changelog.Store
	// PageBytes bounds a page of messages. A larger message is a page of its own. A page of a trace ends when it has twice as many bytes.
	// Default: 4 MiB.
	PageBytes int
}

// Wing is the threads and runs of a server.
type Wing struct{ cfg Config }

// New returns a wing.
func New(cfg Config) *Wing {
	cfg.PageBytes = cmp.Or(cfg.PageBytes, 4<<20)
	return &Wing{cfg}
}

// Mount returns the routes of the wing.
func (w *Wing) Mount(k *server.Kernel) ([]protocol.Route, error) {
	decided := approvals{server.DecisionLog{Control: k.Control, Logger: k.Logger}}
	forked := &forks{newID: k.NewID, control: k.Control, registry: k.Registry}
	lines := &timelines{pageBytes: w.cfg.PageBytes}
	all := slices.Concat(
		(&threads{newID: k.NewID}).routes(),
		(&messages{pageBytes: w.cfg.PageBytes}).routes(),
		(&runs{streams: k.Streams}).routes(),
		decided.routes(),
		(&batches{decided}).routes(),
		(&restored{batches{decided}}).routes(),
		(&events{streams: k.Streams}).routes(),
		(&pending{}).routes(),
		(&files{limits: k.Files, serving: k.Serving}).routes(),
		(&dispatches{}).routes(),
		(&queues{}).routes(),
		(&searches{registry: k.Registry}).routes(),
		(&explanations{}).routes(),
		lines.routes(),
		forked.routes(),
		(&trees{registry: k.Registry}).routes(),
		(&remembered{audit: k.Control}).routes(),
	)
	if w.cfg.Traces {
		all = slices.Concat(all, (&traces{control: k.Control, live: w.cfg.Live, pageBytes: 2 * w.cfg.PageBytes}).routes(), (&pins{audit: k.Control}).routes())
	}
	if w.cfg.Changes != nil {
		all = append(all, newChanges(w.cfg.Changes, k).routes()...)
	}
	if !k.HideConfig {
		all = append(all, lines.requests()...)
	}
	if k.Control != nil && !k.HideConfig {
		traced := &traces{control: k.Control, pageBytes: 2 * w.cfg.PageBytes}
		all = slices.Concat(all, forked.ofRuns(), (&runs{streams: k.Streams}).ofPreviews(), traced.ofPreviews())
	}
	return all, nil
}

// Features returns the features of the wing.
func (w *Wing) Features() (list []string) {
	if w.cfg.Traces {
		list = append(list, "traces")
	}
	return list
}

// Parts returns the type of what the feed sends.
func (w *Wing) Parts() []any {
	return []any{server.OneOf{Name: "FeedEvent", Types: []any{changeView{}, canonicalEvent{}}}}
}
