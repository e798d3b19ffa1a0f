// Package rolluptest checks that a store keeps the promises of [rollup.Store]. Every backend runs it:
//
//	func TestRollups(t *testing.T) {
//		rolluptest.Test(t, func(t *testing.T) rolluptest.Backend { return open(t) })
//	}
package rolluptest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/trace/rollup"
)

// Backend is a store to test. It is empty and not shared.
type Backend struct {
	Rollups rollup.Store
	Store   func(tenant string) mailbox.Handle
	// Changes is the log of changes that says which runs have ended; nil if it does not.
	Changes changelog.Store
	// Settle waits until the store knows which runs have ended; nil if it knows at once.
	Settle func()
}

func (b *Backend) settle() {
	if b.Settle != nil {
		b.Settle()
	}
}

// Test runs every case, each on a backend of its own.
func Test(t *testing.T, open func(t *testing.T) Backend) {
	for name, check := range map[string]func(t *testing.T, b Backend){
		"EndedRunsAreMarkedOnce": marks, "SumsAreThoseOfTheRecords": sums, "LostRepliesCountNothingTwice": lost,
		"SeveralRollersCountNothingTwice": several, "FiguresAreSelected": selects, "OldFiguresAreRemoved": trims, "DeletedRunsAreSkipped": deleted,
		"ARunThatCannotBeReadHoldsUpNoOther": unreadable, "NonsenseOfProvidersIsBounded": nonsense,
		"ARunWhoseEndWasTrimmedIsCounted": trimmed,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

// start is a whole day, Unix seconds.
const start = 20_000 * 86_400

// roller returns a roller of the backend, once that knows which runs have ended.
func (b *Backend) roller() *rollup.Roller {
	b.settle()
	return &rollup.Roller{Store: b.Rollups, Runs: func(tenant string) rollup.Runs { return b.Store(tenant) }}
}

// round lets a roller count all.
func round(t *testing.T, r *rollup.Roller) {
	t.Helper()
	for {
		n, err := r.Round(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

// ended returns the runs that are marked.
func (b *Backend) ended(t *testing.T) (out []string) {
	t.Helper()
	b.settle()
	all, err := b.Rollups.Ended(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		out = append(out, e.Tenant+"/"+e.RunID)
	}
	return out
}

// run makes number i of the runs of a test, which ends in hour i.
func run(t *testing.T, s mailbox.Handle, i int) *awaken.Run {
	t.Helper()
	thread := fmt.Sprintf("thread-%d", i)
	cp, err := s.Acquire(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	at := int64(start + i*3600)
	r := awaken.Run{RunID: fmt.Sprintf("run-%d", i), ThreadID: thread, AgentID: fmt.Sprintf("agent-%d", i%3), UserID: fmt.Sprintf("user-%d", i%2), ResolutionID: "v1",
		Origin: "user", Status: awaken.RunRunning, CreatedAt: at * 1000, StartedAt: at * 1000, UpdatedAt: at * 1000}
	seq := uint64(0)
	entry := func(ms int64, ev awaken.Event) awaken.Entry {
		seq++
		return awaken.Entry{Cursor: awaken.Cursor{Epoch: cp.Fence, Seq: seq}, RunID: r.RunID, Time: at*1000 + ms, Event: ev}
	}
	commit := func(number uint64, entries ...awaken.Entry) {
		t.Helper()
		if err := s.Commit(t.Context(), &awaken.Commit{ThreadID: thread, Fence: cp.Fence, Number: number, Time: at * 1000, Run: r, Entries: entries}); err != nil {
			t.Fatal(err)
		}
	}
	usage := llm.Usage{PromptTokens: int64(10 + i), CompletionTokens: 5, TotalTokens: int64(15 + i)}
	commit(1, entry(0, &awaken.RunStart{ThreadID: thread, RunID: r.RunID}))
	commit(2, entry(100, &awaken.InferenceComplete{Model: "m", Usage: &usage, DurationMS: 100, CostUSD: 0.001, FinishReason: llm.EndTurn}),
		entry(200, &awaken.ToolCallReady{ID: "c", Name: "search"}), entry(250, &awaken.ToolCallDone{ID: "c", Outcome: awaken.CallSucceeded, Result: &awaken.ToolResult{ToolName: "search"}}))
	r.Status, r.FinishedAt, r.Termination, r.Usage, r.CostUSD = awaken.RunDone, at*1000, awaken.Termination{Type: awaken.NaturalEnd}, usage, 0.001
	if i%4 == 0 {
		r.Termination = awaken.Termination{Type: awaken.Failed, Message: "x"}
	}
	commit(3, entry(400, &awaken.RunFinish{ThreadID: thread, RunID: r.RunID, Termination: r.Termination}))
	return &r
}

// total returns the sum of all figures by a dimension.
func total(t *testing.T, b *Backend, tenant string, by rollup.Dimension, step time.Duration) (out rollup.Figures, values []string) {
	t.Helper()
	rows, err := b.Rollups.Figures(t.Context(), rollup.Query{Tenant: tenant, By: by, Since: start, Until: start + 100*86_400, Step: step, Durations: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		out.Add(&rows[i].Figures)
		values = append(values, rows[i].Value)
	}
	slices.Sort(values)
	return out, slices.Compact(values)
}

func marks(t *testing.T, b Backend) {
	s := b.Store("")
	if got := b.ended(t); len(got) > 0 {
		t.Fatalf("an empty store has marked %v", got)
	}
	run(t, s, 0)
	run(t, b.Store("a\x00b"), 1)
	if err := s.Change(t.Context(), "t", func(q *mailbox.Thread) error { // a run that ends without having begun
		q.Create = true
		q.Runs = []*awaken.Run{{RunID: "never", ThreadID: "t", Origin: "user", Status: awaken.RunDone, CreatedAt: 1, FinishedAt: start * 1000, Termination: awaken.Termination{Type: awaken.Cancelled}}}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/run-0", "a\x00b/run-1", "/never"}, b.ended(t)); diff != "" {
		t.Errorf("marked (-want +got):\n%s", diff)
	}
	round(t, b.roller())
	if got := b.ended(t); len(got) > 0 {
		t.Errorf("after counting, %v are marked", got)
	}
	if f, _ := total(t, &b, "", rollup.Total, rollup.Hour); f.Count != 2 || f.Timed != 1 {
		t.Errorf("counted %d runs, %d with a duration, want 2 and 1", f.Count, f.Timed)
	}
	if f, _ := total(t, &b, "a\x00b", rollup.Total, rollup.Hour); f.Count != 1 {
		t.Errorf("counted %d runs of the other tenant, want 1", f.Count)
	}
}

// records runs n runs and returns the sums that their records have.
func records(t *testing.T, b *Backend, n int) (want rollup.Figures) {
	t.Helper()
	for i := range n {
		r := run(t, b.Store(""), i)
		want.Count++
		want.Usage.Add(r.Usage)
		want.Cost += money.Dollars(r.CostUSD)
		if r.Termination.Type == awaken.Failed {
			want.Errors++
		}
	}
	return want
}

// equal compares sums.
func equal(t *testing.T, b *Backend, want *rollup.Figures) {
	t.Helper()
	for _, by := range []rollup.Dimension{rollup.Total, rollup.Agent, rollup.User, rollup.Version} {
		for _, step := range []time.Duration{rollup.Hour, rollup.Day} {
			got, _ := total(t, b, "", by, step)
			got.Timed, got.DurationMS, got.Durations = 0, 0, rollup.Histogram{}
			if diff := cmp.Diff(want, &got); diff != "" {
				t.Errorf("by %s, in steps of %s (-want +got):\n%s", by, step, diff)
			}
		}
	}
}

func sums(t *testing.T, b Backend) {
	want := records(t, &b, 30)
	round(t, b.roller())
	equal(t, &b, &want)
	if _, values := total(t, &b, "", rollup.Agent, rollup.Day); !slices.Equal(values, []string{"agent-0", "agent-1", "agent-2"}) {
		t.Errorf("agents are %q", values)
	}
	f, values := total(t, &b, "", rollup.Model, rollup.Day)
	if f.Count != 30 || f.Usage != want.Usage || f.Cost != want.Cost || f.DurationMS != 3000 || !slices.Equal(values, []string{"m"}) {
		t.Errorf("of models %q: %+v", values, f)
	}
	f, values = total(t, &b, "", rollup.Tool, rollup.Day)
	if f.Count != 30 || f.Errors != 0 || f.DurationMS != 1500 || !slices.Equal(values, []string{"search"}) {
		t.Errorf("of tools %q: %+v", values, f)
	}
	if f, _ := total(t, &b, "", rollup.Total, rollup.Day); f.DurationMS != 30*400 || f.Timed != 30 || f.Durations.Quantile(0.5) < 292 || f.Durations.Quantile(0.5) > 438 {
		t.Errorf("runs took %d ms, half of them %v or less, want 400 each", f.DurationMS, f.Durations.Quantile(0.5))
	}
}

// failing fails in every second call, before or after it is done, as if the process were killed there.
type failing struct {
	rollup.Store
	calls int
}

func (s *failing) Count(ctx context.Context, ended []rollup.Ended, fs map[rollup.Key]*rollup.Figures) (bool, error) {
	s.calls++
	switch s.calls % 3 {
	case 0:
		return false, errors.New("killed before the transaction")
	case 1:
		if _, err := s.Store.Count(ctx, ended, fs); err != nil {
			return false, err
		}
		return false, errors.New("killed after the transaction")
	}
	return s.Store.Count(ctx, ended, fs)
}

func (s *failing) Ended(ctx context.Context, limit int) ([]rollup.Ended, error) {
	return s.Store.Ended(ctx, min(limit, 4))
}

func lost(t *testing.T, b Backend) {
	want := records(t, &b, 30)
	r := b.roller()
	r.Store = &failing{Store: b.Rollups}
	for range 100 {
		if n, err := r.Round(t.Context()); n == 0 && err == nil {
			break
		}
	}
	equal(t, &b, &want)
}

func several(t *testing.T, b Backend) {
	want := records(t, &b, 40)
	var all sync.WaitGroup
	for range 4 {
		r := b.roller()
		r.Store = &failing{Store: b.Rollups}
		all.Go(func() {
			for range 100 {
				if n, err := r.Round(t.Context()); n == 0 && err == nil {
					return
				} else if err != nil && !strings.HasPrefix(err.Error(), "killed") {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	round(t, b.roller())
	equal(t, &b, &want)
}

func selects(t *testing.T, b Backend) {
	for i := range 30 {
		run(t, b.Store(""), i)
	}
	round(t, b.roller())
	figures := func(q rollup.Query) map[string]int64 {
		t.Helper()
		rows, err := b.Rollups.Figures(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]int64{}
		for _, r := range rows {
			out[fmt.Sprintf("%s %d", r.Value, (r.At-start)/3600)] = r.Count
		}
		return out
	}
	two := "agent-2"
	for _, c := range []struct {
		q    rollup.Query
		want map[string]int64
	}{
		{rollup.Query{By: rollup.Total, Since: start, Until: start + 3*86_400, Step: rollup.Day}, map[string]int64{" 0": 24, " 24": 6}},
		{rollup.Query{By: rollup.Total, Since: start + 3600, Until: start + 10*3600, Step: 6 * time.Hour}, map[string]int64{" 1": 6, " 7": 3}},
		{rollup.Query{By: rollup.Agent, Value: &two, Since: start, Until: start + 6*3600, Step: time.Hour}, map[string]int64{"agent-2 2": 1, "agent-2 5": 1}},
		{rollup.Query{By: rollup.User, Since: start, Until: start + 86_400, Step: rollup.Day}, map[string]int64{"user-0 0": 12, "user-1 0": 12}},
		{rollup.Query{By: rollup.Total, Tenant: "other", Since: start, Until: start + 86_400, Step: rollup.Day}, map[string]int64{}},
	} {
		if diff := cmp.Diff(c.want, figures(c.q)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.q, diff)
		}
	}
}

func trims(t *testing.T, b Backend) {
	for _, i := range []int{0, 23, 24} {
		run(t, b.Store(""), i)
	}
	round(t, b.roller())
	if err := b.Rollups.TrimFigures(t.Context(), start+23*3600, start); err != nil {
		t.Fatal(err)
	}
	if f, _ := total(t, &b, "", rollup.Total, rollup.Hour); f.Count != 2 {
		t.Errorf("the hours have %d runs, want 2", f.Count)
	}
	if f, _ := total(t, &b, "", rollup.Total, rollup.Day); f.Count != 3 {
		t.Errorf("the days have %d runs, want 3", f.Count)
	}
}

func trimmed(t *testing.T, b Backend) {
	if b.Changes == nil {
		t.Skip("the log of changes does not say which runs have ended")
	}
	want := records(t, &b, 3)
	b.settle()
	for n := 0; n == 0; time.Sleep(time.Millisecond) { // until the clock has advanced
		var err error
		if n, err = b.Changes.TrimChanges(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	round(t, b.roller())
	equal(t, &b, &want)
}

// damaged cannot read one run.
type damaged struct {
	rollup.Runs
	run string
}

func (s damaged) LoadRun(ctx context.Context, id string) (*awaken.Run, error) {
	if id == s.run {
		return nil, errors.New("damaged")
	}
	return s.Runs.LoadRun(ctx, id)
}

func unreadable(t *testing.T, b Backend) {
	for i := range 3 {
		run(t, b.Store(""), i)
	}
	r := b.roller()
	r.Runs = func(tenant string) rollup.Runs { return damaged{b.Store(tenant), "run-0"} }
	if _, err := r.Round(t.Context()); err == nil || !strings.Contains(err.Error(), "run-0") {
		t.Errorf("error is %v, want one about run-0", err)
	}
	if n, err := r.Round(t.Context()); n != 0 || err == nil {
		t.Errorf("found %d runs, %v, want none but the error", n, err)
	}
	if f, _ := total(t, &b, "", rollup.Total, rollup.Day); f.Count != 2 {
		t.Errorf("counted %d runs, want the 2 that can be read", f.Count)
	}
	round(t, b.roller()) // it can be read again
	if f, _ := total(t, &b, "", rollup.Total, rollup.Day); f.Count != 3 {
		t.Errorf("counted %d runs, want 3", f.Count)
	}
}

// lying says that every run used as much as there are numbers for, and called a tool with a name that no index takes.
type lying struct{ rollup.Runs }

func (s lying) LoadRun(ctx context.Context, id string) (*awaken.Run, error) {
	r, err := s.Runs.LoadRun(ctx, id)
	if err == nil {
		const most = math.MaxInt64
		r.CostUSD, r.Usage = 1e300, llm.Usage{PromptTokens: most, CompletionTokens: most, TotalTokens: most, CacheReadTokens: most, CacheCreationTokens: most, ThinkingTokens: most}
	}
	return r, err
}

func (s lying) Entries(ctx context.Context, threadID string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	all, err := s.Runs.Entries(ctx, threadID, q)
	for i := range all {
		if ev, ok := all[i].Event.(*awaken.ToolCallReady); ok {
			name, rnd := make([]byte, 6000), rand.New(rand.NewPCG(1, 20))
			for i := range name {
				name[i] = byte('0' + rnd.IntN(64))
			}
			all[i].Event = &awaken.ToolCallReady{ID: ev.ID, Name: string(name)}
		}
	}
	return all, err
}

func nonsense(t *testing.T, b Backend) {
	for i := range 4 {
		run(t, b.Store(""), i)
		r := b.roller()
		r.Runs = func(tenant string) rollup.Runs { return lying{b.Store(tenant)} }
		round(t, r)
	}
	if f, _ := total(t, &b, "", rollup.Total, rollup.Day); f.Count != 4 || f.Usage.TotalTokens <= 0 || f.Cost <= 0 {
		t.Errorf("figures are %+v, want 4 runs with a positive usage and cost", f)
	}
	if f, tools := total(t, &b, "", rollup.Tool, rollup.Day); f.Count != 4 || len(tools) != 1 || len(tools[0]) > 256 {
		t.Errorf("tools are %q with %d calls, want one with 4 and a short name", tools, f.Count)
	}
}

func deleted(t *testing.T, b Backend) {
	s := b.Store("")
	run(t, s, 0)
	run(t, s, 1)
	if err := s.(awaken.ThreadEditor).DeleteThread(t.Context(), "thread-0", awaken.DetachChildren); err != nil {
		t.Fatal(err)
	}
	round(t, b.roller())
	if err := s.(awaken.ThreadEditor).DeleteThread(t.Context(), "thread-1", awaken.DetachChildren); err != nil {
		t.Fatal(err)
	}
	if f, _ := total(t, &b, "", rollup.Total, rollup.Day); f.Count != 1 {
		t.Errorf("counted %d runs, want the one that existed then", f.Count)
	}
}
