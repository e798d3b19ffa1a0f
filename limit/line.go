package limit

import (
	"slices"
	"time"
)

// line is a queue of requests of one class. Tenants take turns, and the requests of a tenant are
// served in the order in which they came.
type line struct {
	tenants []*tenantLine // that have requests, the next one first
}

type tenantLine struct {
	tenant  string
	waiters []*waiter
}

func (l *line) add(w *waiter) {
	i := slices.IndexFunc(l.tenants, func(t *tenantLine) bool { return t.tenant == w.tenant })
	if i < 0 {
		i = len(l.tenants)
		l.tenants = append(l.tenants, &tenantLine{tenant: w.tenant})
	}
	t := l.tenants[i]
	at := len(t.waiters)
	for at > 0 && t.waiters[at-1].since.After(w.since) {
		at--
	}
	t.waiters = slices.Insert(t.waiters, at, w)
}

func (l *line) remove(w *waiter) {
	for i, t := range l.tenants {
		if t.tenant != w.tenant {
			continue
		}
		t.waiters = slices.DeleteFunc(t.waiters, func(o *waiter) bool { return o == w })
		if len(t.waiters) == 0 {
			l.tenants = slices.Delete(l.tenants, i, i+1)
		}
		return
	}
}

// all returns the waiters in the order in which they are served.
func (l *line) all() (out []*waiter) {
	for i := 0; ; i++ {
		more := false
		for _, t := range l.tenants {
			if i < len(t.waiters) {
				out, more = append(out, t.waiters[i]), true
			}
		}
		if !more {
			return out
		}
	}
}

// served moves a tenant to the end.
func (l *line) served(tenant string) {
	if i := slices.IndexFunc(l.tenants, func(t *tenantLine) bool { return t.tenant == tenant }); i >= 0 {
		t := l.tenants[i]
		l.tenants = append(slices.Delete(l.tenants, i, i+1), t)
	}
}

// join adds a request to its line. Requires a.mu.
func (a *account) join(w *waiter) {
	a.lines[w.class].add(w)
	for _, s := range w.scopes {
		s.joined(w.class)
	}
}

// leave removes a request from its line. Requires a.mu.
func (a *account) leave(w *waiter) {
	a.lines[w.class].remove(w)
	for _, s := range w.scopes {
		s.waiting[w.class]--
	}
}

// dispatch lets the requests go for which there is room: those that a user waits for first. A
// request does not overtake another that waits for the same scope. Requires a.mu.
func (a *account) dispatch(now time.Time) {
	for _, w := range a.lines[background].all() { // it has waited long enough
		if now.Sub(w.since) >= patience {
			a.leave(w)
			w.class = interactive
			a.join(w)
		}
	}
	blocked := map[*scope]bool{}
	for class := range classes {
		for _, w := range a.lines[class].all() {
			if err := a.refused(w, now); err != nil {
				a.refuse(w, err)
				continue
			}
			free := true
			for _, s := range w.scopes {
				if blocked[s] || !s.admits(w.tokens, now) {
					free, blocked[s] = false, true
				}
			}
			if !free {
				continue
			}
			a.leave(w)
			for _, s := range w.scopes {
				s.take(w.tokens, now)
			}
			a.lines[class].served(w.tenant)
			close(w.ready)
		}
	}
}

// answer refuses the requests that wait only for the store's answer, once it has been there: they go to
// another model. Requires a.mu.
func (a *account) answer(now time.Time) {
	for class := range classes {
		for _, w := range a.lines[class].all() {
			if !w.passes() || !w.answered() {
				continue
			}
			a.refuse(w, a.inTheWay(w, now))
		}
	}
}

// answered reports whether every scope was visited after the request joined its line.
func (w *waiter) answered() bool {
	for _, s := range w.scopes {
		if s.lookedAt.Before(w.joined) {
			return false
		}
	}
	return true
}
