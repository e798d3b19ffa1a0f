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

	"github.com/awaken-go/awaken/eventlog/changelog"
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

func follow(t *testing.T, f *changelog.Feed, after changelog.Position) *changelog.Reader {
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
			all[i] = follow(t, f, changelog.Position{Pos: start + int64(i%90)})
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
		slow, quick := follow(t, f, changelog.Position{Pos: start}), follow(t, f, changelog.Position{Pos: start})
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
		if _, err := f.Follow(t.Context(), "t", changelog.Position{Pos: start}); !errors.Is(err, changelog.ErrGone) {
			t.Errorf("reading behind what was removed: %v", err)
		}
		if _, err := f.Follow(t.Context(), "t", changelog.Position{Pos: start + 1000}); !errors.Is(err, changelog.ErrGone) {
			t.Errorf("following behind the end: %v", err)
		}
		r := follow(t, f, changelog.Position{Pos: start + 20})
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

// setBack is a log that can lose its end, like one whose database was restored, and loses its beginning for one tenant.
type setBack struct {
	counted
	lost     atomic.Int64 // from the end
	horizons atomic.Int64
}

func (s *setBack) Horizon(ctx context.Context) (int64, error) {
	s.horizons.Add(1)
	end, err := s.counted.Horizon(ctx)
	return end - s.lost.Load(), err
}

func (s *setBack) Changes(ctx context.Context, q changelog.Query) (*changelog.Page, error) {
	if q.Tenant == "trimmed" && q.Upto > q.After {
		return nil, fmt.Errorf("trimmed: %w", changelog.ErrGone)
	}
	return s.counted.Changes(ctx, q)
}

// Readers whose log does not continue are told so, and do not wait forever; those of other tenants are not held up.
func TestFeed_ALogThatDoesNotContinue(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		log := &setBack{}
		f := changelog.NewFeed(changelog.FeedConfig{Store: log})
		r := follow(t, f, changelog.Now)
		defer r.Close()
		trimmed, err := f.Follow(t.Context(), "trimmed", changelog.Now)
		if err != nil {
			t.Fatal(err)
		}
		defer trimmed.Close()
		log.add(10)
		readTo(t, r, 10)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := trimmed.Next(ctx); !errors.Is(err, changelog.ErrGone) {
			t.Errorf("a reader whose next changes were removed: %v", err)
		}
		log.lost.Store(5)
		if _, err := r.Next(ctx); !errors.Is(err, changelog.ErrGone) {
			t.Errorf("a reader of a log that was set back: %v", err)
		}
		again := follow(t, f, changelog.Now)
		defer again.Close()
		log.add(10)
		readTo(t, again, 10)
	})
}

// A position of another log is refused although this log has it, too: what was read there is not what is here. Whether the position is in memory,
// before it or behind it makes no difference, nor does it whether a change is there.
func TestFeed_PositionsOfAnotherLog(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		log := &counted{}
		start, _ := log.Horizon(t.Context())
		log.add(10)
		f := changelog.NewFeed(changelog.FeedConfig{Store: log})
		r := follow(t, f, changelog.Position{Pos: start + 5})
		defer r.Close()
		time.Sleep(time.Minute)
		log.add(10)
		readTo(t, r, 15)
		time.Sleep(time.Minute)
		log.add(10) // the feed has not read it
		page, err := log.Changes(t.Context(), changelog.Query{Tenant: "t", After: start})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Changes {
			at := changelog.Position{Pos: c.Pos, Check: c.At}
			follow(t, f, at).Close()
			at.Check++
			if r, err := f.Follow(t.Context(), "t", at); !errors.Is(err, changelog.ErrGone) {
				t.Errorf("position %d of another log: %v, %v", c.Pos-start, r, err)
			}
		}
		if got, want := r.Position(), (changelog.Position{Pos: start + 40, Check: page.Changes[19].At}); got != want {
			t.Errorf("the reader is at %v, want %v", got, want)
		}
	})
}

// young is a log whose positions begin with 1 and whose horizon is 0 when it is first asked for, as in a process that starts while a
// transaction lasts.
type young struct {
	counted
	start int64
	asked atomic.Bool
}

func (y *young) Horizon(ctx context.Context) (int64, error) {
	if y.asked.CompareAndSwap(false, true) {
		return 0, nil
	}
	end, err := y.counted.Horizon(ctx)
	return end - y.start, err
}

func (y *young) Changes(ctx context.Context, q changelog.Query) (page *changelog.Page, err error) {
	if q.Upto == 0 {
		if q.Upto, err = y.Horizon(ctx); err != nil {
			return nil, err
		}
	}
	q.After, q.Upto = q.After+y.start, q.Upto+y.start
	if page, err = y.counted.Changes(ctx, q); err != nil {
		return nil, err
	}
	page.Upto -= y.start
	for i := range page.Changes {
		page.Changes[i].Pos -= y.start
	}
	return page, nil
}

// A reader that begins at a horizon of 0 reads on when the horizon has moved.
func TestFeed_BeginsAtAHorizonOfNothing(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		log := &young{}
		log.start, _ = log.counted.Horizon(t.Context())
		time.Sleep(time.Minute)
		log.add(3)
		r := follow(t, changelog.NewFeed(changelog.FeedConfig{Store: log}), changelog.Now)
		defer r.Close()
		if got := readTo(t, r, 3); !slices.Equal(got, []int64{1, 3, 5}) {
			t.Errorf("the reader has the changes %v, want all of its tenant", got)
		}
	})
}

// Readers that join others ask the store for nothing; the first one asks where the log ends.
func TestFeed_JoiningReadsNothing(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		log := &setBack{}
		f := changelog.NewFeed(changelog.FeedConfig{Store: log})
		for range 1000 {
			defer follow(t, f, changelog.Now).Close()
		}
		if n, m := log.horizons.Load(), log.reads.Load(); n > 1 || m > 1 {
			t.Errorf("1000 readers asked %d times for the horizon and read %d times, want once each", n, m)
		}
	})
}

// A reader that is far behind reads every change from the store once.
func TestFeed_CatchingUpReadsEachChangeOnce(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		log := &sized{}
		start, _ := log.Horizon(t.Context())
		log.add(9000)
		f := changelog.NewFeed(changelog.FeedConfig{Store: log})
		r := follow(t, f, changelog.Position{Pos: start})
		defer r.Close()
		readTo(t, r, 9000)
		if n := log.changes.Load(); n > 9000 {
			t.Errorf("9000 changes cost %d of the store", n)
		}
	})
}

// sized is a log that counts what it returns.
type sized struct {
	counted
	changes atomic.Int64
}

func (s *sized) Changes(ctx context.Context, q changelog.Query) (*changelog.Page, error) {
	page, err := s.counted.Changes(ctx, q)
	if page != nil {
		s.changes.Add(int64(len(page.Changes)))
	}
	return page, err
}

// A feed whose last reader leaves while another comes has one goroutine that reads, and readers have each change once.
func TestFeed_ReadersComeAndGo(t *testing.T) {
	log := &counted{}
	_, _ = log.Horizon(t.Context())
	f := changelog.NewFeed(changelog.FeedConfig{Store: log, Poll: time.Microsecond})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				r, err := f.Follow(t.Context(), "t", changelog.Now)
				if err != nil {
					t.Error(err)
					return
				}
				log.add(2)
				last := int64(0)
				for n := 0; n < 2; {
					items, err := r.Next(t.Context())
					if err != nil {
						t.Error(err)
						break
					}
					for _, it := range items {
						if it.Pos <= last {
							t.Errorf("position %d comes after %d", it.Pos, last)
						}
						last, n = it.Pos, n+1
					}
				}
				r.Close()
			}
		})
	}
	wg.Wait()
}
