package mailbox

// shareOfFree is how much a tenant may hold of the slots of a worker, in multiples of what is free:
// alone it may have four fifths of them, two tenants may have four ninths each, and what is left is
// for the next.
const shareOfFree = 4

// maxBatch is how many dispatches a worker claims at once.
const maxBatch = 64

// turns are the tenants that had their turn: the worker has claimed dispatches of them, and others
// may be waiting for theirs.
type turns map[string]bool

// room returns how many dispatches this worker may claim now, and the tenants of which it may claim
// none: those that have their share of its slots, and those that had their turn. Again reports that
// the latter could have more if no other tenant waits. As long as the worker knows no tenant but the
// default one, that may have all slots. Those for what may be claimed are kept until the claim is made.
// A worker that is not open may claim nothing, or one if it is to claim a suspect.
func (b *Mailbox) room(had turns, suspect bool) (limit int, except []string, again bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept.Store(0)
	free := b.free()
	limit = min(free, maxBatch)
	if b.isolation.phase != open {
		limit = 0
		if suspect {
			limit = 1
		}
	}
	defer func() {
		b.full = limit <= 0 || len(except) > 0
		b.kept.Store(int64(max(limit, 0)))
	}()
	if limit <= 0 || !b.shared {
		return limit, nil, false
	}
	held := b.held()
	limit = min(limit, shareLeft(0, free))
	for tenant, n := range held {
		left := shareLeft(n, free)
		switch {
		case left <= 0:
			except = append(except, tenant)
		case !had[tenant]:
			limit = min(limit, left) // all that is claimed may be of this tenant
		}
	}
	for tenant := range had {
		if shareLeft(held[tenant], free) > 0 {
			except, again = append(except, tenant), true
		}
	}
	return limit, except, again
}

// held returns how many slots each tenant holds. Requires b.mu.
func (b *Mailbox) held() map[string]int {
	held := map[string]int{}
	for _, c := range b.inFlight {
		held[c.d.Tenant]++
	}
	if b.crew != nil {
		for s := range b.crew.reserved {
			held[s.tenant]++
		}
	}
	return held
}

// shareLeft returns how many of the free slots a tenant may get that holds n: when it gets the last of
// them, it holds at most shareOfFree times what was free just before.
func shareLeft(n, free int) int {
	return (shareOfFree*(free+1) - n) / (shareOfFree + 1)
}
