package figures

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/state/profile"
)

const (
	// replicasNamespace is the profile namespace in which every process that serves describes itself, under its id.
	replicasNamespace = "server.replicas"
	// replicaEvery is how often it does.
	replicaEvery = 15 * time.Second
	// replicaSilent is after which silence a process counts as lost, replicaGone after which it is forgotten.
	replicaSilent, replicaGone = 3 * replicaEvery, time.Hour
)

// replica is a process that serves, as it described itself last.
type replica struct {
	ID            string `json:"id"`
	Host          string `json:"host"`
	Version       string `json:"version"`        // of the program
	ConfigVersion int64  `json:"config_version"` // of the documents that new runs use; 0 if it has none
	StartedMS     int64  `json:"started_ms"`
	SeenMS        int64  `json:"seen_ms"`
	LastError     string `json:"last_error,omitempty"` // what the log said last as an error, without details
	LastErrorMS   int64  `json:"last_error_ms,omitempty"`
}

// Replicas tells the processes of a server of each other: each describes itself in a store that they
// share, every few seconds while it serves. It is safe for concurrent use.
type Replicas struct {
	store profile.Store // must not be a tenant's
	now   func() time.Time

	mu   sync.Mutex
	self replica
}

// NewReplicas returns the replicas that share a store, which must not be a tenant's.
func NewReplicas(store profile.Store) *Replicas {
	host, _ := os.Hostname() // "" if the system has none
	return &Replicas{store: store, now: time.Now, self: replica{Host: host}}
}

// Watch returns a handler that remembers the last error that goes through it, without its details: what
// it was about and when. Pass it the handler of the process's log.
func (r *Replicas) Watch(h slog.Handler) slog.Handler { return &errorWatch{h, r} }

type errorWatch struct {
	slog.Handler
	replicas *Replicas
}

func (w *errorWatch) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError || w.Handler.Enabled(ctx, level)
}

func (w *errorWatch) Handle(ctx context.Context, rec slog.Record) error {
	if rec.Level >= slog.LevelError {
		w.replicas.mu.Lock()
		w.replicas.self.LastError, w.replicas.self.LastErrorMS = rec.Message, rec.Time.UnixMilli()
		w.replicas.mu.Unlock()
	}
	if !w.Handler.Enabled(ctx, rec.Level) {
		return nil
	}
	return w.Handler.Handle(ctx, rec)
}

func (w *errorWatch) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &errorWatch{w.Handler.WithAttrs(attrs), w.replicas}
}

func (w *errorWatch) WithGroup(name string) slog.Handler {
	return &errorWatch{w.Handler.WithGroup(name), w.replicas}
}

// describe returns this process as it is now.
func (r *Replicas) describe(config int64) replica {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.self.ConfigVersion, r.self.SeenMS = config, r.now().UnixMilli()
	return r.self
}

// work describes this process until ctx is done, and then removes it. What cannot be written is
// missing in the list for a while, and is no reason to serve less.
func (r *Replicas) work(ctx context.Context, id, version string, config func() int64, log *slog.Logger) {
	r.mu.Lock()
	r.self.ID, r.self.Version, r.self.StartedMS = id, version, r.now().UnixMilli()
	r.mu.Unlock()
	tick := time.NewTicker(replicaEvery)
	defer tick.Stop()
	for {
		data, err := json.Marshal(r.describe(config()))
		if err == nil {
			err = r.store.Set(ctx, replicasNamespace, id, data)
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("cannot report the status of this replica", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = r.store.Delete(last, replicasNamespace, id) // or it is forgotten later
			return
		}
	}
}

// Live returns the ids of the processes that serve from the database now, the oldest first. One that
// died is among them until it counts as lost.
func (r *Replicas) Live(ctx context.Context) (ids []string, err error) {
	list, err := r.list(ctx)
	for _, v := range list {
		if v.SeenMS >= r.now().Add(-replicaSilent).UnixMilli() {
			ids = append(ids, v.ID)
		}
	}
	return ids, err
}

// list returns the processes that were seen within the last hour, and forgets the others.
func (r *Replicas) list(ctx context.Context) ([]replica, error) {
	entries, err := r.store.List(ctx, replicasNamespace)
	if err != nil {
		return nil, err
	}
	out, old := []replica{}, r.now().Add(-replicaGone).UnixMilli()
	for _, e := range entries {
		var v replica
		if err := json.Unmarshal(e.Value, &v); err != nil || v.SeenMS < old {
			if err := r.store.Delete(ctx, replicasNamespace, e.Key); err != nil {
				return nil, err
			}
			continue
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b replica) int { return cmp.Or(cmp.Compare(a.StartedMS, b.StartedMS), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}

// fleet has the handler of the processes that serve.
type fleet struct {
	replicas *Replicas
	config   func() int64
}

func (h *fleet) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/system/replicas", Needs: permit.ReadServer, Handle: server.Handle(h.get),
			Summary: "List the processes that serve, with their versions and last errors", Replies: map[int]any{200: replicaList{}}},
	}
}

type replicaList struct {
	Items []replicaItem `json:"items"`
	// ConfigVersion is the newest version of the documents that a process has.
	ConfigVersion int64 `json:"config_version"`
	NowMS         int64 `json:"now_ms"`
}

type replicaItem struct {
	replica
	Lag  int64 `json:"lag"`  // versions of the documents behind the newest
	Lost bool  `json:"lost"` // it was not seen for a while
}

func (h *fleet) get(req *server.Request) error {
	list, err := h.replicas.list(req.Context())
	if err != nil {
		return err
	}
	now := h.replicas.now().UnixMilli()
	out := replicaList{Items: []replicaItem{}, ConfigVersion: h.config(), NowMS: now}
	for _, v := range list {
		out.ConfigVersion = max(out.ConfigVersion, v.ConfigVersion)
	}
	for _, v := range list {
		out.Items = append(out.Items, replicaItem{v, out.ConfigVersion - v.ConfigVersion, now-v.SeenMS > replicaSilent.Milliseconds()})
	}
	return req.Reply(200, out)
}
