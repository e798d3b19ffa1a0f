package rollup_test

import (
	"context"
	"errors"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace/rollup"
)

// What is told of the end of a run is told again until it has understood, and before the run is counted.
func TestRoller_TellsTheEndOfARunBeforeItCounts(t *testing.T) {
	t.Parallel()
	db := memory.NewDB()
	store := db.Rollups()
	h := awakentest.New(t, engine.Config{Store: db.Store("t")}, llmtest.Say("Hello"))
	h.Say("Hi")
	var told []string
	r := &rollup.Roller{Store: store, Runs: func(tenant string) rollup.Runs { return db.Store(tenant) }, Ended: func(_ context.Context, tenant string, run *awaken.Run) error {
		if told = append(told, tenant+" "+string(run.Status)); len(told) == 1 {
			return errors.New("not now")
		}
		return nil
	}}
	if _, err := r.Round(t.Context()); err == nil {
		t.Error("the error is lost")
	}
	if left, err := store.Ended(t.Context(), 10); len(left) != 1 || err != nil {
		t.Errorf("%d runs are left to count, %v", len(left), err)
	}
	if n, err := r.Round(t.Context()); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if left, _ := store.Ended(t.Context(), 10); len(left) != 0 || len(told) != 2 || told[1] != "t done" {
		t.Errorf("%d runs are left to count, told %v", len(left), told)
	}
}
