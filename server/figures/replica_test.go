package figures

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/store/memory"
)

// Every process that serves is in the list of every other: with its versions, its last error without details,
// and whether it is alive. One that stops leaves the list at once, one that is gone without a word in an hour.
func TestReplicas_TellOfEachOther(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := memory.NewProfile()
		a, b := NewReplicas(store), NewReplicas(store)
		start := func(r *Replicas, id string, config int64) (stop func()) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				r.work(ctx, id, "v1", func() int64 { return config }, slog.New(slog.DiscardHandler))
			}()
			synctest.Wait()
			return func() { cancel(); <-done }
		}
		stopA := start(a, "a", 14)
		time.Sleep(time.Second)
		stopB := start(b, "b", 12)
		slog.New(b.Watch(slog.DiscardHandler)).With("x", 1).WithGroup("g").Error("a version does not compile", "error", errors.New("pgpass=hunter2"))
		time.Sleep(replicaEvery + time.Second)
		list, err := a.list(t.Context())
		if err != nil || len(list) != 2 || list[0].ID != "a" || list[1].ConfigVersion != 12 || list[1].LastError != "a version does not compile" || list[0].LastError != "" {
			t.Fatalf("replicas are %+v, %v", list, err)
		}
		if seen := time.UnixMilli(list[1].SeenMS); time.Since(seen) > 2*replicaEvery || list[1].LastErrorMS == 0 {
			t.Errorf("b was seen at %s", seen)
		}
		stopB()
		if list, err := a.list(t.Context()); err != nil || len(list) != 1 {
			t.Errorf("after b stopped: %+v, %v", list, err)
		}
		stopA()
		if err := store.Set(t.Context(), replicasNamespace, "lost", []byte(`{"id":"lost","seen_ms":`+"1"+`}`)); err != nil {
			t.Fatal(err)
		}
		if list, err := a.list(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("one that is gone for long: %+v, %v", list, err)
		}
		if e, err := store.Get(t.Context(), replicasNamespace, "lost"); e != nil || err != nil {
			t.Errorf("it is still stored: %v, %v", e, err)
		}
	})
}
