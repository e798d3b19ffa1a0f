package body

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"sync"
	"time"

	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm"
)

// Config configures a [Writer].
type Config struct {
	Policy Policy
	// Store returns where the bodies of a tenant are kept.
	Store func(tenant string) Store
	// Share of the runs that [Sample] keeps, from 0 to 1.
	Share float64
	// MaxBytes is the size of a request, and of an answer, beyond which a part is left out; default 256 KiB.
	MaxBytes int
	Logger   *slog.Logger // nil discards
}

const (
	defaultBytes = 256 << 10
	// waiting is how many bytes may wait for the store. What comes then is lost.
	waiting = 32 << 20
	// collect is how long bodies wait for others.
	collect = 200 * time.Millisecond
	// homelessFor is how often a body is tried whose thread does not exist yet: a child's may begin with its first commit.
	homelessFor = 150
)

// Writer stores bodies. It implements the engine's Tap.
type Writer struct {
	cfg Config

	mu    sync.Mutex
	queue []queued
	size  int
	lost  uint64
	wake  chan struct{}

	writing sync.Mutex // guards what follows
	packer  *flate.Writer
	late    []queued // whose threads do not exist yet
}

// queued is a body on its way to the store.
type queued struct {
	tenant string
	Stored
	tries int
}

// NewWriter returns a writer, or nil if the policy keeps nothing.
func NewWriter(cfg Config) *Writer {
	if cfg.Policy == "" || cfg.Policy == Off {
		return nil
	}
	cfg.MaxBytes = cmp.Or(cfg.MaxBytes, defaultBytes)
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	return &Writer{cfg: cfg, wake: make(chan struct{}, 1)}
}

// Inferred keeps an exchange if the policy says so.
func (w *Writer) Inferred(step int, x *llm.Exchange) {
	at := x.Request.Routing
	if !w.wants(at.RunID, x.Err) {
		return
	}
	tenant := ""
	if c := x.Request.Caller; c != nil {
		tenant, _ = c.Customer()
	}
	id := ids.New()
	data, err := encode(id, step, x, w.cfg.MaxBytes)
	if err != nil {
		w.cfg.Logger.Warn("cannot store the body of a model request", "run", at.RunID, "error", err)
		return
	}
	w.add(queued{tenant: tenant, Stored: Stored{ThreadID: at.ThreadID, RunID: at.RunID, ID: id, Data: data}})
}

// wants reports whether the policy keeps a request.
func (w *Writer) wants(runID string, err error) bool {
	le, known := errors.AsType[*llm.Error](err)
	failed := err != nil && !errors.Is(err, context.Canceled) && !(known && le.Kind == llm.Cancelled)
	switch w.cfg.Policy {
	case All:
		return true
	case Sample:
		return failed || chosen(runID, w.cfg.Share)
	}
	return failed
}

// chosen reports whether a run is in a share of all runs. All processes choose the same.
func chosen(runID string, share float64) bool {
	h := fnv.New64a()
	h.Write([]byte(runID))
	x := h.Sum64()
	x ^= x >> 33 // the last bytes of an id change little of the high bits of FNV
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11)/(1<<53) < share
}

func (w *Writer) add(q queued) {
	w.mu.Lock()
	if w.size+len(q.Data) > waiting {
		w.lost++
		w.mu.Unlock()
		return
	}
	w.queue, w.size = append(w.queue, q), w.size+len(q.Data)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Lost returns how many bodies could not be stored. A nil Writer has lost none.
func (w *Writer) Lost() uint64 {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// Serve stores bodies until ctx is done, and then what is left.
func (w *Writer) Serve(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-w.wake:
		}
		w.pause(ctx)
		w.Flush(context.WithoutCancel(ctx))
		if w.again() {
			select {
			case w.wake <- struct{}{}:
			default:
			}
		}
	}
}

func (w *Writer) pause(ctx context.Context) {
	t := time.NewTimer(collect)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// again reports whether some bodies wait for their thread.
func (w *Writer) again() bool {
	w.writing.Lock()
	defer w.writing.Unlock()
	return len(w.late) > 0
}

// Flush stores the bodies that have arrived. Those that cannot be stored are logged and counted.
func (w *Writer) Flush(ctx context.Context) {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	list := w.queue
	w.queue, w.size = nil, 0
	w.mu.Unlock()
	for i := range list {
		list[i].Data = w.pack(list[i].Data)
	}
	list = append(w.late, list...)
	w.late = nil
	for len(list) > 0 {
		tenant, tries := list[0].tenant, map[string]int{}
		var own []Stored
		rest := list[:0:0]
		for _, q := range list {
			if q.tenant != tenant {
				rest = append(rest, q)
				continue
			}
			own = append(own, q.Stored)
			tries[q.ID] = q.tries
		}
		list = rest
		w.store(ctx, tenant, own, tries)
	}
}

// store stores bodies of a tenant.
func (w *Writer) store(ctx context.Context, tenant string, own []Stored, tries map[string]int) {
	s := w.cfg.Store(tenant)
	if s == nil {
		w.lose(len(own))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	homeless, err := s.AddBodies(ctx, own)
	if err != nil {
		w.lose(len(own))
		w.cfg.Logger.Warn("cannot store bodies of model requests", "count", len(own), "error", err)
		return
	}
	for _, h := range homeless {
		if n := tries[h.ID] + 1; n < homelessFor {
			w.late = append(w.late, queued{tenant, h, n})
		} else {
			w.lose(1)
		}
	}
}

func (w *Writer) lose(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost += uint64(n)
}

// pack compresses data. It requires writing.
func (w *Writer) pack(data []byte) []byte {
	var buf bytes.Buffer
	if w.packer == nil {
		w.packer, _ = flate.NewWriter(&buf, flate.BestSpeed) // the level is valid
	} else {
		w.packer.Reset(&buf)
	}
	_, _ = w.packer.Write(data) // a buffer never fails
	_ = w.packer.Close()
	return buf.Bytes()
}
