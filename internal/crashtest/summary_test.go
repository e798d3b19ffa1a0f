//go:build unix

package crashtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/failpoint"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/trace/replay/replaytest"
)

// summaryStory is a conversation that becomes too long and is summarised.
const summaryStory = "summary"

const (
	summaryRuns  = 5  // and more, as long as there is no summary
	mostRuns     = 99 // a summary may be slow to come
	summaryModel = "summary"
)

// TestKill_Summaries kills processes at every place on the way of a summary into the
// conversation, and again while others go on. Nothing of the log is lost or said twice,
// what the model is shown is whole, and in the end there is a summary.
func TestKill_Summaries(t *testing.T) {
	points := slices.DeleteFunc(failpoint.Names(), func(p string) bool { return !strings.HasPrefix(p, "compaction.") })
	others := append([]string{"commit.before", "commit.after", "run.opened", "inference.after", "finish.before", "finish.after", "park.after"}, points...)
	rounds := testenv.Times(1, 40)
	for _, name := range slices.Sorted(maps.Keys(backends)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := crashSeed()
			rng := rand.New(rand.NewPCG(seed, 1))
			kills, hit := 0, map[string]int{}
			var played replays
			for round := range rounds {
				for _, point := range points {
					late := point == "compaction.left" || point == "compaction.posting" || point == "compaction.posted" || round%2 == 1
					plan := []string{point + ":1"}
					for len(plan) < 3 && rng.IntN(2) > 0 {
						plan = append(plan, fmt.Sprintf("%s:%d", others[rng.IntN(len(others))], 1+rng.IntN(2)))
					}
					j := job{Store: name, Dir: t.TempDir(), Story: summaryStory}
					j.Where = backends[name].place(j.Dir)
					for i, spec := range append(plan, "") {
						j.Number, j.Late = i, late && spec != ""
						killed, err := testenv.RunJob(t.Context(), j, spec)
						if err != nil {
							t.Fatalf("%s=%d: killed at %q: %v", seedVar, seed, plan, err)
						}
						if killed {
							at, _, _ := strings.Cut(spec, ":")
							hit[at]++
							kills++
						}
					}
					for _, p := range checkSummaries(t, j, &played) {
						t.Errorf("%s=%d: killed at %q: %s", seedVar, seed, plan, p)
					}
				}
			}
			t.Logf("%s=%d: %d processes killed on %s: %v", seedVar, seed, kills, name, hit)
			played.check(t)
			for _, p := range points {
				if hit[p] == 0 {
					t.Errorf("%s=%d: no process was killed at %s", seedVar, seed, p)
				}
			}
		})
	}
}

// checkSummaries looks at what is left in the end.
func checkSummaries(t *testing.T, j job, played *replays) (problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	s, err := backends[j.Store].open(j.Where)
	if err != nil {
		return []string{err.Error()}
	}
	defer func() { _ = s.Close() }()
	if err := checkWhole(t.Context(), s); err != nil {
		bad("%v", err)
	}
	log, err := s.Messages(t.Context(), threadID, awaken.MessageQuery{})
	if err != nil {
		return append(problems, err.Error())
	}
	var view awaken.View
	said, summaries := map[string]int{}, 0
	for _, rec := range log {
		view.Append(rec.Message)
		if md := rec.Message.Metadata; md != nil && md.Compaction != nil {
			summaries++
			if md.Compaction.FromSeq < 1 || md.Compaction.ToSeq >= rec.Seq || md.Compaction.FromSeq > md.Compaction.ToSeq {
				bad("the summary %d stands for %+v", rec.Seq, *md.Compaction)
			}
			continue
		}
		said[string(rec.Message.Role)+" "+strings.Fields(rec.Message.Text() + " -")[0]]++
	}
	if summaries == 0 {
		cp, err := s.Acquire(t.Context(), threadID)
		if err != nil {
			return append(problems, err.Error())
		}
		bad("there is no summary: %s", cp.ThreadState[builtin.Compactions.Name()])
	}
	runs, err := s.ListRuns(t.Context(), awaken.RunQuery{Limit: mostRuns})
	if err != nil || len(runs) < summaryRuns {
		bad("there are %d runs: %v", len(runs), err)
	}
	if err := played.play(t.Context(), s, runs, world(t.TempDir())); err != nil {
		bad("%v", err)
	}
	for i := range runs {
		for _, line := range []string{fmt.Sprintf("user ask-%d", i), fmt.Sprintf("assistant look-%d", i), fmt.Sprintf("assistant answer-%d", i)} {
			if said[line] != 1 {
				bad("%q is in the log %d times", line, said[line])
			}
		}
	}
	shown, covered, open := map[*llm.Message]bool{}, map[int]bool{}, map[string]bool{}
	for _, m := range view.Messages() {
		shown[m] = true
		if md := m.Metadata; md != nil && md.Compaction != nil {
			for i := md.Compaction.FromSeq; i <= md.Compaction.ToSeq; i++ {
				covered[i] = true
			}
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		if m.Role == llm.ToolRole && !open[m.ToolCallID] {
			bad("what the model is shown has an answer to %q, and no call", m.ToolCallID)
		}
	}
	for _, rec := range log {
		if md := rec.Message.Metadata; !shown[rec.Message] && !covered[rec.Seq] && (md == nil || md.Compaction == nil) { // a summary may be summarised in its turn
			bad("message %d is neither shown nor summarised", rec.Seq)
		}
	}
	if b, ok := s.(money.Budget); ok {
		// The last process may have ended while it summarised, like those that were killed.
		rt, err := engine.New(engine.Config{Store: s, Now: func() time.Time { return time.Now().Add(24 * time.Hour) }})
		if err == nil {
			err = rt.SettleLost(t.Context())
		}
		if err != nil {
			bad("%v", err)
		}
		held, err := b.Reservations(t.Context())
		if err != nil || len(held) > 0 {
			bad("%d reservations are left: %v", len(held), err)
		}
	}
	return problems
}

// replays counts the runs that were replayed, and has the differences of those that were not equal.
type replays struct {
	runs      int
	different []error
}

// play replays the runs of a conversation, each alone. Messages, calls and results are the same, and all events of a run that no process lost.
func (r *replays) play(ctx context.Context, s store, runs []*awaken.Run, w world) error {
	cfg, err := summarising(w, &speaker{})
	if err != nil {
		return err
	}
	for _, run := range runs {
		r.runs++
		if _, err := replaytest.Play(ctx, cfg, s, run.RunID); err != nil {
			r.different = append(r.different, err)
		}
	}
	if marks := w.read(); len(marks) > 0 {
		return fmt.Errorf("replays made the effects %v", marks)
	}
	return nil
}

// check reports the replays that are not equal.
func (r *replays) check(t *testing.T) {
	t.Helper()
	t.Logf("%d of %d runs replay equal", r.runs-len(r.different), r.runs)
	for _, err := range r.different {
		t.Error(err)
	}
}

// summarise continues the conversation until it is complete. Each process lives in a
// time in which attempts of those before are lost.
func summarise(j job, store store) error {
	m := &speaker{over: make(chan struct{})}
	m.late.Store(j.Late)
	cfg, err := summarising(j.world(), m)
	if err != nil {
		return err
	}
	cfg.Store, cfg.Now = store, func() time.Time { return time.Now().Add(time.Duration(j.Number) * 10 * time.Minute) }
	if _, ok := store.(money.Budget); ok {
		cfg.TenantBudget = new(100.0)
	}
	rt, err := engine.New(cfg)
	if err != nil {
		return err
	}
	return converse(rt, m, store)
}

// summarising is the agent whose conversations are summarised.
func summarising(w world, m llm.Model) (engine.Config, error) {
	policy := awaken.DefaultContextPolicy()
	policy.MaxContextTokens, policy.MaxOutputTokens, policy.MinRecentMessages, policy.CompactionRawSuffixMessages = 20_000, 1000, 2, 1
	policy.AutocompactThreshold = new(1500)
	agent := &awaken.AgentSpec{ID: "default", ModelID: "m", ContextPolicy: &policy}
	section, err := registry.CompactionSection.Read(agent)
	if err != nil {
		return engine.Config{}, err
	}
	section.SummaryModel = new(summaryModel)
	if err := registry.CompactionSection.Set(agent, section); err != nil {
		return engine.Config{}, err
	}
	free := awaken.Prices{InputPrice: new(1.0), OutputPrice: new(1.0)}
	return engine.Config{
		Agents:    []*awaken.AgentSpec{agent},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "speaker", Prices: free}, {ID: "s", ProviderID: "p", UpstreamModel: summaryModel, Prices: free}},
		Providers: map[string]llm.Model{"p": m},
		Tools:     tools(w),
	}, nil
}

// converse starts runs on the thread until it has a summary.
func converse(rt *engine.Runtime, m *speaker, store store) error {
	ctx := context.Background()
	for i := range mostRuns {
		id := fmt.Sprint("run-", i)
		req := awaken.RunRequest{Continue: id}
		run, err := store.LoadRun(ctx, id)
		switch {
		case errors.Is(err, awaken.ErrNotFound):
			if there, err := summarised(ctx, store); i >= summaryRuns && (err != nil || there) {
				return err
			}
			req = awaken.RunRequest{ThreadID: threadID, RunID: id, Messages: []*llm.Message{llm.UserText(fmt.Sprintf("ask-%d %s", i, strings.Repeat("word", 300)))}}
		case err != nil:
			return err
		case run.Status == awaken.RunDone:
			continue
		}
		if _, err := rt.Run(ctx, req, nil); err != nil {
			return err
		}
		if err := m.deliver(ctx, store); err != nil {
			return err
		}
	}
	return nil
}

// summarised reports whether the log has a summary.
func summarised(ctx context.Context, store store) (bool, error) {
	log, err := store.Messages(ctx, threadID, awaken.MessageQuery{})
	return slices.ContainsFunc(log, func(r awaken.MessageRecord) bool {
		return r.Message.Metadata != nil && r.Message.Metadata.Compaction != nil
	}), err
}

// speaker asks for one tool and answers at length, and summarises.
type speaker struct {
	late, asked atomic.Bool
	over        chan struct{} // closed when the run is over that a summary is for
}

// deliver lets a late summary come, and waits for it.
func (m *speaker) deliver(ctx context.Context, store store) error {
	if !m.late.Load() || !m.asked.Load() {
		return nil
	}
	m.late.Store(false)
	close(m.over)
	for range 1000 {
		if items, err := store.Unread(ctx, threadID); err != nil || len(items) > 0 {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return errors.New("the summary did not come")
}

func (m *speaker) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var deltas []llm.Delta
		finish := llm.EndTurn
		last := req.Messages.At(req.Messages.Len() - 1)
		number := ""
		for _, msg := range req.Messages.All() {
			if n, ok := strings.CutPrefix(strings.Fields(msg.Text() + " -")[0], "ask-"); ok {
				number = n
			}
		}
		switch {
		case req.Model == summaryModel:
			if m.late.Load() {
				m.asked.Store(true)
				<-m.over
			}
			deltas = []llm.Delta{{Kind: llm.TextDelta, Text: "They talked."}}
		case last.Role == llm.ToolRole:
			time.Sleep(10 * time.Millisecond) // a summary may come meanwhile
			deltas = []llm.Delta{{Kind: llm.TextDelta, Text: fmt.Sprintf("answer-%s %s", number, strings.Repeat("word", 500))}}
		default:
			finish = llm.ToolUse
			id := "call-" + number
			deltas = []llm.Delta{{Kind: llm.TextDelta, Text: "look-" + number + " "}, {Kind: llm.ToolCallStart, ID: id, Name: "read"}, {Kind: llm.ToolCallDelta, ID: id, Text: `{"note":"x"}`}}
		}
		deltas = append(deltas, llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{PromptTokens: 1000, CompletionTokens: 500}}, llm.Delta{Kind: llm.FinishDelta, Finish: finish})
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
	}
}
