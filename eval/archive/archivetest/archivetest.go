// Package archivetest tests that the profiles of a store keep datasets and runs as package archive promises.
package archivetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/archive"
	"github.com/awaken-go/awaken/state/profile"
)

// Test tests the archive in profiles that open returns, each empty.
func Test(t *testing.T, open func(t *testing.T) profile.Store) {
	for name, test := range map[string]func(t *testing.T, a *archive.Archive){
		"OfSeveralWritersOneWins":       changesOnce,
		"AChangeThatFailsWritesNothing": writesNothing,
		"TheFirstItemOfACellIsKept":     keepsFirst,
		"NoChangeOfARunIsLost":          losesNone,
		"ADatasetIsWhatWasStored":       keepsDataset,
		"DatasetsHaveRevisions":         countsRevisions,
		"ARunIsWhatWasStored":           keepsRun,
		"RunsAreListedTheNewestFirst":   listsRuns,
	} {
		t.Run(name, func(t *testing.T) { test(t, archive.New(open(t))) })
	}
	t.Run("ListsDoNotReadTheFixtures", func(t *testing.T) { listsHeads(t, open(t)) })
	t.Run("NoChangeIsDeletedUnseen", func(t *testing.T) { deletesSeen(t, open(t)) })
}

func fixture(id string) eval.Fixture {
	return eval.Fixture{ID: id, Exchange: eval.Exchange{UserInput: "x"}}
}

func changesOnce(t *testing.T, a *archive.Archive) {
	if _, err := a.Create(t.Context(), "d", &eval.Dataset{}, "ann"); err != nil {
		t.Fatal(err)
	}
	var won atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := a.Change(t.Context(), "d", 1, "bob", func(d *eval.Dataset) error {
				d.Fixtures = append(d.Fixtures, fixture(fmt.Sprint(i)))
				return nil
			})
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, awaken.ErrConflict):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	d, err := a.Dataset(t.Context(), "d")
	if err != nil || won.Load() != 1 || d.Meta.Revision != 2 || len(d.Spec.Fixtures) != 1 || d.Meta.UpdatedBy != "bob" {
		t.Errorf("%d writers won: %+v, %v", won.Load(), d, err)
	}
}

// meddled is a profile that another process writes to before the next write.
type meddled struct {
	profile.Store
	meddle func()
}

func (m *meddled) CompareAndSet(ctx context.Context, namespace, key string, old, value json.RawMessage) (bool, error) {
	m.meddle()
	return m.Store.CompareAndSet(ctx, namespace, key, old, value)
}

func (m *meddled) Delete(ctx context.Context, namespace, key string) error {
	m.meddle()
	return m.Store.Delete(ctx, namespace, key)
}

func deletesSeen(t *testing.T, values profile.Store) {
	a := archive.New(values)
	if _, err := a.Create(t.Context(), "d", &eval.Dataset{}, "ann"); err != nil {
		t.Fatal(err)
	}
	add := func(d *eval.Dataset) error { d.Fixtures = append(d.Fixtures, fixture("new")); return nil }
	meddling := archive.New(&meddled{values, func() {
		if _, err := a.Change(t.Context(), "d", -1, "bob", add); err != nil {
			t.Error(err)
		}
	}})
	if _, err := meddling.Delete(t.Context(), "d", 1); !errors.Is(err, awaken.ErrConflict) {
		t.Errorf("a delete while the dataset is changed: %v", err)
	}
	if d, err := a.Dataset(t.Context(), "d"); err != nil || d.Meta.Revision != 2 || len(d.Spec.Fixtures) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	meddling = archive.New(&meddled{values, func() {
		if _, err := a.Delete(t.Context(), "d", 2); err != nil {
			t.Error(err)
		}
	}})
	if _, err := meddling.Change(t.Context(), "d", 2, "bob", add); !errors.Is(err, awaken.ErrConflict) {
		t.Errorf("a change while the dataset is deleted: %v", err)
	}
	if _, err := a.Dataset(t.Context(), "d"); !errors.Is(err, awaken.ErrNotFound) {
		t.Error(err)
	}
}

// counted is a profile that counts the bytes that are read.
type counted struct {
	profile.Store
	most, sum int // of a read, of all
}

func (c *counted) Page(ctx context.Context, namespace string, p profile.Page) ([]profile.Entry, error) {
	entries, err := c.Store.Page(ctx, namespace, p)
	n := 0
	for i := range entries {
		n += len(entries[i].Value)
	}
	c.most, c.sum = max(c.most, n), c.sum+n
	return entries, err
}

func (c *counted) Get(ctx context.Context, namespace, key string) (*profile.Entry, error) {
	e, err := c.Store.Get(ctx, namespace, key)
	if e != nil {
		c.sum += len(e.Value)
	}
	return e, err
}

func listsHeads(t *testing.T, values profile.Store) {
	c := &counted{Store: values}
	a := archive.New(c)
	large := fixture("large")
	large.UserInput = strings.Repeat("x", 500_000)
	odd := strings.Repeat("\u2028", 5000) // six bytes each as JSON
	for i := range 8 {
		if _, err := a.Create(t.Context(), fmt.Sprint("d", i), &eval.Dataset{Description: odd, Fixtures: []eval.Fixture{large, fixture("b")}}, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	// As versions before this one stored it.
	if err := values.Set(t.Context(), "eval_datasets", "older", []byte(`{"spec":{"description":"old","fixtures":[{"id":"a","user_input":"x"}]},"meta":{"source":{"kind":"user"},"revision":7}}`)); err != nil {
		t.Fatal(err)
	}
	*c = counted{Store: values}
	list := collect(t, a.Datasets(t.Context()))
	if len(list) != 9 || c.sum > 200_000 {
		t.Errorf("%d datasets, %d bytes were read", len(list), c.sum)
	}
	for i, s := range list[:8] {
		if s.ID != fmt.Sprint("d", i) || s.Fixtures != 2 || s.Meta.Revision != 1 || s.Meta.UpdatedBy != "ann" || s.Description != odd[:999] {
			t.Errorf("%.80q, %+v", s.Description, s.Meta)
		}
	}
	if s := list[8]; s.ID != "older" || s.Fixtures != 1 || s.Meta.Revision != 7 || s.Description != "old" {
		t.Errorf("%+v", s)
	}
	request := json.RawMessage(`"` + strings.Repeat("x", 10_000) + `"`)
	for i := range 200 {
		if err := a.Begin(t.Context(), &archive.Header{Run: archive.Run{ID: fmt.Sprintf("%03d", i)}, Request: request}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if runs := collect(t, a.Runs(t.Context(), "")); len(runs) != 200 || runs[0].ID != "199" || c.most > 800_000 {
		t.Errorf("%d runs, %d bytes at once", len(runs), c.most)
	}
}

// collect returns what a list has.
func collect[T any](t *testing.T, list iter.Seq2[T, error]) (out []T) {
	t.Helper()
	for v, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

func writesNothing(t *testing.T, a *archive.Archive) {
	if _, err := a.Create(t.Context(), "d", &eval.Dataset{Fixtures: []eval.Fixture{fixture("a")}}, "ann"); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	if _, err := a.Change(t.Context(), "d", -1, "ann", func(d *eval.Dataset) error { d.Fixtures = nil; return failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	if d, err := a.Dataset(t.Context(), "d"); err != nil || d.Meta.Revision != 1 || len(d.Spec.Fixtures) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := a.Change(t.Context(), "none", -1, "ann", func(*eval.Dataset) error { return nil }); !errors.Is(err, awaken.ErrNotFound) {
		t.Error(err)
	}
}

func keepsFirst(t *testing.T, a *archive.Archive) {
	if err := a.Begin(t.Context(), &archive.Header{Run: archive.Run{ID: "r", Status: archive.Running, CellCount: 2000}}, []eval.Fixture{fixture("a")}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1999, 10, 2, 2, 0} {
		if err := a.Add(t.Context(), "r", n, &eval.Item{FixtureID: fmt.Sprint("f", n), Report: &eval.Report{FixtureID: fmt.Sprint("f", n)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Add(t.Context(), "r", 2, &eval.Item{FixtureID: "another", Report: &eval.Report{}}); err != nil {
		t.Fatal(err)
	}
	var ids []string
	cells := map[int]bool{}
	err := a.Each(t.Context(), "r", 2000, func(n int, it *eval.Item) error {
		ids, cells[n] = append(ids, it.FixtureID), true
		return nil
	})
	if diff := cmp.Diff([]string{"f0", "f2", "f10", "f1999"}, ids); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff(map[int]bool{0: true, 2: true, 10: true, 1999: true}, cells); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if it, err := a.Item(t.Context(), "r", 10); err != nil || it.FixtureID != "f10" {
		t.Errorf("%+v, %v", it, err)
	}
	if it, err := a.Item(t.Context(), "r", 11); it != nil || err != nil {
		t.Errorf("%+v, %v", it, err)
	}
	if err := a.Remove(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(t.Context(), "r"); !errors.Is(err, awaken.ErrNotFound) {
		t.Error(err)
	}
	if err := a.Each(t.Context(), "r", 2000, func(n int, _ *eval.Item) error { return fmt.Errorf("item %d is left", n) }); err != nil {
		t.Error(err)
	}
}

func losesNone(t *testing.T, a *archive.Archive) {
	if err := a.Begin(t.Context(), &archive.Header{Run: archive.Run{ID: "r"}}, nil); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := a.Update(t.Context(), "r", func(h *archive.Header) error { h.Passed++; return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if h, err := a.Header(t.Context(), "r"); err != nil || h.Passed != 8 {
		t.Errorf("%+v, %v", h, err)
	}
}

func keepsDataset(t *testing.T, a *archive.Archive) {
	score := 0.5
	want := eval.Dataset{Description: "d \x00 \u2028 <&>", Fixtures: []eval.Fixture{{ID: "a ü", Exchange: eval.Exchange{UserInput: strings.Repeat("x", 100_000), ProviderScript: []eval.Reply{{Kind: eval.ChatResponse, Content: "y"}}},
		SourceRunID: "r", Expect: eval.Expectation{MinJudgeScore: &score, Scorers: []eval.Scorer{{Kind: eval.ScoreNoTool}}}, ToolResults: []eval.ToolResult{{Name: "t", Result: []byte(`{"b":1,"a":[null,1e2]}`)}}}}}
	made, err := a.Create(t.Context(), "a.b-c_d", &want, "ann")
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Dataset(t.Context(), "a.b-c_d")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := a.Create(t.Context(), "a.b-c_d", &eval.Dataset{}, "bob"); !errors.Is(err, awaken.ErrConflict) {
		t.Errorf("another with the id: %v", err)
	}
}

func countsRevisions(t *testing.T, a *archive.Archive) {
	for _, id := range []string{"b", "a"} {
		if _, err := a.Create(t.Context(), id, &eval.Dataset{}, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	add := func(d *eval.Dataset) error {
		d.Fixtures = append(d.Fixtures, fixture(fmt.Sprint(len(d.Fixtures))))
		return nil
	}
	for revision := range int64(3) {
		if d, err := a.Change(t.Context(), "a", revision+1, "bob", add); err != nil || d.Meta.Revision != revision+2 {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	if _, err := a.Change(t.Context(), "a", 2, "bob", add); !errors.Is(err, awaken.ErrConflict) {
		t.Errorf("a change of an old revision: %v", err)
	}
	if list := collect(t, a.Datasets(t.Context())); len(list) != 2 || list[0].ID != "a" || list[0].Meta.Revision != 4 || list[0].Fixtures != 3 || list[1].ID != "b" {
		t.Errorf("%+v", list)
	}
	same, err := a.Change(t.Context(), "a", 4, "ann", func(*eval.Dataset) error { return archive.ErrUnchanged })
	if err != nil || same.Meta.Revision != 4 || same.Meta.UpdatedBy != "bob" || len(same.Spec.Fixtures) != 3 {
		t.Errorf("a change that changes nothing: %+v, %v", same, err)
	}
	large := func(d *eval.Dataset) error { d.Description = strings.Repeat("x", archive.MaxDataset); return nil }
	if _, err := a.Change(t.Context(), "a", -1, "bob", large); !errors.Is(err, awaken.ErrInvalid) {
		t.Errorf("a dataset that is too large: %v", err)
	}
	if _, err := a.Delete(t.Context(), "a", 3); !errors.Is(err, awaken.ErrConflict) {
		t.Errorf("removing an old revision: %v", err)
	}
	if d, err := a.Delete(t.Context(), "a", 4); err != nil || len(d.Spec.Fixtures) != 3 {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := a.Dataset(t.Context(), "a"); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("after it was removed: %v", err)
	}
}

func keepsRun(t *testing.T, a *archive.Archive) {
	h := &archive.Header{Run: archive.Run{ID: "r", DatasetID: "d", DatasetRevision: 3, ExecutionMode: "live", StartedAtSecs: 5, Status: archive.Running, CellCount: 3, Samples: 1, AgentID: "a", Version: "7", AgentDigest: "x"},
		Request: []byte(`{"b":1,"a":2}`), Tenant: "t", ResolutionID: "7", Owner: "p", Until: 9, Started: 2}
	cases := []eval.Fixture{fixture("b"), fixture("a")}
	if err := a.Begin(t.Context(), h, cases); err != nil {
		t.Fatal(err)
	}
	if err := a.Begin(t.Context(), h, cases); !errors.Is(err, awaken.ErrConflict) {
		t.Errorf("another with the id: %v", err)
	}
	got, err := a.Header(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if kept, err := a.Cases(t.Context(), "r"); err != nil || cmp.Diff(cases, kept) != "" {
		t.Errorf("%+v, %v", kept, err)
	}
	item := eval.Item{FixtureID: "b", Cell: &eval.Cell{ModelID: "m", Version: "7", Variant: "v"}, TraceRunID: "run", Report: &eval.Report{FixtureID: "b", Passed: true, Failures: []eval.Failure{}}}
	if err := a.Add(t.Context(), "r", 1, &item); err != nil {
		t.Fatal(err)
	}
	traced := &archive.Trace{EvalRunID: "r", Lines: []json.RawMessage{json.RawMessage(`{"type":"inference","text":"x \\u0000"}`)}}
	if err := a.AddTrace(t.Context(), "run", traced); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Trace(t.Context(), "run"); err != nil || cmp.Diff(traced, got) != "" {
		t.Errorf("the trace is %+v, %v", got, err)
	}
	if err := a.AddTrace(t.Context(), "large", &archive.Trace{Lines: []json.RawMessage{json.RawMessage(`"` + strings.Repeat("x", archive.MaxTrace) + `"`)}}); !errors.Is(err, awaken.ErrInvalid) {
		t.Errorf("a trace that is too large: %v", err)
	}
	run, err := a.Run(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]eval.Item{item}, run.Items); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	lost := errors.New("lost")
	if _, err := a.Update(t.Context(), "r", func(h *archive.Header) error { h.Passed = 9; return lost }); !errors.Is(err, lost) {
		t.Error(err)
	}
	if h, err := a.Header(t.Context(), "r"); err != nil || h.Passed != 0 {
		t.Errorf("a change that failed was stored: %+v, %v", h, err)
	}
	if err := a.Remove(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Trace(t.Context(), "run"); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("the trace of a run that was removed: %v", err)
	}
}

func listsRuns(t *testing.T, a *archive.Archive) {
	for _, id := range []string{"02", "10", "01"} {
		if err := a.Begin(t.Context(), &archive.Header{Run: archive.Run{ID: id}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if list := collect(t, a.Runs(t.Context(), "")); len(list) != 3 || list[0].ID != "10" || list[1].ID != "02" || list[2].ID != "01" {
		t.Errorf("%+v", list)
	}
	if list := collect(t, a.Runs(t.Context(), "10")); len(list) != 2 || list[0].ID != "02" || list[1].ID != "01" {
		t.Errorf("%+v", list)
	}
	if _, err := a.Header(t.Context(), "none"); !errors.Is(err, awaken.ErrNotFound) {
		t.Error(err)
	}
}
