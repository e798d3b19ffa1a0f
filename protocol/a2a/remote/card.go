package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// card is what the client reads of an agent card.
type card struct {
	Name         string      `json:"name"`
	Description  string      `json:"description"`
	Interfaces   []cardIface `json:"supportedInterfaces"`
	Capabilities struct {
		Streaming bool `json:"streaming"`
	} `json:"capabilities"`
	// Fields of version 0.3.
	URL             string `json:"url"`
	ProtocolVersion string `json:"protocolVersion"`
}

type cardIface struct {
	URL     string `json:"url"`
	Binding string `json:"protocolBinding"`
	Version string `json:"protocolVersion"`
	Tenant  string `json:"tenant"`
}

// place is where an agent is reached, and how.
type place struct {
	url       string // root of the interface, without a slash at its end
	tenant    string
	rpc       bool
	streaming bool
}

// cards gets the card of a server, and keeps it as long as the server says.
type cards struct {
	wire *wire
	urls []string // where the card may be, in order

	turn chan struct{} // cap 1; has one while the card is fetched
	last atomic.Pointer[kept]
}

// kept is what is known of a card.
type kept struct {
	at      string // its URL
	tag     string // its ETag
	raw     json.RawMessage
	read    *card     // nil if it has never been had
	until   time.Time // when it is asked for again
	problem error     // of the last attempt
}

// Ages of cards: without Cache-Control, at least, at most, and after a failure.
const (
	cardAge     = 5 * time.Minute
	minCardAge  = 5 * time.Second
	maxCardAge  = 24 * time.Hour
	cardFailure = 15 * time.Second
)

const wellKnown = "/.well-known/agent-card.json"

// newCards returns the cards of a server: of the interface, if it has one of its own, or else of the host.
func newCards(w *wire, base *url.URL, target string) *cards {
	c := &cards{wire: w, turn: make(chan struct{}, 1)}
	if base.Path != "" {
		at := base.JoinPath()
		if target != "" {
			at = at.JoinPath(url.PathEscape(target))
		}
		c.urls = append(c.urls, strings.TrimSuffix(at.String(), "/")+wellKnown)
	}
	c.urls = append(c.urls, base.Scheme+"://"+base.Host+wellKnown)
	return c
}

// get returns the card. If it cannot be had, the last one is used; without one, the card is nil and the problem says why. While
// one caller asks for a card, the others use the old one, or wait for what it gets.
func (c *cards) get(ctx context.Context, now time.Time) *kept {
	old := c.last.Load()
	if old != nil && now.Before(old.until) {
		return old
	}
	select {
	case c.turn <- struct{}{}:
	default:
		if old != nil && old.read != nil {
			return old
		}
		select {
		case c.turn <- struct{}{}:
		case <-ctx.Done():
			return &kept{at: c.urls[len(c.urls)-1], problem: context.Cause(ctx)}
		}
	}
	defer func() { <-c.turn }()
	if k := c.last.Load(); k != old { // another caller has asked meanwhile
		return k
	}
	if old == nil {
		old = &kept{at: c.urls[len(c.urls)-1]}
	}
	next := *old
	for _, at := range c.urls {
		k, err := c.fetch(ctx, at, old, now)
		if err == nil {
			c.last.Store(k)
			return k
		}
		next.problem = err // the last place is the one that every server has
		if ctx.Err() != nil {
			return &next
		}
	}
	if f, ok := errors.AsType[*Failure](next.problem); !ok || !f.transient() {
		next.until = now.Add(cardFailure)
	}
	c.last.Store(&next)
	return &next
}

// fetch gets the card at one place.
func (c *cards) fetch(ctx context.Context, at string, old *kept, now time.Time) (*kept, error) {
	ctx, cancel := context.WithTimeout(ctx, c.wire.cardTimeout)
	defer cancel()
	header := http.Header{"Accept": {"application/json"}}
	if old.tag != "" && old.at == at {
		header.Set("If-None-Match", old.tag)
	}
	resp, err := c.wire.do(ctx, "GET", at, nil, header)
	if err != nil {
		return nil, err
	}
	defer drain(resp.Body)
	until := now.Add(ageOf(resp.Header))
	switch {
	case resp.StatusCode == http.StatusNotModified && old.read != nil && old.at == at:
		same := *old
		same.until, same.problem = until, nil
		return &same, nil
	case resp.StatusCode != http.StatusOK:
		return nil, &Failure{Status: resp.StatusCode, Message: "agent card " + at}
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxCard+1))
	switch {
	case err != nil:
		return nil, &Failure{Err: fmt.Errorf("agent card %s: %w", at, err)}
	case len(raw) > maxCard:
		return nil, fmt.Errorf("agent card %s is larger than %d bytes", at, maxCard)
	}
	read, err := readCard(raw)
	if err != nil {
		return nil, fmt.Errorf("agent card %s: %w", at, err)
	}
	return &kept{at: at, tag: resp.Header.Get("ETag"), raw: raw, read: read, until: until}, nil
}

// readCard decodes a card.
func readCard(raw []byte) (*card, error) {
	read := new(card)
	if err := json.Unmarshal(raw, read); err != nil {
		return nil, fmt.Errorf("not a card: %w", err)
	}
	if read.Name == "" && len(read.Interfaces) == 0 && read.URL == "" {
		return nil, fmt.Errorf("not a card: it has no name and no supportedInterfaces")
	}
	return read, nil
}

// ageOf returns how long a response may be kept.
func ageOf(h http.Header) time.Duration {
	for part := range strings.SplitSeq(h.Get("Cache-Control"), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch strings.ToLower(name) {
		case "no-store", "no-cache":
			return minCardAge
		case "max-age":
			if n, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 64); err == nil && n >= 0 {
				return min(max(time.Duration(min(n, 1<<31))*time.Second, minCardAge), maxCardAge)
			}
		}
	}
	return cardAge
}

// choose returns where to reach an agent: the first interface of its card that this client speaks, on the host that is
// configured, because credentials are for that host. Without a card it is the configured URL, over HTTP+JSON.
func (c *card) choose(base *url.URL, target, binding string) (*place, error) {
	configured := &place{url: base.String(), tenant: target, rpc: binding == bindingRPC, streaming: true}
	if c == nil {
		return configured, nil
	}
	if len(c.Interfaces) == 0 {
		if strings.HasPrefix(c.ProtocolVersion, "0.") || c.URL != "" {
			return nil, fmt.Errorf("agent %q speaks A2A %s, want 1.0", c.Name, cmp.Or(c.ProtocolVersion, "0.3"))
		}
		return nil, fmt.Errorf("the card of agent %q lists no supportedInterfaces", c.Name)
	}
	var usable []*place
	var others []string
	for _, i := range c.Interfaces {
		u, err := url.Parse(i.URL)
		switch {
		case err != nil || u.Scheme != base.Scheme || u.Host != base.Host,
			i.Binding != bindingREST && i.Binding != bindingRPC, binding != "" && i.Binding != binding,
			i.Version != "1.0" && !strings.HasPrefix(i.Version, "1."):
			others = append(others, fmt.Sprintf("%.80q (%.40s %.20s)", i.URL, i.Binding, i.Version))
			continue
		}
		usable = append(usable, &place{url: strings.TrimSuffix(i.URL, "/"), tenant: i.Tenant, rpc: i.Binding == bindingRPC, streaming: c.Capabilities.Streaming})
	}
	if len(usable) == 0 {
		return nil, fmt.Errorf("the card of agent %q lists no interface of A2A 1.0 on %s://%s that this client speaks; it lists %s", c.Name, base.Scheme, base.Host, strings.Join(others, ", "))
	}
	at := strings.TrimSuffix(base.String(), "/")
	prefer := func(among []*place, want func(*place) bool) []*place {
		if some := slices.DeleteFunc(slices.Clone(among), func(p *place) bool { return !want(p) }); len(some) > 0 {
			return some
		}
		return among
	}
	usable = prefer(usable, func(p *place) bool { return p.url == at })
	usable = prefer(usable, func(p *place) bool { return p.tenant == target })
	found := *usable[0]
	if base.Path != "" && found.url != at { // the card is about other interfaces of the host
		configured.streaming = c.Capabilities.Streaming
		return configured, nil
	}
	if target != "" {
		found.tenant = target
	}
	return &found, nil
}
