package server

import (
	"hash/maphash"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/awaken-go/awaken/protocol"
)

const (
	guessSlots   = 4096
	guessProbes  = 8                // slots that an address can be in
	guessMemory  = 10 * time.Minute // after which an address without wrong keys is forgotten
	guessMaxWait = time.Minute
)

// guesses makes client addresses that send wrong keys wait: each wrong key beyond the allowance
// doubles the wait, from a second to a minute. It has a fixed size, and forgets the address that was
// wrong the longest ago to make room. It is safe for concurrent use.
type guesses struct {
	allowance int // wrong keys before an address must wait; 0 or less means no limit
	now       func() time.Time
	seed      maphash.Seed

	mu    sync.Mutex
	slots []guess // guessSlots of them, made by the first wrong key
}

type guess struct {
	from  netip.Addr
	wrong int
	last  time.Time // of the last wrong key
}

func newGuesses(allowance int) *guesses {
	return &guesses{allowance: allowance, now: time.Now, seed: maphash.MakeSeed()}
}

// check refuses a request whose address must wait.
func (g *guesses) check(r *http.Request) error {
	if g.allowance <= 0 {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.slots == nil {
		return nil
	}
	at, ok := g.find(addressOf(r))
	if !ok || at.wrong < g.allowance {
		return nil
	}
	wait := guessMaxWait
	if n := at.wrong - g.allowance; n < 6 {
		wait = time.Second << n
	}
	if left := at.last.Add(wait).Sub(g.now()); left > 0 {
		return &protocol.Failure{Status: http.StatusTooManyRequests, Code: "rate_limited", Message: "too many wrong keys from this address; wait before you try another", RetryAfter: left + time.Second}
	}
	return nil
}

// wrong counts a wrong key.
func (g *guesses) wrong(r *http.Request) {
	if g.allowance <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.slots == nil {
		g.slots = make([]guess, guessSlots)
	}
	from := addressOf(r)
	at, ok := g.find(from)
	if !ok {
		*at = guess{from: from}
	}
	at.wrong, at.last = at.wrong+1, g.now()
}

// find returns the slot of an address, or the one to use for it. Requires g.mu and slots.
func (g *guesses) find(from netip.Addr) (at *guess, ok bool) {
	old := g.now().Add(-guessMemory)
	start := maphash.Comparable(g.seed, from)
	for i := range uint64(guessProbes) {
		s := &g.slots[(start+i)%guessSlots]
		if s.from == from && s.last.After(old) {
			return s, true
		}
		if at == nil || s.last.Before(at.last) {
			at = s
		}
	}
	return at, false
}

// addressOf returns the address of the client, for IPv6 that of its network: a client usually has a
// whole one. It is the connection's: a client can write anything into a header.
func addressOf(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			ip = network.Addr()
		}
	}
	return ip
}
