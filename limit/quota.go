package limit

import (
	"context"
	"encoding/json"
	"net/url"
	"sync"
	"time"
)

// Quota limits the rate of events in a fleet, for each of many names, such as the requests of each API key. A process takes a share of a
// name's burst, an eighth, and asks the store again when the share is used up or a second old. It then returns an unused rest if the store
// has less than half of the burst. It is safe for concurrent use.
type Quota struct {
	store     Store
	perSecond float64
	burst     int

	mu    sync.Mutex
	names map[string]*share
	err   error     // why the store failed when it was last asked, or nil
	again time.Time // when to ask a store that failed again
}

// share is a process's part of the quota of a name.
type share struct {
	lock  chan struct{} // cap 1: full while a caller reads or asks the store
	left  int
	until time.Time // when what is left is given back
	after stock     // what the share left in the store
	again time.Time // when to ask the store again, which has nothing
}

const (
	// shareTime is how long a process may keep a share.
	shareTime = time.Second
	// quotaTime limits how long the store is asked, and is how long one that fails is not asked again.
	quotaTime = time.Second
	// maxNames is how many names a process remembers.
	maxNames = 100_000
)

// NewQuota returns a quota with a rate and a burst for each name. Processes with the same store share the quota.
func NewQuota(store Store, perSecond float64, burst int) *Quota {
	return &Quota{store: store, perSecond: perSecond, burst: max(1, burst), names: map[string]*share{}}
}

// Take counts an event of a name. If the quota of the name is used up, it returns how long to wait. An error means that the store did not
// answer. A failing store delays the events that discover the failure, and then one event every two seconds.
func (q *Quota) Take(ctx context.Context, name string) (wait time.Duration, err error) {
	s, err := q.share(name)
	if err != nil {
		return 0, err
	}
	select {
	case s.lock <- struct{}{}:
		defer func() { <-s.lock }()
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	if now := time.Now(); (s.left == 0 || now.After(s.until)) && !now.Before(s.again) {
		if err := q.mayAsk(now); err != nil {
			return 0, err
		}
		err := q.ask(ctx, name, s)
		q.asked(ctx, err)
		if err != nil {
			return 0, err
		}
	}
	if s.left > 0 {
		s.left--
		return 0, nil
	}
	return max(time.Millisecond, time.Until(s.again)), nil
}

// mayAsk returns the error of a store that fails. Now and then it lets one caller try it again.
func (q *Quota) mayAsk(now time.Time) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil && now.Before(q.again) {
		return q.err
	}
	q.again = now.Add(2 * quotaTime) // the others do not wait for the answer
	return nil
}

// asked notes whether the store answered.
func (q *Quota) asked(ctx context.Context, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case err == nil, err == errContended:
		q.err = nil
	case ctx.Err() != nil: // perhaps it would have
		q.again = time.Time{}
	default:
		q.err, q.again = err, time.Now().Add(quotaTime)
	}
}

// share returns what the process has of a name, or the error of a store that fails.
func (q *Quota) share(name string) (*share, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil && time.Now().Before(q.again) {
		return nil, q.err
	}
	s := q.names[name]
	if s == nil {
		if len(q.names) >= maxNames {
			clear(q.names)
		}
		s = &share{lock: make(chan struct{}, 1)}
		q.names[name] = s
	}
	return s, nil
}

// stock is what a name may do at a time of the store's clock, as it is stored.
type stock struct {
	Level float64 `json:"level"`
	At    int64   `json:"at"` // Unix ms
}

// ask takes a share from the store, and gives back what is left of the last one. The caller holds s.lock.
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
				have = q.filled(have, now)
			}
		}
		if s.left > 0 { // up to half of the burst: the rest may be in the hands of other processes
			room := float64(q.burst) - q.filled(s.after, now).Level // that there would be if it had not been taken
			have.Level = max(have.Level, min(float64(q.burst)/2, have.Level+min(float64(s.left), room)))
		}
		if have.Level < 1 {
			s.left = 0
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
			s.left, s.until, s.after = n, time.Now().Add(shareTime), have
			return nil
		}
	}
	return errContended
}

// filled returns a stock at a later time.
func (q *Quota) filled(s stock, now time.Time) stock {
	at := now.UnixMilli()
	return stock{Level: min(float64(q.burst), s.Level+q.perSecond*max(0, float64(at-s.At)/1000)), At: at}
}
