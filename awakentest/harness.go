package awakentest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

// Scripted is the id of the model that a harness adds, and of its provider. The model plays
// the turns of the harness. Agents without a model use it.
const Scripted = "scripted"

// Epoch is the initial time of a harness's clock.
var Epoch = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// Harness runs agents with a scripted model and records what happens.
type Harness struct {
	Runtime *engine.Runtime
	Store   awaken.Store
	Model   *llmtest.Script // plays the turns and records its requests

	// OnEvent, if set, is called with every event as it is published, in the goroutine of
	// the run. Use it to cancel, decide or send in the middle of a run.
	OnEvent func(awaken.Entry)

	tb  TB
	ctx context.Context

	lost map[string]bool // threads that another owner has acquired

	mu  sync.Mutex
	now time.Time
}

// New returns a harness for cfg. Fields that cfg leaves out get defaults: an agent named
// "default", a model that plays turns, an in-memory store, sequential ids, a clock that only
// Advance moves, and a logger that writes to the test's output. The test ends if cfg is
// invalid.
func New(tb TB, cfg engine.Config, turns ...llmtest.Turn) *Harness {
	tb.Helper()
	h := &Harness{Model: llmtest.NewScript(turns...).Record(), tb: tb, ctx: tb.Context(), now: Epoch, lost: map[string]bool{}}
	if len(cfg.Agents) == 0 {
		cfg.Agents = []*awaken.AgentSpec{{ID: engine.DefaultAgentID}}
	}
	cfg.Agents = slices.Clone(cfg.Agents)
	for i, a := range cfg.Agents {
		if a != nil && a.ModelID == "" {
			spec := *a
			spec.ModelID = Scripted
			cfg.Agents[i] = &spec
		}
	}
	if !slices.ContainsFunc(cfg.Models, func(m awaken.ModelSpec) bool { return m.ID == Scripted }) {
		cfg.Models = append(slices.Clip(cfg.Models), awaken.ModelSpec{ID: Scripted, ProviderID: Scripted, UpstreamModel: Scripted})
	}
	if cfg.Providers = maps.Clone(cfg.Providers); cfg.Providers == nil {
		cfg.Providers = map[string]llm.Model{}
	}
	if cfg.Providers[Scripted] == nil {
		cfg.Providers[Scripted] = h.Model
	}
	if cfg.Store == nil {
		cfg.Store = memory.New()
	}
	if cfg.NewID == nil {
		cfg.NewID = Counter("id-")
	}
	if cfg.Now == nil {
		cfg.Now = h.clock
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(tb.Output(), nil))
	}
	rt, err := engine.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	h.Runtime, h.Store = rt, cfg.Store
	return h
}

// Counter returns a function that generates the ids prefix1, prefix2, and so on.
func Counter(prefix string) func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprintf("%s%d", prefix, n.Add(1)) }
}

// Turns parses the turns of a scripted model; see [llmtest.ParseScript] for the format.
func Turns(tb TB, script string) []llmtest.Turn {
	tb.Helper()
	turns, err := llmtest.ParseScript(strings.NewReader(script))
	if err != nil {
		tb.Fatal(err)
	}
	return turns
}

func (h *Harness) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// Advance moves the harness's clock forward. It does not fire timers; for those, use
// testing/synctest.
func (h *Harness) Advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// Recording is the result of one call of Run or Resume.
type Recording struct {
	Result  *awaken.RunResult // nil if the run could not start
	Err     error
	Entries []awaken.Entry // the streamed events
}

// Say runs the default agent on a new thread with one user message.
func (h *Harness) Say(text string) *Recording {
	h.tb.Helper()
	return h.Run(awaken.RunRequest{Messages: []*llm.Message{llm.UserText(text)}})
}

// Resume continues a waiting run.
func (h *Harness) Resume(runID string, decisions ...awaken.Decision) *Recording {
	h.tb.Helper()
	return h.record(func(sink awaken.Sink) (*awaken.RunResult, error) {
		return h.Runtime.Resume(h.ctx, runID, sink, decisions...)
	})
}

// Run runs req until the run ends, waits or fails, and checks its events.
func (h *Harness) Run(req awaken.RunRequest) *Recording {
	h.tb.Helper()
	return h.record(func(sink awaken.Sink) (*awaken.RunResult, error) {
		return h.Runtime.Run(h.ctx, req, sink)
	})
}

func (h *Harness) record(run func(awaken.Sink) (*awaken.RunResult, error)) *Recording {
	h.tb.Helper()
	rec := &Recording{}
	rec.Result, rec.Err = run(awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
		rec.Entries = append(rec.Entries, e)
		if h.OnEvent != nil {
			h.OnEvent(e)
		}
		return nil
	}))
	h.check(rec)
	return rec
}

func (h *Harness) check(rec *Recording) {
	h.tb.Helper()
	log, ok := h.Store.(awaken.EventLog)
	if errors.Is(rec.Err, awaken.ErrFenced) {
		// Another owner has acquired the thread: the stream ends where it was, and what
		// was not committed is lost.
		if len(rec.Entries) > 0 {
			if start, ok := rec.Entries[0].Event.(*awaken.RunStart); ok {
				h.lost[start.ThreadID] = true
			}
		}
		return
	}
	CheckEvents(h.tb, rec.Entries)
	if !ok || rec.Result == nil || len(rec.Entries) == 0 {
		return
	}
	id := rec.Result.ThreadID
	CheckLog(h.tb, log, id, rec.Entries)
	if h.lost[id] {
		return
	}
	// Check the whole log too, across all activations, including those that were not
	// recorded.
	stored, err := log.Entries(h.ctx, id, awaken.EntryQuery{})
	if err == nil {
		stored, err = Expand(stored)
	}
	if err != nil {
		h.tb.Error(err)
	}
	CheckEvents(h.tb, stored)
}

// Requests returns the requests to the scripted model, in order.
func (h *Harness) Requests() []*llmtest.Captured { return h.Model.Requests() }

// Messages returns the message log of a thread.
func (h *Harness) Messages(threadID string) []*llm.Message {
	h.tb.Helper()
	records, err := h.Store.Messages(h.ctx, threadID, awaken.MessageQuery{})
	if err != nil {
		h.tb.Fatal(err)
	}
	out := make([]*llm.Message, len(records))
	for i, r := range records {
		out[i] = r.Message
	}
	return out
}
