package eventlog

import (
	"context"
	"encoding/json"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/bus"
)

// send makes one round: it tells other processes what this one follows, and sends them the new
// entries that they follow. What it fails to send is lost; the others ask again.
func (r *Relay) send(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	out := &round{relay: r, limit: min(r.bus.Limit(), 64<<10), parcels: map[string]*parcel{}}
	r.tell(out)
	r.sendEntries(out)
	if messages := out.close(); len(messages) > 0 {
		_ = r.bus.Send(ctx, relayPart, messages...)
	}
}

// leave tells the others that this process follows nothing any more.
func (r *Relay) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	out := &round{relay: r}
	out.note("", &note{Bye: true})
	_ = r.bus.Send(ctx, relayPart, out.messages...)
}

// round collects what is sent at a time.
type round struct {
	relay    *Relay
	limit    int // of a text, so that it needs no parts
	messages []bus.Message
	parcels  map[string]*parcel // frames that are not in messages yet, by process
	bytes    int
}

// parcel is the beginning of a note with frames.
type parcel struct {
	buf []byte
}

// text adds a text for a process, or for all.
func (o *round) text(to, text string) {
	o.bytes += len(text)
	o.messages = append(o.messages, bus.Message{To: to, Text: text})
}

// note adds a note for a process, or for all.
func (o *round) note(to string, n *note) {
	text, err := json.Marshal(n)
	if err != nil {
		panic(err) // it has nothing but numbers and strings
	}
	o.text(to, string(text))
}

// noteInterests is how many threads one note names at most.
const noteInterests = 64

// interests adds notes that a process follows threads, or asks for their entries again.
func (o *round) interests(to string, list []interest) {
	for len(list) > 0 {
		n := min(noteInterests, len(list))
		o.note(to, &note{Want: list[:n]})
		list = list[n:]
	}
}

// entries adds consecutive entries of a thread for a process.
func (o *round) entries(to string, t topic, entries []awaken.Entry, first bool) {
	p := o.parcels[to]
	if p == nil {
		p = &parcel{}
		o.parcels[to] = p
	}
	for len(entries) > 0 {
		if len(p.buf) > o.limit*3/4 {
			o.finish(to, p)
		}
		begin := len(p.buf)
		if begin == 0 {
			p.buf = append(p.buf, `{"frames":[`...)
		} else {
			p.buf = append(p.buf, ',')
		}
		buf, n, err := appendFrame(p.buf, t.tenant, t.thread, entries, first, o.limit-len(p.buf))
		if err != nil { // one of them
			buf, n, err = appendFrame(p.buf, t.tenant, t.thread, entries[:1], first, o.limit)
		}
		if err != nil || len(buf) > maxFrame { // the readers find it in the store; the next begins a new list
			p.buf, entries, first = p.buf[:begin], entries[1:], true
			continue
		}
		p.buf, entries, first = buf, entries[n:], false
	}
}

// maxFrame is the length of the longest text that the bus carries, with room for what is around it.
const maxFrame = bus.MaxText - 1024

// finish adds the frames of a parcel to the messages.
func (o *round) finish(to string, p *parcel) {
	if len(p.buf) > 0 {
		o.text(to, string(append(p.buf, "]}"...)))
		p.buf = p.buf[:0]
	}
}

// close returns all messages.
func (o *round) close() []bus.Message {
	for to, p := range o.parcels {
		o.finish(to, p)
	}
	return o.messages
}

// tell adds what this process follows and asks for. It tells nothing if there is no other process.
func (r *Relay) tell(out *round) {
	now := time.Now()
	r.mu.Lock()
	n := note{Hello: r.hello}
	alone, beat := len(r.peers) == 0, r.hello || r.beat
	r.hello, r.beat = false, false
	var want, anew []*following
	told := 0
	for _, t := range r.fresh {
		f := r.follows[t]
		if f != nil && f.due && !alone {
			if now.Sub(f.since) < settle {
				break
			}
			if f.told {
				want = append(want, f)
			} else { // what was sent to an earlier reader of this process may be gone
				anew = append(anew, f)
			}
			f.due, f.told = false, true
		}
		told++
	}
	if r.fresh = append(r.fresh[:0], r.fresh[told:]...); len(r.fresh) > 0 {
		time.AfterFunc(settle, r.poke)
	}
	for _, t := range r.dropped {
		if r.follows[t] == nil && !alone {
			n.Drop = append(n.Drop, interest{Tenant: t.tenant, Thread: t.thread})
		}
	}
	r.dropped = nil
	repairs := r.repairs
	r.repairs = map[string]map[topic]struct{}{}
	lost := map[string][]*following{}
	for id, topics := range repairs {
		for t := range topics {
			if f := r.follows[t]; f != nil {
				lost[id] = append(lost[id], f)
			}
		}
	}
	r.mu.Unlock()
	if beat || len(n.Drop) > 0 {
		out.note("", &n)
	}
	out.interests("", interestsOf(want, false))
	out.interests("", interestsOf(anew, true))
	for id, list := range lost {
		out.interests(id, interestsOf(list, true))
	}
}

// interestsOf returns what to tell about threads. Again asks for entries that this process lacks.
func interestsOf(list []*following, again bool) []interest {
	out := make([]interest, len(list))
	for i, f := range list {
		at := f.live.position()
		out[i] = interest{Tenant: f.tenant, Thread: f.thread, Epoch: at.Epoch, Seq: at.Seq, Again: again}
	}
	return out
}

// sendEntries adds the new entries of threads that other processes follow. What does not fit into
// the round waits for the next.
func (r *Relay) sendEntries(out *round) {
	r.mu.Lock()
	list := r.dirty
	r.dirty = nil
	r.mu.Unlock()
	for i, v := range list {
		if out.bytes > maxRound {
			r.mu.Lock()
			r.dirty = append(list[i:], r.dirty...)
			r.poke()
			r.mu.Unlock()
			return
		}
		r.sendThread(out, v)
		v.log.release(v)
	}
}

// sendThread adds the new entries of a thread.
func (r *Relay) sendThread(out *round, v *live) {
	t := v.topic()
	r.mu.Lock()
	processes := make([]string, 0, len(r.readers[t]))
	sent := make([]awaken.Cursor, 0, len(r.readers[t]))
	for id, rd := range r.readers[t] {
		processes, sent = append(processes, id), append(sent, rd.sent)
	}
	r.mu.Unlock()
	for i, u := range v.unsent(sent) {
		if len(u.entries) == 0 {
			continue
		}
		out.entries(processes[i], t, u.entries, u.first)
		r.mu.Lock()
		if rd := r.readers[t][processes[i]]; rd != nil && rd.sent == sent[i] { // otherwise it has just asked for others
			rd.sent, rd.at = u.entries[len(u.entries)-1].Cursor, time.Now()
		}
		r.mu.Unlock()
	}
}
