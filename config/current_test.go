package config

import (
	"context"
	"errors"
	"testing"
)

func TestCurrent_LockRespectsTheContext(t *testing.T) {
	c := newCurrent(newServers(nil), &accounts{})
	if err := c.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := c.lock(ctx); !errors.Is(err, gone) {
		t.Errorf("the lock is %v, want the caller's cause", err)
	}
	c.unlock()
	if err := c.lock(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestCurrent_SwapBeginsNewAndDropsOldVersions(t *testing.T) {
	ss := newServers(nil)
	c := newCurrent(ss, &accounts{})
	begun := map[string]int{}
	version := func(name string) (*compiled, *line) {
		l := &line{}
		return &compiled{servers: map[string]*server{name: {doc: mcpDoc(name, "x"), conn: l}}, onFirstUse: []func(){func() { begun[name]++ }}}, l
	}
	one, oneLine := version("one")
	canary, canaryLine := version("canary")
	two, twoLine := version("two")
	sec := &secrets{}
	c.swap(t.Context(), &state{live: one, secrets: sec})
	c.swap(t.Context(), &state{live: one, canary: canary, secrets: sec})
	c.swap(t.Context(), &state{live: two, canary: canary, secrets: sec})
	if begun["one"] != 1 || begun["canary"] != 1 || begun["two"] != 1 {
		t.Errorf("begun are %v, want each once", begun)
	}
	if !oneLine.closed || canaryLine.closed || twoLine.closed {
		t.Error("want the connection closed of the version that was live, and no other")
	}
	if c.now().live != two {
		t.Error("another version is live")
	}
}
