package memory

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/mailbox"
)

// lines orders the threads of all tenants that have something to claim, and holds the
// listeners. DB.mu guards it.
type lines struct {
	ready     line // threads that can be claimed
	suspects  line // threads that can be claimed and have a suspect
	later     line // threads where a dispatch will become available by time alone
	claimed   map[*mailbox.Dispatch]*thread
	listeners map[int]func(mailbox.Signal)
	listened  int   // how often Listen was called
	dead      int64 // dispatches that became dead letters
	changes   *changelog.Memory
}

func newLines(changes *changelog.Memory) *lines {
	return &lines{
		changes: changes,
		claimed: map[*mailbox.Dispatch]*thread{}, listeners: map[int]func(mailbox.Signal){},
		ready:    line{place: func(t *thread) *int { return &t.ready }, less: claimedFirst},
		suspects: line{place: func(t *thread) *int { return &t.suspect }, less: claimedFirst},
		later:    line{place: func(t *thread) *int { return &t.later }, less: func(a, b *thread) bool { return a.changes < b.changes }},
	}
}

// claimedFirst reports whether a is claimed before b.
func claimedFirst(a, b *thread) bool {
	return cmp.Or(cmp.Compare(a.head.Priority, b.head.Priority), cmp.Compare(a.since(), b.since()), cmp.Compare(a.head.ID, b.head.ID)) < 0
}

// place moves a thread to its places in the lines.
func (l *lines) place(t *thread, now int64) {
	l.ready.remove(t)
	l.suspects.remove(t)
	l.later.remove(t)
	t.head, t.changes = mailbox.Ready(t.live, now), 0
	if t.head == nil {
		return
	}
	if t.head.AvailableAt <= now {
		if slices.ContainsFunc(t.live, (*mailbox.Dispatch).Suspect) {
			heap.Push(&l.suspects, t)
		} else {
			heap.Push(&l.ready, t)
		}
	}
	for _, d := range t.live {
		if d.AvailableAt > now && (t.changes == 0 || d.AvailableAt < t.changes) {
			t.changes = d.AvailableAt
		}
	}
	if t.changes > 0 {
		heap.Push(&l.later, t)
	}
}

// free reports whether a dispatch of a priority may begin at once: none that is no suspect can be
// claimed with that priority or a higher one.
func (l *lines) free(priority int, now int64) bool {
	return (l.later.Len() == 0 || l.later.threads[0].changes > now) && (l.ready.Len() == 0 || l.ready.threads[0].head.Priority > priority)
}

// release ends the claim on d. A dispatch that is Queued again becomes available at
// available.
func (l *lines) release(t *thread, d *mailbox.Dispatch, as mailbox.Status, available, now int64) {
	d.Status, d.UpdatedAt = as, now
	d.ClaimToken, d.ClaimedBy, d.LeaseUntil = "", "", 0
	delete(l.claimed, d)
	t.freed = now
	if as == mailbox.Queued {
		d.AvailableAt = available
	} else {
		d.CompletedAt = now
		t.live = slices.DeleteFunc(t.live, func(o *mailbox.Dispatch) bool { return o == d })
		t.over = append(t.over, d)
	}
	if as == mailbox.DeadLetter {
		l.dead++
	}
	l.changed(t, d)
	l.place(t, now)
}

// bury releases what a process has claimed, and counts its death if it is dead. It returns how
// many dispatches it released.
func (l *lines) bury(process string, now int64, dead bool) int {
	var claimed []*mailbox.Dispatch
	for d := range l.claimed {
		if d.ClaimedBy == process {
			claimed = append(claimed, d)
		}
	}
	if dead {
		mailbox.Blame(claimed)
	}
	for _, d := range claimed {
		if dead {
			d.LostAt = now
			d.Fail(now, "", true)
		}
		l.release(l.claimed[d], d, mailbox.Queued, now, now)
	}
	return len(claimed)
}

// claims returns how many dispatches each process has claimed.
func (l *lines) claims() map[string]int {
	out := map[string]int{}
	for d := range l.claimed {
		out[d.ClaimedBy]++
	}
	return out
}

// notify wakes the listeners.
func (l *lines) notify(s mailbox.Signal) {
	for _, fn := range l.listeners {
		fn(s)
	}
}

// queue is the queue of a thread.
type queue struct {
	epoch uint64
	live  []*mailbox.Dispatch // queued and claimed, in order
	over  []*mailbox.Dispatch
	freed int64 // when its last claim ended, Unix ms

	// Its places in lines.
	head                  *mailbox.Dispatch // the dispatch that a claim takes
	changes               int64             // when the head may change by time alone, Unix ms; 0 if never
	ready, suspect, later int               // index in the line plus 1; 0 if not in it
}

// since returns when the thread became ready, Unix ms.
func (q *queue) since() int64 { return max(q.freed, q.head.AvailableAt) }

// line is a heap of threads, each of which stores its index.
type line struct {
	threads []*thread
	less    func(a, b *thread) bool
	place   func(t *thread) *int
}

func (l *line) Len() int           { return len(l.threads) }
func (l *line) Less(i, j int) bool { return l.less(l.threads[i], l.threads[j]) }
func (l *line) Swap(i, j int) {
	l.threads[i], l.threads[j] = l.threads[j], l.threads[i]
	*l.place(l.threads[i]), *l.place(l.threads[j]) = i+1, j+1
}
func (l *line) Push(x any) {
	l.threads = append(l.threads, x.(*thread))
	*l.place(x.(*thread)) = len(l.threads)
}
func (l *line) Pop() any {
	last := len(l.threads) - 1
	t := l.threads[last]
	l.threads[last], l.threads = nil, l.threads[:last]
	*l.place(t) = 0
	return t
}

// first returns the first thread of a tenant that is not in except, or nil.
func (l *line) first(except []string) (first *thread) {
	if len(except) == 0 && len(l.threads) > 0 {
		return l.threads[0]
	}
	for _, t := range l.threads {
		if !slices.Contains(except, t.head.Tenant) && (first == nil || l.less(t, first)) {
			first = t
		}
	}
	return first
}

func (l *line) remove(t *thread) {
	if at := *l.place(t); at > 0 {
		heap.Remove(l, at-1)
	}
}
