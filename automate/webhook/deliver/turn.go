package deliver

import (
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/awaken-go/awaken/automate/webhook"
)

// hold is a hook that this sender holds.
type hold struct {
	*webhook.Hook
	kept   time.Time      // when the lease began, at the latest
	target webhook.Target // where its messages are sent
}

// hosts counts the requests in flight by host. A slow host gets only a few concurrent requests, so that it does not use up the limit that
// all receivers share.
type hosts struct {
	few int // requests at once to a slow host

	mu    sync.Mutex
	known map[string]*host
}

type host struct {
	inFlight int
	slow     bool // the latest request to end took long
}

// maxHosts is the maximum number of hosts remembered as slow.
const maxHosts = 10_000

func (hs *hosts) enter(name string) bool {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.known[name]
	switch {
	case h == nil:
		if len(hs.known) >= maxHosts {
			for name, h := range hs.known {
				if h.inFlight == 0 {
					delete(hs.known, name)
				}
			}
		}
		h = new(host)
		hs.known[name] = h
	case h.slow && h.inFlight >= hs.few:
		return false
	}
	h.inFlight++
	return true
}

func (hs *hosts) leave(name string, slow bool) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.known[name]
	if h.inFlight, h.slow = h.inFlight-1, slow; h.inFlight == 0 && !slow {
		delete(hs.known, name)
	}
}

// turnTime is how long a hook waits for its turn before the sender releases it.
const turnTime = 5 * time.Second

// turn waits until the sender may make a request to the receiver of a hook, and returns a function that ends the turn. If that takes longer
// than turnTime, or the host is slow and busy, it releases the hook and returns nil. It also returns nil if ctx is done.
func (s *Sender) turn(ctx context.Context, h *hold) (done func(a *webhook.Attempt)) {
	timer := time.NewTimer(turnTime)
	defer timer.Stop()
	select {
	case s.posts <- struct{}{}:
	case <-timer.C:
		s.rest(ctx, h, s.backoff(1))
		return nil
	case <-ctx.Done():
		return nil
	}
	name := hostOf(&h.target)
	if !s.hosts.enter(name) {
		<-s.posts
		s.rest(ctx, h, max(s.cfg.Timeout, s.backoff(h.Failures+1)))
		return nil
	}
	return func(a *webhook.Attempt) {
		slow := a.Status == 0 || time.Duration(a.TookMS)*time.Millisecond > s.cfg.Timeout/3
		s.hosts.leave(name, slow)
		<-s.posts
	}
}

func hostOf(t *webhook.Target) string {
	u, err := url.Parse(t.URL)
	if err != nil {
		return ""
	}
	return u.Host
}
