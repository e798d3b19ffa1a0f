package config

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/registry"
)

// kept lists the cached versions, most recently used last.
func (ps *pins) kept() (out []int64) {
	for _, p := range ps.cached {
		out = append(out, p.number)
	}
	return out
}

// keep caches a version that holds a connection.
func (ps *pins) keep(t *testing.T, number int64) *server {
	t.Helper()
	p, mine := ps.get(number)
	if !mine {
		t.Fatalf("version %d is there", number)
	}
	s := &server{doc: skillDoc("s", "s"), conn: &line{}}
	v := &compiled{number: number, servers: map[string]*server{"s": s}}
	ps.servers.hold(v)
	ps.set(p, v, nil)
	return s
}

func TestPins_KeepTheMostRecentlyUsed(t *testing.T) {
	ps := &pins{most: 2, servers: newServers(nil)}
	first := ps.keep(t, 1)
	second := ps.keep(t, 2)
	ps.get(1) // is used again
	ps.keep(t, 3)
	if got := ps.kept(); !slices.Equal(got, []int64{1, 3}) {
		t.Errorf("kept are %v, want 1 and 3", got)
	}
	if first.conn.(*line).closed || !second.conn.(*line).closed {
		t.Error("want the connections closed of what is not kept, and no others")
	}
}

func TestPins_DoNotKeepFailures(t *testing.T) {
	ps := &pins{most: 2, servers: newServers(nil)}
	p, _ := ps.get(7)
	ps.set(p, nil, errors.New("broken"))
	if _, mine := ps.get(7); !mine {
		t.Error("a failure is kept, want another try")
	}
}

func TestPins_DropAVersionClearedDuringCompilation(t *testing.T) {
	ps := &pins{most: 2, servers: newServers(nil)}
	p, _ := ps.get(7)
	ps.clear()
	s := &server{doc: skillDoc("s", "s"), conn: &line{}, holders: 1}
	ps.set(p, &compiled{number: 7, servers: map[string]*server{"s": s}}, nil)
	if len(ps.cached) != 0 || !s.conn.(*line).closed {
		t.Errorf("kept are %v, want none, and no connection", ps.kept())
	}
}

func TestPins_CompileAVersionOnce(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		ps := &pins{most: 2, servers: newServers(nil)}
		reg := new(registry.Registry)
		p, _ := ps.get(7)
		got := make([]*registry.Registry, 3)
		for i := range got {
			go func() {
				r, err := ps.registry(t.Context(), 7)
				if err != nil {
					t.Error(err)
				}
				got[i] = r
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		if _, err := ps.registry(ctx, 7); !errors.Is(err, gone) {
			t.Errorf("a caller that left gets %v, want its own cause", err)
		}
		ps.set(p, &compiled{number: 7, reg: reg}, nil)
		synctest.Wait()
		if got[0] != reg || got[1] != reg || got[2] != reg {
			t.Errorf("callers got %v, want the same registry", got)
		}
	})
}
