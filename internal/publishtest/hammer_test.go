//go:build unix

package publishtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/memory"
)

const (
	clients = 16
	pairs   = 4
)

// writes returns how many writes to make on a database. Ten of each client are one of every kind and more.
func writes() int { return testenv.Times(10*clients, 100_000) }

// replica is a manager and a runtime on a shared database.
type replica struct {
	*config.Manager
	rt    *engine.Runtime
	store config.Store
}

func newReplica(t *testing.T, place rigtest.Store) *replica {
	t.Helper()
	store := place.Use(t).Config()
	o, err := options(store)
	if err != nil {
		t.Fatal(err)
	}
	o.Poll, o.MinApply = 200*time.Millisecond, 50*time.Millisecond
	m, err := config.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	rt, err := engine.New(engine.Config{Versions: m, Store: memory.New()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return &replica{m, rt, store}
}

// TestHammer writes from many clients on two managers, with concurrent readers and runs.
func TestHammer(t *testing.T) {
	for _, kind := range rigtest.Sample(rigtest.Postgres) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			place := rigtest.NewStore(t, kind, server)
			one := newReplica(t, place)
			h := &hammer{T: t, writes: writes(), replicas: []*replica{one}}
			h.prepare(one)
			h.replicas = append(h.replicas, newReplica(t, place))
			h.run()
			h.verify()
		})
	}
}

type hammer struct {
	*testing.T
	writes   int
	replicas []*replica

	counted  atomic.Int64          // accepted increments
	sections [clients]atomic.Int64 // the last override of each client
	applied  atomic.Int64          // accepted writes
	stale    atomic.Int64
	runs     atomic.Int64
	looks    atomic.Int64
}

func (h *hammer) prepare(r *replica) {
	h.Helper()
	ctx := h.Context()
	must := func(err error) {
		h.Helper()
		if err != nil {
			h.Fatal(err)
		}
	}
	must(put(ctx, r.Manager, document("providers/p", `"adapter":"x","api_key":"sk-x"`)))
	for n := range pairs {
		_, err := r.Apply(ctx, pair(n, 0), false, false, me)
		must(err)
	}
	must(put(ctx, r.Manager, document("agents/counter", `"model_id":"pair-0","system_prompt":"0"`)))
	must(r.Seed(ctx, "v1", []config.Document{document("agents/seeded", `"model_id":"pair-0"`)}))
}

// run lets all goroutines work until the writes are done.
func (h *hammer) run() {
	ctx, stop := context.WithCancel(h.Context())
	var workers, writers sync.WaitGroup
	for i, r := range h.replicas {
		workers.Go(func() { _ = r.Work(ctx) })
		for range 2 {
			workers.Go(func() { h.read(ctx, r) })
			workers.Go(func() { h.runAgents(ctx, r) })
		}
		for c := i; c < clients; c += len(h.replicas) {
			writers.Go(func() { h.write(ctx, r, c, h.writes/clients) })
		}
	}
	began := time.Now()
	writers.Wait()
	took := time.Since(began)
	stop()
	workers.Wait()
	h.Logf("%d writes in %v, %d found another revision, %d runs, %d looks", h.applied.Load(), took.Round(time.Millisecond), h.stale.Load(), h.runs.Load(), h.looks.Load())
}

// write is one client.
func (h *hammer) write(ctx context.Context, r *replica, client, count int) {
	own := false // whether the client has an agent of its own
	for i := range count {
		if h.Failed() {
			return
		}
		var err error
		switch (i + client) % 8 { // clients do different things at the same time
		case 0:
			err = h.increment(ctx, r)
		case 1, 2, 5:
			_, err = r.Apply(ctx, pair(rand.IntN(pairs), fmt.Sprintf("%d.%d", client, i)), false, false, me)
		case 3, 6:
			n := int64(i + 1)
			_, err = r.Override(ctx, key("agents/seeded"), json.RawMessage(fmt.Sprintf(`{"sections":{"client-%d":{"n":%d}}}`, client, n)), false, config.Condition{}, me)
			if err == nil {
				h.sections[client].Store(n)
			}
		case 4, 7:
			d := document(fmt.Sprintf("agents/own-%d", client), `"model_id":"pair-1","system_prompt":"%d"`, i)
			if own = !own; own {
				err = put(ctx, r.Manager, d)
			} else {
				err = r.Delete(ctx, d.Key, false, config.Condition{}, me)
			}
		}
		if err != nil {
			h.Errorf("client %d, write %d: %v", client, i, err)
			return
		}
		h.applied.Add(1)
	}
}

// increment increments a number that all clients share.
func (h *hammer) increment(ctx context.Context, r *replica) error {
	for {
		v, err := r.Get(ctx, key("agents/counter"))
		if err != nil {
			return err
		}
		n, err := counter(v)
		if err != nil {
			return err
		}
		d := document("agents/counter", `"model_id":"pair-0","system_prompt":"%d"`, n+1)
		_, err = r.Put(ctx, d.Key, d.Spec, false, config.Condition{Revision: v.Meta.Revision}, me)
		if errors.Is(err, config.ErrStale) {
			h.stale.Add(1)
			continue
		}
		if err == nil {
			h.counted.Add(1)
		}
		return err
	}
}

func counter(v *config.View) (int, error) {
	var spec struct {
		SystemPrompt string `json:"system_prompt"`
	}
	if err := json.Unmarshal(v.Spec, &spec); err != nil {
		return 0, err
	}
	return strconv.Atoi(spec.SystemPrompt)
}

// read checks registries: versions only increase, and the documents of one belong together.
func (h *hammer) read(ctx context.Context, r *replica) {
	var last int64
	for ctx.Err() == nil && !h.Failed() {
		reg := r.Registry()
		n, err := strconv.ParseInt(reg.ID(), 10, 64)
		if err != nil || n < last {
			h.Errorf("version %s after %d (%v)", reg.ID(), last, err)
		}
		for _, a := range reg.AgentIDs() {
			spec := reg.Agent(a)
			if spec == nil || spec.ID != a {
				h.Errorf("version %s has agent %s as %+v", reg.ID(), a, spec)
			}
		}
		if n > 20 && n > last+10 {
			old := strconv.FormatInt(n-rand.Int64N(20), 10)
			if pinned, err := r.Pinned(ctx, old); ctx.Err() == nil && (err != nil || pinned.ID() != old) {
				h.Errorf("version %s: %v", old, err)
			}
		}
		last = n
		h.looks.Add(1)
		pause(ctx)
	}
}

// runAgents runs agents whose two steps must see the same version of both documents.
func (h *hammer) runAgents(ctx context.Context, r *replica) {
	for ctx.Err() == nil && !h.Failed() {
		agent := fmt.Sprintf("pair-%d", rand.IntN(pairs))
		res, err := r.rt.Run(ctx, awaken.RunRequest{AgentID: agent, Messages: []*llm.Message{llm.UserText("hi")}}, nil)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			h.Errorf("run of %s: %v", agent, err)
			return
		}
		run, err := r.rt.Store().LoadRun(ctx, res.RunID)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			h.Error(err)
			return
		}
		first, second, _ := strings.Cut(run.FinalOutput, "|")
		prompt, model, _ := strings.Cut(first, " ")
		if first == "" || first != second || prompt != model {
			h.Errorf("a run on version %s saw %q", run.ResolutionID, run.FinalOutput)
		}
		h.runs.Add(1)
		pause(ctx)
	}
}

// pause yields the processor to the writers.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Millisecond):
	}
}

// verify checks the final state.
func (h *hammer) verify() {
	ctx := h.Context()
	m := h.replicas[0].Manager
	v, err := m.Get(ctx, key("agents/counter"))
	if err != nil {
		h.Fatal(err)
	}
	if n, err := counter(v); err != nil || int64(n) != h.counted.Load() {
		h.Errorf("the counter is %d (%v), want %d: updates were lost", n, err, h.counted.Load())
	}
	seeded, err := m.Get(ctx, key("agents/seeded"))
	if err != nil {
		h.Fatal(err)
	}
	for c := range clients {
		if want := fmt.Sprintf(`"client-%d":{"n":%d}`, c, h.sections[c].Load()); !strings.Contains(string(seeded.Spec), want) {
			h.Errorf("the overrides are %s, want %s among them: one was lost", seeded.Spec, want)
		}
	}
	for _, r := range h.replicas {
		for _, p := range check(ctx, r.store) {
			h.Error(p)
		}
	}
	if h.runs.Load() == 0 || h.looks.Load() == 0 {
		h.Error("no runs or reads happened")
	}
}
