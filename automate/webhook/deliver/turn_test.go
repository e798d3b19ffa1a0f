package deliver_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/automate/webhook/deliver"
	"github.com/awaken-go/awaken/internal/bubbletest"
)

// network has receivers that accept everything, and one that never answers.
type network struct {
	mu       sync.Mutex
	accepted map[string][]string // bodies by host
}

const hanging = "hanging.example"

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if r.URL.Host == hanging {
		<-r.Context().Done()
		return nil, errors.Join(errors.New("no answer"), r.Context().Err())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.accepted[r.URL.Host] = append(n.accepted[r.URL.Host], string(body))
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

// of returns what a host has accepted.
func (n *network) of(host string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.accepted[host])
}

// hook stores a hook of a run for a host.
func (g *rig) hook(s *deliver.Sender, runID, id, host string) {
	g.t.Helper()
	if err := s.Set(g.t.Context(), &webhook.Hook{RunID: runID, ID: id, State: webhook.State{Kind: "states", Target: webhook.Target{URL: "https://" + host + "/told"}}}); err != nil {
		g.t.Fatal(err)
	}
}

// usual is the configuration of a server.
func usual(n *network, requests int) func(c *deliver.Config) {
	return func(c *deliver.Config) {
		*c = deliver.Config{Store: c.Store, Mailbox: c.Mailbox, Kinds: c.Kinds, Client: &http.Client{Transport: n}, Requests: requests}
	}
}

// A hook that waits for its turn longer than its lease is another process's by then: its messages are sent once, in order.
func TestSender_WaitsForItsTurn(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g, n := newRig(t), &network{accepted: map[string][]string{}}
		id := g.run()
		g.finish(id)
		busy := g.sender(usual(n, 1))
		for i := range 20 {
			g.hook(busy, id, fmt.Sprint(i), hanging)
		}
		g.background(busy.Work)
		time.Sleep(time.Second)
		g.hook(busy, id, "last", "good.example")
		time.Sleep(time.Second)
		g.background(g.sender(usual(n, 64)).Work)
		time.Sleep(time.Hour)
		if got := n.of("good.example"); !slices.Equal(got, []string{start, finish}) {
			t.Errorf("told %v", got)
		}
	})
}

// A receiver that never answers delays others once, until that is noticed, however many hooks it has.
func TestSender_OthersDoNotWaitForAReceiverThatHangs(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g, n := newRig(t), &network{accepted: map[string][]string{}}
		id := g.run()
		g.finish(id)
		s := g.sender(usual(n, 0))
		for i := range 500 {
			g.hook(s, id, fmt.Sprint(i), hanging)
		}
		g.background(s.Work)
		time.Sleep(time.Second)
		for round, limit := range []time.Duration{30 * time.Second, 10 * time.Second, 10 * time.Second} {
			host := fmt.Sprintf("good%d.example", round)
			began := time.Now()
			g.hook(s, id, host, host)
			for len(n.of(host)) < 2 && time.Since(began) < time.Hour {
				time.Sleep(100 * time.Millisecond)
			}
			if took := time.Since(began); took > limit {
				t.Errorf("round %d: the messages took %v, want at most %v", round, took, limit)
			}
			time.Sleep(2 * time.Minute)
		}
	})
}
