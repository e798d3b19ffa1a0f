package eventlog

import (
	"github.com/awaken-go/awaken"
)

// shared is the state that a live part shares with other processes. It is guarded by live.mu.
type shared struct {
	watchers int           // readers in this process
	wanted   bool          // the relay has been told that this process follows the thread
	remote   bool          // entries came from another process
	followed bool          // another process follows the thread
	dirty    bool          // the relay has been told that there are entries to send
	unknown  awaken.Cursor // the last entry that came and could not be decoded
}

// topic returns the name of the thread on the bus.
func (v *live) topic() topic { return topic{v.log.opts.Tenant, v.thread} }

// watch counts readers.
func (v *live) watch(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shared.watchers += n
	v.interest()
}

// interest tells the relay whether this process follows a thread that it does not run. Requires v.mu.
func (v *live) interest() {
	r, wanted := v.log.opts.Relay, v.shared.watchers > 0 && v.running == 0
	if r == nil || wanted == v.shared.wanted {
		return
	}
	if v.shared.wanted = wanted; wanted {
		r.follow(v)
	} else {
		r.unfollow(v)
	}
}

// begin prepares for a run in this process. Requires v.mu.
func (v *live) begin() {
	v.interest()
	v.shared.remote = false
	v.shared.followed = v.log.opts.Relay != nil && v.log.opts.Relay.followed(v)
}

// changed tells the relay that there are entries for other processes. Requires v.mu.
func (v *live) changed() {
	if v.shared.followed && !v.shared.dirty {
		v.mark()
	}
}

// mark makes the relay send entries, and keeps them until it has. Requires v.mu.
func (v *live) mark() {
	v.shared.dirty = true
	v.log.mu.Lock()
	v.users++
	v.log.mu.Unlock()
	v.log.opts.Relay.mark(v)
}

// publish sends the entries of a thread that another process has begun to follow, if it runs here.
func (v *live) publish() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.running > 0 {
		v.shared.followed = true
		v.mark()
	}
}

// take adds entries of a run in another process, if they directly follow what is there. First says
// that the other process has none of their epoch before them. It reports false if some are missing.
func (v *live) take(entries []awaken.Entry, first bool) (complete bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shared.watchers == 0 || v.running > 0 {
		return true
	}
	for i, e := range entries {
		first = first && i == 0 || i > 0 && e.Epoch != entries[i-1].Epoch || e.Epoch == v.shared.unknown.Epoch && e.Seq == v.shared.unknown.Seq+1
		if e.Event == nil { // readers find it in the store; what follows begins a new list
			v.shared.unknown = e.Cursor
			continue
		}
		if n := len(v.entries); n > 0 {
			last := v.entries[n-1].Cursor
			if e.Epoch < last.Epoch || e.Epoch == last.Epoch && e.Seq <= last.Seq {
				continue
			}
			if successor := e.Seq == last.Seq+1 && (e.Epoch == last.Epoch || last.Seq <= v.durable); !successor && !first {
				return false
			}
		}
		v.add(e)
		v.shared.remote = true
		v.wake(!isDelta(e.Event))
	}
	return true
}

// position returns the last entry that is in memory.
func (v *live) position() awaken.Cursor {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := len(v.entries); n > 0 {
		return v.entries[n-1].Cursor
	}
	return awaken.Cursor{}
}

// unsent has the entries that a process does not have.
type unsent struct {
	entries []awaken.Entry
	first   bool // the process has none of their epoch, or cannot have the one before
}

// unsent returns the entries after some positions of readers, and notes that they are being sent.
func (v *live) unsent(sent []awaken.Cursor) []unsent {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shared.dirty = false
	v.shared.followed = len(sent) > 0 || v.log.opts.Relay.followed(v)
	out := make([]unsent, len(sent))
	copies := map[int][]awaken.Entry{} // readers mostly are at the same position
	for i, at := range sent {
		from := v.after(at)
		if from == len(v.entries) {
			continue
		}
		if copies[from] == nil {
			copies[from] = append([]awaken.Entry(nil), v.entries[from:]...)
		}
		out[i] = unsent{copies[from], from == 0 || v.entries[from-1].Epoch != v.entries[from].Epoch}
	}
	return out
}

// after returns the index of the first entry that a process lacks whose last one is at. Requires v.mu.
func (v *live) after(at awaken.Cursor) int {
	n := len(v.entries)
	if n == 0 {
		return 0
	}
	first, last := v.entries[0].Cursor, v.entries[n-1].Cursor
	switch {
	case at.Epoch > last.Epoch: // it knows a later owner
		return n
	case at == awaken.Cursor{}: // it needs what is not committed yet
		if v.durable > first.Seq && v.durable <= last.Seq {
			return int(v.durable - first.Seq)
		}
		return 0
	case at.Seq < first.Seq:
		return 0
	}
	if i := int(min(at.Seq, last.Seq) - first.Seq); v.entries[i].Epoch == at.Epoch {
		return i + 1
	}
	// Its entries are of an earlier owner, and may be lost.
	i := n - 1
	for i > 0 && v.entries[i-1].Epoch == last.Epoch {
		i--
	}
	return i
}
