//go:build unix

package publishtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/failpoint"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
)

// job tells a worker process what to do.
type job struct {
	Store rigtest.Store
	Round int
}

// work is a process that writes, alternating between two managers, so that each must follow
// the other. It builds on what earlier processes left behind.
func work(j job) error {
	ctx := context.Background()
	var ms []*config.Manager
	for range 2 {
		db, err := j.Store.Open(ctx)
		if err != nil {
			return err
		}
		defer db.Close()
		o, err := options(db.Config())
		if err != nil {
			return err
		}
		m, err := config.Open(ctx, o)
		if err != nil {
			return err
		}
		defer m.Close()
		ms = append(ms, m)
	}
	if err := failpoint.EnableFromEnv(); err != nil {
		return err
	}
	for i, step := range script(j.Round) {
		if err := step(ctx, ms[i%2]); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

// script makes every kind of change. Each round writes other values.
func script(round int) []func(context.Context, *config.Manager) error {
	age := fmt.Sprintf("r%d", round)
	var steps []func(context.Context, *config.Manager) error
	add := func(f func(context.Context, *config.Manager) error) { steps = append(steps, f) }
	write := func(d config.Document) {
		add(func(ctx context.Context, m *config.Manager) error { return put(ctx, m, d) })
	}
	apply := func(docs ...config.Document) {
		add(func(ctx context.Context, m *config.Manager) error {
			_, err := m.Apply(ctx, docs, false, false, me)
			return err
		})
	}
	unless := func(err error, is ...error) error {
		if slices.ContainsFunc(is, func(e error) bool { return errors.Is(err, e) }) {
			return nil
		}
		return err
	}
	// A provider and its secret belong to the same write.
	write(document("providers/p", `"adapter":"%s","api_key":"sk-%s"`, age, age))
	apply(pair(0, age)...)
	for i := range 3 {
		write(document("agents/count", `"model_id":"pair-0","system_prompt":"%s.%d"`, age, i))
	}
	add(func(ctx context.Context, m *config.Manager) error {
		err := put(ctx, m, document("agents/refused", `"model_id":"none"`))
		return unless(err, awaken.ErrInvalid)
	})
	add(func(ctx context.Context, m *config.Manager) error {
		return m.Seed(ctx, age, []config.Document{document("agents/seeded", `"model_id":"pair-0"`)})
	})
	add(func(ctx context.Context, m *config.Manager) error {
		_, err := m.Override(ctx, key("agents/seeded"), json.RawMessage(fmt.Sprintf(`{"system_prompt":%q}`, age)), false, config.Condition{}, me)
		return err
	})
	write(document("agents/back", `"model_id":"pair-0","system_prompt":"%s"`, age))
	write(document("agents/back", `"model_id":"pair-0","system_prompt":"%s again"`, age))
	add(func(ctx context.Context, m *config.Manager) error {
		head, err := m.Versions().Head(ctx)
		if err != nil {
			return err
		}
		_, err = m.Versions().Rollback(ctx, head.Live-1, me)
		return err
	})
	add(func(ctx context.Context, m *config.Manager) error {
		_, err := m.Put(ctx, key("agents/draft"), document("agents/draft", `"model_id":"pair-0","system_prompt":"%s"`, age).Spec, true, config.Condition{}, me)
		return err
	})
	add(func(ctx context.Context, m *config.Manager) error {
		_, err := m.Drafts().Publish(ctx, []config.Key{key("agents/draft")}, &config.Canary{Share: 0.5}, "", me)
		return unless(err, awaken.ErrConflict, awaken.ErrInvalid) // an earlier process has begun a canary
	})
	add(func(ctx context.Context, m *config.Manager) error {
		_, err := m.Canary().Promote(ctx, me)
		if errors.Is(err, awaken.ErrConflict) {
			_, err = m.Canary().Drop(ctx, me)
		}
		return err
	})
	add(func(ctx context.Context, m *config.Manager) error {
		return unless(m.Delete(ctx, key("agents/draft"), false, config.Condition{}, me), awaken.ErrNotFound)
	})
	return steps
}

// check checks what a process left behind.
func check(ctx context.Context, store config.Store) (problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	o, err := options(store)
	if err != nil {
		return []string{err.Error()}
	}
	m, err := config.Open(ctx, o)
	if err != nil {
		return []string{err.Error()}
	}
	defer m.Close()
	for _, d := range m.Diagnostics() {
		if d.Severity == awaken.SeverityError {
			bad("it does not compile: %v", d)
		}
	}
	head, err := m.Versions().Head(ctx)
	if err != nil {
		return append(problems, err.Error())
	}
	events, err := all(ctx, m)
	if err != nil {
		return append(problems, err.Error())
	}
	audited, writes := map[int64]bool{}, map[string]int64{}
	for _, e := range events {
		audited[e.Version] = true
		switch e.Action {
		case "create", "update":
			writes[e.Resource]++
		case "delete":
			writes[e.Resource] = 0
		}
	}
	for n := max(1, head.Last-40); n <= head.Last; n++ { // those made since the last check
		p, err := m.Versions().Get(ctx, n)
		if err != nil || p.Number != n {
			bad("version %d of %d: %v", n, head.Last, err)
			continue
		}
		if !audited[n] {
			bad("version %d (%s %s) is not in the audit log", n, p.Kind, p.Note)
		}
		if _, err := m.Versions().Documents(ctx, n); err != nil {
			bad("version %d: %v", n, err)
		}
	}
	for n := range audited {
		if n > head.Last {
			bad("the audit log has version %d, the last is %d", n, head.Last)
		}
	}
	// Except for the draft, records match what is live.
	drafts, err := m.Drafts().List(ctx)
	if err != nil {
		return append(problems, err.Error())
	}
	for _, v := range drafts {
		if v.Key != key("agents/draft") {
			bad("record %s is not what is live", v.Key)
		}
	}
	if head.Live > 0 {
		live, err := m.Versions().Get(ctx, head.Live)
		if err != nil {
			return append(problems, err.Error())
		}
		for _, e := range live.Manifest {
			if _, err := m.Get(ctx, e.Key); err != nil {
				bad("live %s: %v", e.Key, err)
			}
		}
	}
	if v, err := m.Get(ctx, key("agents/count")); err == nil && v.Meta.Revision != writes["agents/count"] {
		bad("agents/count has revision %d and %d events", v.Meta.Revision, writes["agents/count"])
	}
	err = m.Connections().TryProvider("p", func(model llm.Model) error {
		if w := model.(witness); w.key != "sk-"+w.adapter {
			bad("the provider is %s and its secret of another age", w.adapter)
		}
		return nil
	})
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		bad("provider: %v", err)
	}
	if a := m.Registry().Agent("pair-0"); a != nil {
		v, err := m.Get(ctx, key("models/pair-0"))
		if err != nil || !strings.Contains(string(v.Spec), fmt.Sprintf(`"upstream_model":%q`, a.SystemPrompt)) {
			bad("the agent is %q and its model %v (%v)", a.SystemPrompt, v, err)
		}
	}
	return problems
}

// all returns the audit log, oldest first.
func all(ctx context.Context, m *config.Manager) ([]*config.AuditEvent, error) {
	var out []*config.AuditEvent
	q := config.AuditQuery{Limit: 1000}
	for {
		page, err := m.Audit().List(ctx, q)
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		if len(page) < q.Limit {
			slices.Reverse(out)
			return out, nil
		}
		q.Before = page[len(page)-1].ID
	}
}

func TestKill(t *testing.T) {
	for _, kind := range rigtest.Sample(rigtest.SQLite) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			place := rigtest.NewStore(t, kind, server)
			var points []string
			for _, p := range failpoint.Names() {
				if strings.HasPrefix(p, "config.") {
					points = append(points, p)
				}
			}
			hits := []int{1, 12}
			if testenv.Long() {
				hits = []int{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16}
			}
			round, kills := 0, map[string]int{}
			for _, hit := range hits {
				for _, p := range points {
					round++
					spec := fmt.Sprintf("%s:%d", p, hit)
					killed, err := testenv.RunJob(t.Context(), job{place, round}, spec)
					if err != nil {
						t.Fatal(err)
					}
					if killed {
						kills[p]++
					}
					inspect(t, place, spec)
				}
			}
			for _, p := range points {
				if kills[p] == 0 {
					t.Errorf("no process was killed at %s", p)
				}
			}
			round++
			if _, err := testenv.RunJob(t.Context(), job{place, round}, ""); err != nil { // and to the end
				t.Fatal(err)
			}
			inspect(t, place, "the end")
			t.Logf("killed %v", slices.Sorted(maps.Keys(kills)))
		})
	}
}

func inspect(t *testing.T, place rigtest.Store, after string) {
	t.Helper()
	db, err := place.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, p := range check(t.Context(), db.Config()) {
		t.Errorf("after %s: %s", after, p)
	}
	if t.Failed() {
		t.FailNow()
	}
}
