package statetest_test

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/statetest"
)

// fakeTB records the errors of a test.
type fakeTB struct {
	testing.TB
	said []string
}

func (f *fakeTB) Helper() {}

func (f *fakeTB) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

func (f *fakeTB) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

func (f *fakeTB) Fatal(args ...any) { f.Fatalf("%s", fmt.Sprint(args...)) }

// complaints returns the errors of statetest.Key for a key.
func complaints[V, U any](key *state.Key[V, U], updates ...U) []string {
	f := new(fakeTB)
	done := make(chan struct{})
	go func() {
		defer close(done) // also when Fatalf ends the goroutine
		statetest.Key(f, key, updates...)
	}()
	<-done
	return f.said
}

func checkComplaint(t *testing.T, said []string, want string) {
	t.Helper()
	if len(said) != 1 || !strings.Contains(said[0], want) {
		t.Errorf("complaints are %q, want one with %q", said, want)
	}
}

func TestKey_AcceptsGoodKeys(t *testing.T) {
	t.Parallel()
	statetest.Key(t, state.NewKey("test.sum", func(n, d int) int { return n + d }, state.Options{Merge: state.Commutative}), 1, 2, 3)
	statetest.Key(t, state.NewValue[string]("test.last", state.Options{}), "a", "b")
	statetest.Key(t, state.NewValue[map[string][]int]("test.map", state.Options{}), map[string][]int{"a": {1}}, nil)
	// Transient values need not survive JSON.
	statetest.Key(t, state.NewValue[hidden]("test.hidden", state.Options{Transient: true}), hidden{n: 1})
}

type hidden struct{ n int }

func TestKey_FindsAReducerThatChangesItsInput(t *testing.T) {
	t.Parallel()
	bad := state.NewKey("test.bad", func(set map[string]bool, name string) map[string]bool {
		if set == nil {
			set = make(map[string]bool)
		}
		set[name] = true // in the map that others are reading
		return set
	}, state.Options{})
	checkComplaint(t, complaints(bad, "a", "b"), "key \"test.bad\": apply changed the value it was given:\nbefore {\"a\":true}\nafter  {\"a\":true,\"b\":true}")

	good := state.NewKey("test.good", func(set map[string]bool, name string) map[string]bool {
		next := map[string]bool{name: true}
		maps.Copy(next, set)
		return next
	}, state.Options{Merge: state.Commutative})
	statetest.Key(t, good, "a", "b")
}

func TestKey_FindsOrderThatMatters(t *testing.T) {
	t.Parallel()
	bad := state.NewValue[int]("test.bad", state.Options{Merge: state.Commutative})
	checkComplaint(t, complaints(bad, 1, 2), "key \"test.bad\" is commutative, but the order matters:\nforward  2\nbackward 1")

	exclusive := state.NewValue[int]("test.exclusive", state.Options{})
	if said := complaints(exclusive, 1, 2); len(said) != 0 {
		t.Errorf("an exclusive key is rejected: %q", said)
	}
}

func TestKey_FindsValuesThatDoNotSurviveJSON(t *testing.T) {
	t.Parallel()
	lost := state.NewValue[hidden]("test.lost", state.Options{})
	checkComplaint(t, complaints(lost, hidden{n: 1}), `key "test.lost" changes in JSON`)

	broken := state.NewValue[chan int]("test.broken", state.Options{})
	checkComplaint(t, complaints(broken, make(chan int)), "unsupported type: chan int")

	oneWay := state.NewValue[oneWay]("test.oneway", state.Options{})
	checkComplaint(t, complaints(oneWay, "x"), `decode state key "test.oneway"`)
}

// oneWay can be encoded but not decoded.
type oneWay string

func (oneWay) UnmarshalJSON([]byte) error { return fmt.Errorf("cannot be read") }

func TestKey_NeedsAnUpdate(t *testing.T) {
	t.Parallel()
	key := state.NewValue[int]("test.key", state.Options{})
	checkComplaint(t, complaints(key), `statetest.Key("test.key") needs at least one update`)
}
