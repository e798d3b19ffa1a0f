package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/awaken-go/awaken/eventlog/changelog"
)

// The log of changes goes on beyond numbers of 32 bits and of JavaScript, up to the last.
func TestChanges_AtLargePositions(t *testing.T) {
	for _, at := range []int64{math.MaxInt32 - 1, 1 << 53, math.MaxInt64 - 1000} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			path := newFile(t)
			db := openAt(t, path, nil)
			pool, err := sql.Open("sqlite", "file:"+path)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			if _, err := pool.Exec(`INSERT INTO awaken_changes (pos, tenant, kind, time) VALUES (?, '', 'run', 1)`, at); err != nil {
				t.Fatal(err)
			}
			begin(t, db, "a")
			begin(t, db, "b")
			page, err := db.Changes().Changes(t.Context(), changelog.Query{After: at})
			if err != nil || len(page.Changes) != 2 || page.Changes[1].Pos != at+2 || page.Changes[1].RunID != "run-b" {
				t.Errorf("behind %d there is %+v, %v, want two changes", at, page, err)
			}
			if _, err := db.Changes().Changes(t.Context(), changelog.Query{After: math.MaxInt64}); !errors.Is(err, changelog.ErrGone) {
				t.Errorf("the last position is %v, want %v", err, changelog.ErrGone)
			}
		})
	}
}
