package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Processes of the version before call functions that do not say what lists select by: the rows of their runs have it, the log of changes
// has the changes, and the threads have the costs.
func TestOlderProcesses_FillTheColumnsOfLists(t *testing.T) {
	db, look := open(t), witness(t)
	prefix, _, _ := strings.Cut(strings.SplitAfter(db.StepCommit(), "UPDATE ")[1], "_threads")
	text := func(query string) (out string) {
		t.Helper()
		if err := look.QueryRow(t.Context(), strings.ReplaceAll(query, "{p}", prefix)).Scan(&out); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return out
	}
	commit := func(number int, status, record string) {
		t.Helper()
		got := text(fmt.Sprintf(`SELECT {p}_commit('', 't', 1, %d, -1, 7, 0, 'r', '%s', NULL, 9223372036854775807, 0, 1, NULL, NULL, false, '', 't', '%s',
			NULL, NULL, NULL, NULL, true)::text`, number, record, status))
		if got != "0" {
			t.Fatalf("commit %d: code %s", number, got)
		}
	}
	row := func() string {
		return text(`SELECT concat_ws('|', agent, version, origin, parent, detail, error, cost, created, user_id) FROM {p}_runs WHERE id = 'r'`)
	}
	text(`SELECT (SELECT count(*) FROM {p}_acquire('', 't'))::text`)
	text(`WITH u AS (UPDATE {p}_threads SET user_id = 'ann' RETURNING id) SELECT id FROM u`)

	commit(1, "running", `{"agent_id":"writer","resolution_id":"v1","origin":"user","cost_usd":0.25,"created_at_ms":5}`)
	if got, want := row(), "writer|v1|user||||250000000|5|ann"; got != want {
		t.Errorf("a run that began is %s, want %s", got, want)
	}
	commit(2, "running", `{"agent_id":"editor","resolution_id":"v1","origin":"user","cost_usd":0.5,"created_at_ms":5}`)
	if got, want := row(), "editor|v1|user||||500000000|5|ann"; got != want {
		t.Errorf("a run that was handed over is %s, want %s", got, want)
	}
	commit(3, "waiting", `{"agent_id":"editor","resolution_id":"v1","origin":"user","waiting":{"reason":"decision"},"cost_usd":0.5,"created_at_ms":5}`)
	if got, want := row(), "editor|v1|user||decision||500000000|5|ann"; got != want {
		t.Errorf("a run that waits is %s, want %s", got, want)
	}
	commit(4, "done", `{"agent_id":"editor","resolution_id":"v1","origin":"user","termination_reason":{"type":"error"},"error_payload":{"code":"oops"},"cost_usd":1,"created_at_ms":5}`)
	if got, want := row(), "editor|v1|user||error|oops|1000000000|5|ann"; got != want {
		t.Errorf("a run that ended is %s, want %s", got, want)
	}
	if got, want := text(`SELECT string_agg(kind || ' ' || status, ', ' ORDER BY pos) FROM {p}_changes`), "run running, run waiting, run done"; got != want {
		t.Errorf("the changes are %s, want %s", got, want)
	}
	if got, want := text(`SELECT cost::text FROM {p}_threads`), "1000000000"; got != want {
		t.Errorf("the thread cost %s, want %s", got, want)
	}
}

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
	want := []string{prefix + "_runs " + prefix + "_runs_insert"} // its condition is short, and a run begins once
	if !slices.Equal(got, want) {
		t.Errorf("triggers with conditions, or before updates: %q, want %q", got, want)
	}
}
