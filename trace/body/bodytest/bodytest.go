// Package bodytest tests implementations of [body.Store].
package bodytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/trace/body"
)

// Store is what a backend provides: threads, and bodies beside them.
type Store interface {
	body.Keeper
	awaken.ThreadEditor
}

// Run tests the promises of [body.Store]. Open returns two tenants of an empty backend; other is nil if it has only one.
func Run(t *testing.T, open func(t *testing.T) (own, other Store)) {
	t.Run("Order", func(t *testing.T) {
		own, _ := open(t)
		order(t, own)
	})
	t.Run("Homeless", func(t *testing.T) {
		own, _ := open(t)
		homeless(t, own)
	})
	t.Run("Tenants", func(t *testing.T) {
		own, other := open(t)
		if other == nil {
			t.Skip("the backend has one tenant")
		}
		tenants(t, own, other)
	})
	t.Run("Deleted", func(t *testing.T) {
		own, _ := open(t)
		deleted(t, own)
	})
}

func create(t *testing.T, s Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := s.CreateThread(t.Context(), &awaken.Thread{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
}

func add(t *testing.T, s Store, list ...body.Stored) (homeless []body.Stored) {
	t.Helper()
	homeless, err := s.Bodies().AddBodies(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	return homeless
}

func kept(t *testing.T, s Store, thread, run string) string {
	t.Helper()
	list, err := s.Bodies().Bodies(t.Context(), thread, run)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, b := range list {
		if b.ThreadID != thread || b.RunID != run {
			t.Errorf("a body of run %s of thread %s is that of run %s of thread %s", run, thread, b.RunID, b.ThreadID)
		}
		text += fmt.Sprintf("%s=%s ", b.ID, b.Data)
	}
	return text
}

func one(thread, run, id, data string) body.Stored {
	return body.Stored{ThreadID: thread, RunID: run, ID: id, Data: []byte(data)}
}

// order: bodies come back as they were, by run and in order, and one that is added twice is there once.
func order(t *testing.T, s Store) {
	create(t, s, "a", "b")
	add(t, s, one("a", "r", "2", "two"), one("a", "r", "1", "one"), one("a", "other", "3", "x"), one("b", "r2", "4", "y"))
	add(t, s, one("a", "r", "2", "two"), one("a", "r", "5", "five"))
	if got := kept(t, s, "a", "r"); got != "1=one 2=two 5=five " {
		t.Errorf("the run has %s", got)
	}
	if got := kept(t, s, "a", "none"); got != "" {
		t.Errorf("a run that does not exist has %s", got)
	}
	large := bytes.Repeat([]byte{0, 255, 'x'}, 200_000)
	add(t, s, body.Stored{ThreadID: "b", RunID: "large", ID: "1", Data: large})
	list, err := s.Bodies().Bodies(t.Context(), "b", "large")
	if err != nil || len(list) != 1 || !bytes.Equal(list[0].Data, large) {
		t.Errorf("a large body came back as another one: %v", err)
	}
}

// homeless: bodies of a thread that does not exist are returned, and the others stored.
func homeless(t *testing.T, s Store) {
	create(t, s, "a")
	left := add(t, s, one("a", "r", "1", "one"), one("later", "r", "2", "two"))
	if len(left) != 1 || left[0].ThreadID != "later" || string(left[0].Data) != "two" {
		t.Fatalf("left are %v, want the one without a thread", left)
	}
	if got := kept(t, s, "a", "r"); got != "1=one " {
		t.Errorf("the run has %s", got)
	}
	create(t, s, "later")
	if left = add(t, s, left...); len(left) != 0 {
		t.Errorf("left are %v, want none", left)
	}
	if got := kept(t, s, "later", "r"); got != "2=two " {
		t.Errorf("the run has %s", got)
	}
}

// tenants: a tenant does not see the bodies of another, nor are its threads a home for them.
func tenants(t *testing.T, own, other Store) {
	create(t, own, "a")
	if left := add(t, other, one("a", "r", "1", "theirs")); len(left) != 1 {
		t.Errorf("left are %v, want one: the thread is another tenant's", left)
	}
	create(t, other, "a")
	add(t, own, one("a", "r", "1", "ours"))
	if got := kept(t, other, "a", "r"); got != "" {
		t.Errorf("another tenant has %s", got)
	}
}

// deleted: bodies are deleted with their thread, by a person or because it is old, and not if a pin keeps the thread.
func deleted(t *testing.T, s Store) {
	ctx := t.Context()
	create(t, s, "a", "old", "pinned")
	for _, id := range []string{"a", "old", "pinned"} {
		add(t, s, one(id, "r", "1", "x"))
	}
	if err := s.DeleteThread(ctx, "a", awaken.DetachChildren); err != nil {
		t.Fatal(err)
	}
	if _, err := s.UpdateThread(ctx, "pinned", func(t *awaken.Thread) error {
		t.Notes = map[string]json.RawMessage{"pin:r": json.RawMessage(`[{"kind":"operator","at":1}]`)}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Prune(ctx, time.Now().Add(1000*time.Hour)); err != nil || n != 1 {
		t.Fatalf("pruned %d, %v, want 1", n, err)
	}
	create(t, s, "a", "old")
	if got := kept(t, s, "a", "r") + kept(t, s, "old", "r"); got != "" {
		t.Errorf("deleted threads left %s", got)
	}
	if got := kept(t, s, "pinned", "r"); got != "1=x " {
		t.Errorf("the pinned run has %q", got)
	}
}
