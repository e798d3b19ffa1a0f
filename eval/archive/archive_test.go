package archive_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/archive"
	"github.com/awaken-go/awaken/store/memory"
)

func fixture(id string) eval.Fixture {
	return eval.Fixture{ID: id, Exchange: eval.Exchange{UserInput: "x"}}
}

func TestChange_OneOfSeveralWritersWins(t *testing.T) {
	t.Parallel()
	a := archive.New(memory.NewProfile())
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

func TestChange_WritesNothingIfItFails(t *testing.T) {
	t.Parallel()
	a := archive.New(memory.NewProfile())
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

func TestAdd_KeepsTheFirstItemOfACell(t *testing.T) {
	t.Parallel()
	a := archive.New(memory.NewProfile())
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

func TestUpdate_LosesNoChange(t *testing.T) {
	t.Parallel()
	a := archive.New(memory.NewProfile())
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
