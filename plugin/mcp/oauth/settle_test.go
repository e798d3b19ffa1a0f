package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/plugin/mcp/oauth"
	"github.com/awaken-go/awaken/plugin/mcp/oauth/oauthtest"
	"github.com/awaken-go/awaken/state/profile"
)

// dying is the profile of a process that is lost after some writes.
type dying struct {
	profile.Store
	left *int
}

var errLost = errors.New("the process is lost")

func (d dying) CompareAndSet(ctx context.Context, namespace, key string, old, value json.RawMessage) (bool, error) {
	if *d.left--; *d.left < 0 {
		return false, errLost
	}
	return d.Store.CompareAndSet(ctx, namespace, key, old, value)
}

func (d dying) Delete(ctx context.Context, namespace, key string) error {
	if *d.left--; *d.left < 0 {
		return errLost
	}
	return d.Store.Delete(ctx, namespace, key)
}

// sweep returns the runs that a sweep resumes.
func (g *rig) sweep(b *oauth.Broker) (runs []string) {
	g.t.Helper()
	err := b.Sweep(g.t.Context(), func(_ context.Context, c *oauth.Completed) error {
		for _, w := range c.Waiters {
			runs = append(runs, w.RunID)
		}
		return nil
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return runs
}

// Wherever the process that completes an authorization is lost, also before it resumes what has waited: either the response
// can be delivered again, or another process resumes the waiters, once.
func TestSweep_ResumesWhatALostProcessHasLeft(t *testing.T) {
	for cut := range 5 {
		t.Run(fmt.Sprint("after write ", cut), func(t *testing.T) {
			g := newRig(t, oauthtest.Options{})
			s := g.server()
			address := g.begin(g.process(), s, alice(), &oauth.Waiter{RunID: "r1", Target: "x"})
			g.begin(g.process(), s, alice(), &oauth.Waiter{RunID: "r2", Target: "y"})
			g.begin(g.process(), s, bob(), &oauth.Waiter{RunID: "r3", Target: "z"})
			response := g.Approve(address, "alice@idp")
			left := cut
			lost := g.process(func(c *oauth.Config) {
				values := c.Values
				c.Values = func(tenant string) profile.Store { return dying{values(tenant), &left} }
				c.Shared = dying{c.Shared, &left}
			})
			_, err := lost.Complete(t.Context(), response, nil) // and then it is lost, if it was not before
			if (err != nil) != (cut < 3) {
				t.Fatal(err)
			}
			next := g.process()
			if runs := g.sweep(next); runs != nil {
				t.Errorf("%q are resumed while the process may still do it", runs)
			}
			if _, err := next.Complete(t.Context(), response, nil); cut == 0 {
				if err != nil {
					t.Errorf("nothing has happened, but the response is refused: %v", err)
				}
				return
			} else if !errors.Is(err, oauth.ErrState) {
				t.Errorf("the response counts twice: %v", err)
			}
			g.advance(3 * time.Minute)
			want := []string{"r1"} // which asks again
			if cut >= 3 {          // there is an authorization
				want = []string{"r1", "r2"}
			}
			if diff := cmp.Diff(want, g.sweep(next)); diff != "" {
				t.Errorf("runs that are resumed (-want +got):\n%s", diff)
			}
			if runs := g.sweep(next); runs != nil {
				t.Errorf("%q are resumed once more", runs)
			}
			if _, err := next.Token(t.Context(), s, alice()); (err == nil) != (cut >= 3) {
				t.Errorf("the authorization: %v", err)
			}
		})
	}
}

func TestSweep_LeavesWhatWasSettledAndTriesTheRestAgain(t *testing.T) {
	g := newRig(t, oauthtest.Options{})
	b, s := g.process(), g.server()
	for _, o := range []oauth.Owner{alice(), bob()} {
		c, err := b.Complete(t.Context(), g.Approve(g.begin(b, s, o, &oauth.Waiter{RunID: o.User, Target: "x"}), o.User+"@idp"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if o.User == "alice" {
			if err := b.Settle(t.Context(), c.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	g.advance(3 * time.Minute)
	if err := b.Sweep(t.Context(), func(context.Context, *oauth.Completed) error { return errLost }); !errors.Is(err, errLost) {
		t.Errorf("error is %v", err)
	}
	if diff := cmp.Diff([]string{"bob"}, g.sweep(b)); diff != "" {
		t.Errorf("runs that are resumed (-want +got):\n%s", diff)
	}
	if left := g.stored("mcp.ends"); strings.Contains(left, "namespace") {
		t.Errorf("the profiles have %s", left)
	}
}
