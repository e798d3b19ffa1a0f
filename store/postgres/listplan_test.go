package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/storetest"
)

// Every filter that has an index is answered by it: no list looks at each row of a table.
func TestLists_FiltersAreAnsweredByIndexes(t *testing.T) {
	config, err := pgxpool.ParseConfig(shared())
	if err != nil {
		t.Fatal(err)
	}
	asked := new(statements)
	config.ConnConfig.Tracer = asked
	prefix := fmt.Sprintf("test%d", sharedTest.Add(1))
	db, err := postgres.OpenConfig(t.Context(), config, &postgres.Options{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	look := witness(t)
	script := []string{"ALTER TABLE {p}_runs DISABLE TRIGGER USER", "ALTER TABLE {p}_threads DISABLE TRIGGER USER"}
	script = append(script, storetest.ListRows(prefix, 20_000, 100_000)...)
	for _, s := range append(script, "ANALYZE {p}_runs", "ANALYZE {p}_threads", "ANALYZE {p}_run_marks") {
		if _, err := look.Exec(t.Context(), strings.ReplaceAll(s, "{p}", prefix)); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	s := db.Store("")
	for _, p := range storetest.ListPlans() {
		asked.all = nil
		if n, _, err := p.List(t.Context(), s, "", 50); err != nil || len(asked.all) == 0 || n == 0 {
			t.Fatalf("%s: %d rows of %d statements, %v", p.Name, n, len(asked.all), err)
		}
		for i, q := range asked.all {
			rows, err := look.Query(t.Context(), "EXPLAIN "+q.SQL, q.Args...)
			if err != nil {
				t.Fatal(err)
			}
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(lines, "\n")
			t.Logf("%s:\n%s", p.Name, text)
			for _, table := range []string{"_runs", "_threads", "_run_marks"} {
				if strings.Contains(text, "Seq Scan on "+prefix+table+" ") {
					t.Errorf("%s looks at each row of %s:\n%s", p.Name, table, text)
				}
			}
			if i == len(asked.all)-1 && !strings.Contains(text, prefix+p.Index) {
				t.Errorf("%s does not use the index %s:\n%s", p.Name, p.Index, text)
			}
		}
	}
}

// statements keeps what a database is asked.
type statements struct{ all []pgx.TraceQueryStartData }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.HasPrefix(strings.TrimSpace(q.SQL), "SELECT") {
		s.all = append(s.all, q)
	}
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
