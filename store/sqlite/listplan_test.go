package sqlite_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/store/storetest"
)

// Every filter that has an index is answered by it: no list looks at each row of a table, or sorts what a filter selects.
func TestLists_FiltersAreAnsweredByIndexes(t *testing.T) {
	db, path := openFile(t)
	s := db.Store("")
	look, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer look.Close()
	for _, p := range storetest.ListPlans() {
		var asked []string
		db.Trace(func(query string) {
			if strings.HasPrefix(query, "SELECT") {
				asked = append(asked, db.Translate(query))
			}
		})
		_, _, err := p.List(t.Context(), s, "", 50)
		db.Trace(nil)
		if err != nil || len(asked) == 0 {
			t.Fatalf("%s: %d statements, %v", p.Name, len(asked), err)
		}
		for i, query := range asked {
			n := 0
			for strings.Contains(query, fmt.Sprintf("?%d", n+1)) {
				n++
			}
			if n == 0 {
				n = strings.Count(query, "?")
			}
			steps := plan(t, look, query, make([]any, n)...)
			text := strings.Join(steps, "\n")
			t.Logf("%s:\n%s", p.Name, text)
			for _, step := range steps {
				table, scanned := strings.CutPrefix(step, "SCAN ")
				if scanned && !strings.Contains(text, "CO-ROUTINE "+table) && !strings.Contains(text, "MATERIALIZE "+table) {
					t.Errorf("%s looks at each row of %s:\n%s", p.Name, table, text)
				}
			}
			found := strings.Contains(text, "INDEX awaken"+p.Index+" (tenant=?") || p.Index == "_run_marks" && strings.Contains(text, "SEARCH m USING PRIMARY KEY (tenant=? AND mark=?")
			if i == len(asked)-1 && !found {
				t.Errorf("%s does not use the index %s:\n%s\n%s", p.Name, p.Index, text, query)
			}
		}
	}
}
