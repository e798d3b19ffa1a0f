package changelogtest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/changelog"
)

// parts reads dispatches, which may be stored together with what they create, from every position to every other one.
func parts(k *kit) {
	k.needsQueue()
	for i := range 3 {
		k.enqueue("", dispatch(fmt.Sprint("t", i), fmt.Sprint("d", i)))
		k.enqueue("other", dispatch(fmt.Sprint("t", i), fmt.Sprint("e", i)))
	}
	all, end := k.read(k.Changes, "", 6), k.horizon()
	ends := []int64{k.from}
	for _, c := range all {
		ends = append(ends, c.Pos)
	}
	for from := range ends {
		for to := from; to < len(ends); to++ {
			for limit := 1; limit <= 3; limit++ {
				got := []changelog.Change{}
				for q, more := (changelog.Query{After: ends[from], Upto: ends[to], Limit: limit}), to > from; more; {
					page, err := k.Changes.Changes(k.Context(), q)
					if err != nil {
						k.Fatal(err)
					}
					if len(page.Changes) > limit {
						k.Fatalf("a page of %d has %d changes", limit, len(page.Changes))
					}
					got = append(got, page.Changes...)
					q.After, more = page.Upto, page.More
				}
				if diff := cmp.Diff(summary(all[from:to]), summary(got)); diff != "" {
					k.Fatalf("from %d to %d of %d, pages of %d (-want +got):\n%s", from, to, end, limit, diff)
				}
			}
		}
	}
}

// checks reads from every position with the check that it has, and with another one.
func checks(k *kit) {
	s := k.Store("")
	for i := range 3 {
		acquire(k.T, s, fmt.Sprint("t", i), fmt.Sprint("r", i)).commit(awaken.RunRunning)
		time.Sleep(2 * time.Millisecond)
	}
	got := k.read(k.Changes, "", 3)
	if k.Queue != nil {
		k.enqueue("", dispatch("q", "d"))
		got = k.read(k.Changes, "", 5)
	}
	ats := []changelog.Position{}
	for _, c := range got {
		ats = append(ats, changelog.Position{Pos: c.Pos, Check: c.At})
	}
	check := func() {
		k.Helper()
		for i, at := range ats {
			page, err := k.Changes.Changes(k.Context(), changelog.Query{After: at.Pos, Check: at.Check, Upto: at.Pos})
			if err != nil || page.Check != at.Check {
				k.Errorf("position %d of %d, %+v: page %+v, %v", i, len(ats), at, page, err)
			}
			if _, err := k.Changes.Changes(k.Context(), changelog.Query{After: at.Pos, Check: at.Check + 1, Upto: at.Pos}); !errors.Is(err, changelog.ErrGone) {
				k.Errorf("position %d of %d in another log: %v", i, len(ats), err)
			}
		}
	}
	check()
	end := k.horizon()
	page, err := k.Changes.Changes(k.Context(), changelog.Query{Tenant: "other", After: k.from, Upto: end})
	if err != nil || page.Upto != end || page.Check != ats[len(ats)-1].Check {
		k.Fatalf("the end for another tenant is %+v, %v, want check %d at %d", page, err, ats[len(ats)-1].Check, end)
	}
	for n := 0; n == 0; time.Sleep(time.Millisecond) { // until the clock has advanced
		if n, err = k.Changes.TrimChanges(k.Context(), 0); err != nil {
			k.Fatal(err)
		}
	}
	acquire(k.T, s, "t", "r").commit(awaken.RunRunning)
	ats = slices.DeleteFunc(ats, func(at changelog.Position) bool { // those that were removed
		_, err := k.Changes.Changes(k.Context(), changelog.Query{After: at.Pos, Upto: at.Pos})
		return errors.Is(err, changelog.ErrGone)
	})
	if len(ats) == 0 {
		k.Fatal("the log has none of its positions any more")
	}
	check()
}
