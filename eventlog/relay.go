package eventlog

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/bus"
)

// Relay brings the live entries of runs in other processes to the readers of this one, and those of
// this one to readers elsewhere. All logs of a process share one; see [Options].
//
// A process tells the others over the bus which threads its readers follow, unless it runs them
// itself. The process that runs such a thread sends the entries of the step so far, and then every
// new entry. A reader's process takes only an entry that directly follows what it has; it asks
// again for what it misses, and its readers find everything in the store, as without a bus. While
// no other process has readers of its threads, a process sends nothing but a greeting every few
// seconds.
type Relay struct {
	bus  *bus.Exchange
	opts RelayOptions
	wake chan struct{} // cap 1: there is something to send

	mu      sync.Mutex
	logs    map[string]*Log               // by tenant
	peers   map[string]time.Time          // other processes, and until when they count
	readers map[topic]map[string]*reader  // what other processes follow, by process
	follows map[topic]*following          // what this process follows
	fresh   []topic                       // what it follows and has not told yet, oldest first
	dropped []topic                       // what it does not follow any more, and has told
	repairs map[string]map[topic]struct{} // what was lost, by the process that has it
	hello   bool                          // ask the others
	beat    bool                          // tell that this process is there
	dirty   []*live                       // threads with entries that others follow; each counts as a user
}

// RelayOptions configures a Relay. Zero fields have their defaults.
type RelayOptions struct {
	Window time.Duration // how long entries wait for others, to be sent together; default 5 milliseconds
	Renew  time.Duration // how often a process repeats what it follows; default 5 seconds
}

const (
	// settle is how long a thread is followed before others are told: most runs begin a moment
	// later where their reader is.
	settle = 20 * time.Millisecond
	// repairEvery is how often a process asks for lost entries of a thread. It doubles, up to repairMost,
	// while the same ones do not come.
	repairEvery = 100 * time.Millisecond
	repairMost  = 5 * time.Second
	// sendTime limits a round of sending.
	sendTime = 5 * time.Second

	maxPeers   = 1024
	maxReaders = 1 << 17 // threads that other processes follow
	maxRound   = 4 << 20 // bytes sent in a round
)

// topic is a thread of a tenant.
type topic struct{ tenant, thread string }

// reader is another process that follows a thread.
type reader struct {
	sent    awaken.Cursor // the last entry sent to it; zero before the first
	at      time.Time     // when that was
	expires time.Time
}

// following is a thread that this process follows.
type following struct {
	topic
	live  *live
	since time.Time
	due   bool          // to be told in the next round
	told  bool          // at least once
	asked time.Time     // when lost entries were last asked for
	after awaken.Cursor // the position after which they were lost
	pause time.Duration // until they are asked for again
}

// relayPart is the name of relays on the bus.
const relayPart = "log"

// NewRelay returns a relay over a bus. It works while the exchange runs its Run. opts may be nil.
func NewRelay(x *bus.Exchange, opts *RelayOptions) *Relay {
	var o RelayOptions
	if opts != nil {
		o = *opts
	}
	o.Window = cmp.Or(max(0, o.Window), 5*time.Millisecond)
	o.Renew = cmp.Or(max(0, o.Renew), 5*time.Second)
	r := &Relay{bus: x, opts: o, wake: make(chan struct{}, 1), logs: map[string]*Log{}, peers: map[string]time.Time{},
		readers: map[topic]map[string]*reader{}, follows: map[topic]*following{}, repairs: map[string]map[topic]struct{}{}}
	x.Listen(relayPart, func(from, text string) {
		if text == "" {
			r.begin()
		} else {
			r.receive(from, text)
		}
	})
	return r
}

// Run sends until ctx is done. [bus.Exchange.Run] runs it.
func (r *Relay) Run(ctx context.Context) {
	renew := time.NewTicker(r.opts.Renew)
	defer renew.Stop()
	for {
		select {
		case <-ctx.Done():
			r.leave(ctx)
			return
		case <-renew.C:
			r.renew()
		case <-r.wake:
		}
		select { // for company
		case <-ctx.Done():
		case <-time.After(r.opts.Window):
		}
		r.send(ctx)
	}
}

// poke makes Run send.
func (r *Relay) poke() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// join adds the log of a tenant.
func (r *Relay) join(tenant string, l *Log) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs[tenant] = l
}

// follow notes that this process follows a thread. The caller may hold v.mu.
func (r *Relay) follow(v *live) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := v.topic()
	r.follows[t] = &following{topic: t, live: v, since: time.Now(), due: true}
	if r.fresh = append(r.fresh, t); len(r.fresh) > 2*len(r.follows)+1000 { // Run does not run
		r.tellAgain()
	}
	if len(r.fresh) == 1 {
		time.AfterFunc(settle, r.poke)
	}
}

// unfollow notes that this process does not follow a thread any more. The caller may hold v.mu.
func (r *Relay) unfollow(v *live) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := v.topic()
	if f := r.follows[t]; f != nil && f.told {
		r.dropped = append(r.dropped, t)
		r.poke()
	}
	delete(r.follows, t)
}

// followed reports whether another process follows a thread. The caller may hold v.mu.
func (r *Relay) followed(v *live) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.readers[v.topic()]) > 0
}

// mark notes that a thread has new entries. The caller may hold v.mu.
func (r *Relay) mark(v *live) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirty = append(r.dirty, v)
	r.poke()
}

// begin begins to listen, perhaps after messages were lost.
func (r *Relay) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hello = true
	r.tellAgain()
	r.poke()
}

// tellAgain makes the next round repeat what this process follows. Requires r.mu.
func (r *Relay) tellAgain() {
	r.fresh = r.fresh[:0]
	for t, f := range r.follows {
		f.due = true
		r.fresh = append(r.fresh, t)
	}
}

// renew repeats what this process follows, and forgets processes that did not.
func (r *Relay) renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for id, until := range r.peers {
		if now.After(until) {
			delete(r.peers, id)
		}
	}
	for t, by := range r.readers {
		for id, rd := range by {
			if now.After(rd.expires) {
				delete(by, id)
			}
		}
		if len(by) == 0 {
			delete(r.readers, t)
		}
	}
	r.tellAgain()
	r.beat = true
}

// expiry is how long what a process told counts.
func (r *Relay) expiry() time.Duration { return 3*r.opts.Renew + r.opts.Renew/2 }
