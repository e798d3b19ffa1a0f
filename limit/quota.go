package limit

import (
	"context"
	"encoding/json"
	"net/url"
	"sync"
	"time"
)

// Quota limits how often something happens in a fleet, for each of many names, such as the requests of API
// keys. A process takes a share of what a name may do at once, an eighth, and asks the store again when
// it is used up or a second old. It is safe for concurrent use.
type Quota struct {
	store     Store
	perSecond float64
	burst     int

	mu    sync.Mutex
	names map[string]*share
}

// share is what a process may do of what a name may do.
type share struct {
	mu    sync.Mutex // held while the store is asked
	left  int
	until time.Time // when what is left is lost
	again time.Time // when to ask the store again: it has nothing, or has failed
	err   error     // why it has failed
}

const (
	// shareTime is how long a process may keep a share.
	shareTime = time.Second
	// quotaTime limits how long the store is asked, and is how long one that fails is not asked again.
	quotaTime = time.Second
	// maxNames is how many names a process remembers.
	maxNames = 100_000
)

// NewQuota returns a quota of events per second of each name, and of a burst at once, which processes with the same
// store have together.
func NewQuota(store Store, perSecond float64, burst int) *Quota {
	return &Quota{store: store, perSecond: perSecond, burst: max(1, burst), names: map[string]*share{}}
}

// Take counts an event of a name. If the name has had its quota, it returns how long to wait. An error means that the
// store does not say.
func (q *Quota) Take(ctx context.Context, name string) (wait time.Duration, err error) {
	s := q.share(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.After(s.until) {
		s.left = 0
	}
	if s.left == 0 && !now.Before(s.again) {
		if s.err = q.ask(ctx, name, s); s.err != nil && ctx.Err() == nil {
			s.again = time.Now().Add(quotaTime)
		}
	}
	switch {
	case s.left > 0:
		s.left--
		return 0, nil
	case s.err != nil:
		return 0, s.err
	}
	return max(time.Millisecond, time.Until(s.again)), nil
}

func (q *Quota) share(name string) *share {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.names[name]
	if s == nil {
		if len(q.names) >= maxNames {
			clear(q.names)
		}
		s = &share{}
		q.names[name] = s
	}
	return s
}

// stock is what a name may do at a time of the store's clock, as it is stored.
type stock struct {
	Level float64 `json:"level"`
	At    int64   `json:"at"` // Unix ms
}

// ask takes a share from the store. The caller holds s.mu.
func (q *Quota) ask(ctx context.Context, name string, s *share) error {
	ctx, cancel := context.WithTimeout(ctx, quotaTime)
	defer cancel()
	bucket := "quota/" + url.PathEscape(name)
	for range 16 {
		list, now, err := q.store.LoadBuckets(ctx, bucket)
		if err != nil {
			return err
		}
		stored, have := Stored{Name: bucket}, stock{Level: float64(q.burst), At: now.UnixMilli()}
		if len(list) > 0 {
			stored = list[0]
			if json.Unmarshal(stored.Data, &have) == nil {
				have.Level = min(float64(q.burst), have.Level+q.perSecond*max(0, float64(now.UnixMilli()-have.At)/1000))
				have.At = now.UnixMilli()
			}
		}
		if have.Level < 1 {
			s.again = time.Now().Add(time.Duration((1 - have.Level) / q.perSecond * float64(time.Second)))
			return nil
		}
		n := min(int(have.Level), max(1, q.burst/8))
		have.Level -= float64(n)
		if stored.Data, err = json.Marshal(have); err != nil {
			return err
		}
		done, err := q.store.SwapBucket(ctx, stored)
		if err != nil {
			return err
		}
		if done {
			s.left, s.until = n, time.Now().Add(shareTime)
			return nil
		}
	}
	return errContended
}
