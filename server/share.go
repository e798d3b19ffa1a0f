package server

import (
	"net/http"
	"sync"
	"time"

	"github.com/awaken-go/awaken/protocol"
)

// shares divides a capacity among keys and tenants, so that none can take it all. A key, and a
// tenant, may hold at most shareOfFree times what is free: alone it may have four fifths of the
// capacity, two may have four ninths each, and there is always room for the next one. Keys without a
// tenant count for themselves only.
type shares struct {
	what  string // for messages
	limit int64  // 0 or less means no limit

	mu        sync.Mutex
	used      int64
	ofKeys    map[string]int64
	ofTenants map[string]int64
}

const shareOfFree = 4

func newShares(what string, limit int64) *shares {
	return &shares{what: what, limit: limit, ofKeys: map[string]int64{}, ofTenants: map[string]int64{}}
}

// take takes n for a caller, who gives it back. If the caller would have more than its share, that is
// a 429; if nothing is free, a 503.
func (s *shares) take(by Caller, n int64) error {
	if s.limit <= 0 || n == 0 {
		return nil
	}
	key, tenant := by.KeyID(), by.TenantName()
	s.mu.Lock()
	defer s.mu.Unlock()
	free := s.limit - s.used
	switch most := shareOfFree * (free - n + 1); { // what is left, and the last of n
	case free > 0 && s.ofKeys[key] > 0 && s.ofKeys[key]+n > most:
		return s.refuse("key")
	case free > 0 && tenant != "" && s.ofTenants[tenant] > 0 && s.ofTenants[tenant]+n > most:
		return s.refuse("tenant")
	case n > free:
		return &protocol.Failure{Status: http.StatusServiceUnavailable, Code: "overloaded", Message: "too many " + s.what, RetryAfter: time.Second}
	}
	s.used += n
	s.ofKeys[key] += n
	if tenant != "" {
		s.ofTenants[tenant] += n
	}
	return nil
}

func (s *shares) refuse(who string) error {
	return &protocol.Failure{Status: http.StatusTooManyRequests, Code: "rate_limited", RetryAfter: time.Second,
		Message: "too many " + s.what + " of this " + who + ": the rest is kept free for others"}
}

// give gives n back.
func (s *shares) give(by Caller, n int64) {
	if s.limit <= 0 || n == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
	lower(s.ofKeys, by.KeyID(), n)
	if tenant := by.TenantName(); tenant != "" {
		lower(s.ofTenants, tenant, n)
	}
}

// lower subtracts n, and forgets who has nothing left.
func lower(m map[string]int64, name string, n int64) {
	if left := m[name] - n; left > 0 {
		m[name] = left
	} else {
		delete(m, name)
	}
}
