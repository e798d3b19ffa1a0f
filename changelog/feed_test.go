package changelog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken/changelog"
	"github.com/awaken-go/awaken/internal/bubbletest"
)

// counted is a log that counts its reads.
type counted struct {
	changelog.Memory
	reads atomic.Int64
}

func (c *counted) Changes(ctx context.Context, q changelog.Query) (*changelog.Page, error) {
	c.reads.Add(1)
	return c.Memory.Changes(ctx, q)
}

func (c *counted) add(n int) {
	for range n {
		c.Add("t", changelog.Change{Kind: changelog.Run})
		c.Add("other", changelog.Change{Kind: changelog.Run})
	}
}

// readTo reads until a reader has n changes, and returns their positions.
func readTo(t *testing.T, r *changelog.Reader, n int) (out []int64) {
	t.Helper()
	for len(out) < n {
		items, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			out = append(out, it.Pos)
		}
	}
	return out
}

func follow(t *testing.T, f *changelog.Feed, after int64) *changelog.Reader {
	t.Helper()
	r, err := f.Follow(t.Context(), "t", after)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Many readers of a tenant cost as many reads of the store as one: those that wait, and those that come back at once, each with another position.
func TestFeed_ReadsOnceForAllReaders(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		log := &counted{}
		start, _ := log.Horizon(t.Context())
		f := changelog.NewFeed(changelog.FeedConfig{Store: log})
		const readers = 200
		var all [readers]*changelog.Reader
		for i := range all {
			all[i] = follow(t, f, changelog.Now)
		}
		log.add(50)
		var want []int64
		for i, r := range all {
			got := readTo(t, r, 50)
			if i == 0 {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Fatalf("reader %d has %v, want %v", i, got, want)
			}
			r.Close()
		}
		if n := log.reads.Load(); n > 2 {
			t.Errorf("%d readers cost %d reads of the store, want at most 2", readers, n)
		}
		log.reads.Store(0)
		for i := range all { // all come back, to a process that has none of it
			all[i] = follow(t, f, start+int64(i%90))
		}
		var wg sync.WaitGroup
		for i, r := range all {
			wg.Go(func() {
				defer r.Close()
				at := slices.IndexFunc(want, func(pos int64) bool { return pos > start+int64(i%90) })
				if got := readTo(t, r, 50-at); !slices.Equal(got, want[at:]) {
					t.Errorf("reader %d has %v, want %v", i, got, want[at:])
				}
			})
		}
		wg.Wait()
		if n := log.reads.Load(); n > 100 {
			t.Errorf("%d readers that come back cost %d reads of the store", readers, n)
		}
	})
}

// A reader that is far behind reads the store in parts, and then what is in memory: all, once, in order.
func TestFeed_ASlowReaderReadsTheStore(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		log := &counted{}
		start, _ := log.Horizon(t.Context())
		f := changelog.NewFeed(changelog.FeedConfig{Store: log, Keep: 300})
		slow, quick := follow(t, f, start), follow(t, f, start)
		defer slow.Close()
		defer quick.Close()
		var want []int64
		for range 20 {
			log.add(100)
			want = append(want, readTo(t, quick, 100)...)
		}
		got := readTo(t, slow, 1500)
		log.add(100)
		want = append(want, readTo(t, quick, 100)...)
		if got = append(got, readTo(t, slow, 2100-len(got))...); !slices.Equal(got, want) {
			t.Errorf("the slow reader has %d changes, want the %d of the quick one", len(got), len(want))
		}
	})
}

// A position that the log does not have is refused, whether it is too old or of another log; one that this process has not reached is not.
func TestFeed_PositionsThatAreGone(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		log := &counted{}
		start, _ := log.Horizon(t.Context())
		f := changelog.NewFeed(changelog.FeedConfig{Store: log})
		log.add(10)
		time.Sleep(time.Second)
		if _, err := log.TrimChanges(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Follow(t.Context(), "t", start); !errors.Is(err, changelog.ErrGone) {
			t.Errorf("reading behind what was removed: %v", err)
		}
		if _, err := f.Follow(t.Context(), "t", start+1000); !errors.Is(err, changelog.ErrGone) {
			t.Errorf("following behind the end: %v", err)
		}
		r := follow(t, f, start+20)
		defer r.Close()
		log.add(1)
		readTo(t, r, 1)
	})
}

// A store that fails for a while delays readers, and they miss nothing.
type failing struct {
	counted
	fails atomic.Bool
}

func (f *failing) Horizon(ctx context.Context) (int64, error) {
	if f.fails.Load() {
		return 0, fmt.Errorf("the database is away")
	}
	return f.counted.Horizon(ctx)
}

func TestFeed_WaitsForTheStore(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		log := &failing{}
		f := changelog.NewFeed(changelog.FeedConfig{Store: log})
		r := follow(t, f, changelog.Now)
		defer r.Close()
		log.fails.Store(true)
		log.add(3)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if items, err := r.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, %v", items, err)
		}
		log.fails.Store(false)
		readTo(t, r, 3)
	})
}
