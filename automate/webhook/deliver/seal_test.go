package deliver_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/automate/webhook/deliver"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
)

// keyless is a sealer without a key.
type keyless struct{}

func (keyless) Seal(string, []byte) ([]byte, error) { return nil, errors.New("there is no key") }
func (keyless) Open(string, []byte) ([]byte, error) { return nil, errors.New("there is no key") }

// stored returns what the store has of the hook of a run, as JSON.
func (g *rig) stored(runID string) string {
	g.t.Helper()
	list, err := g.hooks.Hooks(g.t.Context(), webhook.Query{RunID: runID})
	if err != nil || len(list) != 1 {
		g.t.Fatalf("%d hooks, %v", len(list), err)
	}
	data, err := json.Marshal(list[0].State)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(data)
}

// The credentials of a hook are stored encrypted, also of one that an older program has stored as they were, and its receiver
// gets them.
func TestSender_SealsCredentials(t *testing.T) {
	t.Parallel()
	for _, older := range []bool{false, true} {
		g := newRig(t)
		sealer, err := oauth.NewSealer([]byte(strings.Repeat("k", 32)))
		if err != nil {
			t.Fatal(err)
		}
		s := g.sender(func(c *deliver.Config) { c.Sealer = sealer })
		r := newReceiver(t, nil)
		id := g.run()
		target := webhook.Target{URL: r.URL, Headers: map[string]string{"Authorization": "Bearer plain-credential"}, Secret: "plain-token"}
		if older {
			g.set(g.sender(nil), id, target)
			if !strings.Contains(g.stored(id), "plain-credential") {
				t.Fatal("without a sealer, the hook is not stored as it is")
			}
		} else {
			g.set(s, id, target)
			if got := g.stored(id); strings.Contains(got, "plain-") {
				t.Errorf("the store has %s", got)
			}
		}
		of, err := s.Of(t.Context(), "", id)
		if err != nil || len(of) != 1 || of[0].Target.Headers["Authorization"] != "Bearer plain-credential" {
			t.Errorf("the hooks are %+v, %v", of, err)
		}
		if err := s.Wake(t.Context(), "", id); err != nil {
			t.Fatal(err)
		}
		g.background(s.Work)
		g.finish(id)
		for _, m := range r.wait(t, 2) {
			want := signature("plain-token", m.id, m.header.Get("Webhook-Timestamp"), m.body)
			if m.header.Get("Authorization") != "Bearer plain-credential" || m.header.Get("Webhook-Signature") != want {
				t.Errorf("the receiver got %v", m.header)
			}
		}
		g.ended(id)
		if got := g.stored(id); strings.Contains(got, "plain-") || !strings.Contains(got, `"sealed"`) {
			t.Errorf("older %t: after the delivery the store has %s", older, got)
		}
	}
}

// Without a key, a hook with credentials is not stored, and one without is.
func TestSender_StoresNoCredentialsWithoutAKey(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	s := g.sender(func(c *deliver.Config) { c.Sealer = keyless{} })
	target := webhook.Target{URL: "https://example.com", Secret: "plain-token"}
	hook := &webhook.Hook{RunID: "r", ID: "1", State: webhook.State{Kind: "states", Target: target}}
	if err := s.Set(t.Context(), hook); !errors.Is(err, deliver.ErrSeal) {
		t.Errorf("the hook is stored: %v", err)
	}
	if err := s.CheckTarget(target); !errors.Is(err, deliver.ErrSeal) {
		t.Errorf("the target can be stored: %v", err)
	}
	g.set(s, "r", webhook.Target{URL: "https://example.com"})
}
