package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// PostgreSQL reads the condition of a trigger again for each statement, and locks a row before it asks a trigger before an update: what
// commits and the queue write most has neither.
func TestTriggers_AskNothingOfCommonStatements(t *testing.T) {
	db, look := open(t), witness(t)
	prefix, _, _ := strings.Cut(strings.SplitAfter(db.StepCommit(), "UPDATE ")[1], "_threads")
	rows, err := look.Query(t.Context(), `SELECT c.relname || ' ' || t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
		WHERE c.relname = ANY ($1) AND NOT t.tgisinternal AND (t.tgqual IS NOT NULL AND cardinality(t.tgattr::int2[]) = 0 OR t.tgtype & 18 = 18)
		ORDER BY 1`, []string{prefix + "_threads", prefix + "_commits", prefix + "_runs", prefix + "_dispatches", prefix + "_queues"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if len(got) > 0 {
		t.Errorf("triggers with conditions, or before updates: %q, want none", got)
	}
}
