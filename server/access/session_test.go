package access

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/bus/bustest"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/store/memory"
)

// A session lasts until it is not renewed in time, and at most as long as a session may.
func TestSessions_LastWhileTheyAreRenewed(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		const lasts, most = time.Hour, 3 * time.Hour
		k := NewKeys(memory.NewProfile())
		_, secret, err := k.Make(t.Context(), server.Key{Kind: server.RunKey}, nil)
		if err != nil {
			t.Fatal(err)
		}
		value, _, err := k.signIn(t.Context(), secret.Expose(), lasts)
		if err != nil {
			t.Fatal(err)
		}
		works := func(want bool) {
			t.Helper()
			key, err := k.Find(t.Context(), server.Credential{Secret: value, Session: true})
			if err != nil || (key != nil) != want {
				t.Fatalf("the session works: %t, %v, want %t", key != nil, err, want)
			}
		}
		began := time.Now()
		for range 4 {
			works(true)
			time.Sleep(50 * time.Minute)
			works(time.Since(began) < most)
			if time.Since(began) >= most {
				break
			}
			s, err := k.renew(t.Context(), value, lasts, most)
			if err != nil {
				t.Fatal(err)
			}
			if want := min(time.Since(began)+lasts, most); time.UnixMilli(s.Expires).Sub(began) != want {
				t.Errorf("after %s it ends at %s, want %s", time.Since(began), time.UnixMilli(s.Expires).Sub(began), want)
			}
		}
		if _, err := k.renew(t.Context(), value, lasts, most); err != server.ErrSession {
			t.Errorf("the renewal of an ended session: %v, want %v", err, server.ErrSession)
		}
	})
}

// A session that ended, with its key or without, works in no process: in none that the bus reaches a
// moment later, and in the others after five seconds. So do its streams.
func TestSessions_EndInEveryProcess(t *testing.T) {
	for _, how := range []string{"signed out", "key revoked"} {
		for _, cut := range []bool{false, true} {
			bubbletest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				m, store := bustest.NewMemory(7999, bustest.Faults{}), memory.NewProfile()
				join := func() *Keys {
					k, x := NewKeys(store), bus.NewExchange(m.Join())
					k.Share(x)
					go x.Run(ctx)
					return k
				}
				here, there := join(), join()
				synctest.Wait()
				m.Cut(cut)
				key, secret, err := here.Make(ctx, server.Key{Kind: server.RunKey}, nil)
				if err != nil {
					t.Fatal(err)
				}
				value, _, err := here.signIn(ctx, secret.Expose(), time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				c := server.Credential{Secret: value, Session: true}
				for _, k := range []*Keys{here, there} {
					if found, err := k.Find(ctx, c); err != nil || found == nil || found.ID != key.ID {
						t.Fatalf("the session is not known: %v, %v", found, err)
					}
				}
				time.Sleep(2 * time.Second) // what the other process knows of the session and of the key is of different ages
				if _, err := there.Find(ctx, server.Credential{Secret: secret.Expose()}); err != nil {
					t.Fatal(err)
				}
				var ended time.Time
				stop := there.Watch(c, func() { ended = time.Now() })
				from := time.Now()
				if how == "signed out" {
					err = here.signOut(ctx, value)
				} else {
					err = here.Revoke(ctx, key.ID, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				if found, err := here.Find(ctx, c); found != nil || err != nil {
					t.Errorf("%s: the session works where it ended: %v", how, err)
				}
				time.Sleep(time.Millisecond)
				if found, err := there.Find(ctx, c); err != nil || (found != nil) != cut {
					t.Errorf("%s, bus cut: %t: the session works a moment later: %t, %v", how, cut, found != nil, err)
				}
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if took := ended.Sub(from); ended.IsZero() || !cut && took > time.Millisecond {
					t.Errorf("%s, bus cut: %t: the stream ended after %s", how, cut, took)
				}
				if found, err := there.Find(ctx, c); found != nil || err != nil {
					t.Errorf("%s: the session works after five seconds: %v", how, err)
				}
				if list, err := store.List(ctx, sessionsNamespace+placeOf(hash(secret.Expose()))); len(list) != 0 || err != nil {
					t.Errorf("%s: the store has %d sessions, %v", how, len(list), err)
				}
				stop()
				cancel()
				synctest.Wait()
			})
		}
	}
}

// A key has a bounded number of sessions: those that have expired go first, then the oldest.
func TestSessions_AreBoundedByKey(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		k := NewKeys(memory.NewProfile())
		const secret = "the-secret-of-a-fixed-key"
		if err := k.Fix(secret, server.Key{ID: "fixed", Kind: server.ReadKey}); err != nil {
			t.Fatal(err)
		}
		var values []string
		for range maxSessions + 2 {
			value, _, err := k.signIn(t.Context(), secret, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
			time.Sleep(time.Millisecond)
		}
		for i, want := range map[int]bool{0: false, 1: false, 2: true, len(values) - 1: true} {
			if key, err := k.Find(t.Context(), server.Credential{Secret: values[i], Session: true}); err != nil || (key != nil) != want {
				t.Errorf("session %d works: %t, %v, want %t", i, key != nil, err, want)
			}
		}
		time.Sleep(2 * time.Hour)
		if _, _, err := k.signIn(t.Context(), secret, time.Hour); err != nil {
			t.Fatal(err)
		}
		if list, err := k.store.List(t.Context(), sessionsNamespace+placeOf(hash(secret))); len(list) != 1 || err != nil {
			t.Errorf("the store has %d sessions, %v, want the latest", len(list), err)
		}
	})
}

// Neither secret can be used in place of the other.
func TestSessions_AreNotKeys(t *testing.T) {
	t.Parallel()
	k := NewKeys(memory.NewProfile())
	_, secret, err := k.Make(t.Context(), server.Key{Kind: server.RunKey}, nil)
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := k.signIn(t.Context(), secret.Expose(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	right := []server.Credential{{Secret: secret.Expose()}, {Secret: value, Session: true}}
	wrong := []server.Credential{{Secret: secret.Expose(), Session: true}, {Secret: value}, {Session: true}, {Secret: ".", Session: true},
		{Secret: value + "x", Session: true}, {Secret: "x" + value, Session: true}}
	for range 2 { // what is looked up is remembered for a while
		for _, c := range wrong {
			if key, err := k.Find(t.Context(), c); key != nil || err != nil || k.Recalls(c) {
				t.Errorf("%v is accepted: %v", c, err)
			}
		}
		for _, c := range right {
			if key, err := k.Find(t.Context(), c); key == nil || err != nil || !k.Recalls(c) {
				t.Errorf("%v is refused: %v", c, err)
			}
		}
	}
}
