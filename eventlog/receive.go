package eventlog

import (
	"encoding/json"
	"time"

	"github.com/awaken-go/awaken"
)

// receive takes what another process sent. What cannot be decoded is lost.
func (r *Relay) receive(from, body string) {
	var n note
	if err := json.Unmarshal([]byte(body), &n); err != nil {
		return
	}
	if !r.seen(from, &n) {
		return
	}
	for _, w := range n.Want {
		r.wanted(from, w)
	}
	for i := range n.Frames {
		r.frame(from, &n.Frames[i])
	}
}

// seen notes that a process exists and what it does not follow. It reports false if there are too
// many processes.
func (r *Relay) seen(from string, n *note) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.peers[from]
	if !known && len(r.peers) >= maxPeers {
		return false
	}
	if !known || n.Hello {
		r.tellAgain()
		r.beat = true
		r.poke()
	}
	r.peers[from] = time.Now().Add(r.expiry())
	for _, d := range n.Drop {
		r.forget(topic{d.Tenant, d.Thread}, from)
	}
	if n.Bye {
		delete(r.peers, from)
		for t := range r.readers {
			r.forget(t, from)
		}
	}
	return true
}

// forget notes that a process does not follow a thread. Requires r.mu.
func (r *Relay) forget(t topic, process string) {
	delete(r.readers[t], process)
	if len(r.readers[t]) == 0 {
		delete(r.readers, t)
	}
}

// wanted notes that a process follows a thread. If the thread is run here, its entries are sent.
func (r *Relay) wanted(from string, w interest) {
	t, at, now := topic{w.Tenant, w.Thread}, awaken.Cursor{Epoch: w.Epoch, Seq: w.Seq}, time.Now()
	r.mu.Lock()
	by := r.readers[t]
	if by == nil {
		if len(r.readers) >= maxReaders {
			r.mu.Unlock()
			return
		}
		by = map[string]*reader{}
		r.readers[t] = by
	}
	rd := by[from]
	if rd == nil {
		rd = &reader{}
		by[from] = rd
	}
	rd.expires = now.Add(r.expiry())
	// It has less than it was sent, and nothing is on its way.
	if w.Again || at.Seq > 0 && at.Before(rd.sent) && now.Sub(rd.at) > time.Second {
		rd.sent = at
	}
	log := r.logs[w.Tenant]
	r.mu.Unlock()
	if log == nil {
		return
	}
	if v := log.find(w.Thread); v != nil {
		v.publish()
		log.release(v)
	}
}

// frame passes entries to the readers of this process, and asks again if some are missing.
func (r *Relay) frame(from string, f *frame) {
	r.mu.Lock()
	log := r.logs[f.Tenant]
	r.mu.Unlock()
	if log == nil {
		return
	}
	v := log.find(f.Thread)
	if v == nil {
		return
	}
	entries, err := f.decode()
	complete := err != nil || v.take(entries, f.First)
	at := v.position()
	log.release(v)
	if complete {
		return
	}
	t := topic{f.Tenant, f.Thread}
	r.mu.Lock()
	defer r.mu.Unlock()
	fl := r.follows[t]
	if fl == nil {
		return
	}
	if fl.after != at {
		fl.after, fl.pause = at, repairEvery
	}
	if time.Since(fl.asked) >= fl.pause {
		fl.asked, fl.pause = time.Now(), min(2*fl.pause, repairMost)
		if r.repairs[from] == nil {
			r.repairs[from] = map[topic]struct{}{}
		}
		r.repairs[from][t] = struct{}{}
		r.poke()
	}
}
