package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken/store/postgres"
)

// emptied has the prefixes of tables that tests have used and that are as new again: a schema takes ten times as long to make as to empty.
// Their connections stay open: a new one costs a process of the server, which compiles every function and plans every statement anew.
var emptied struct {
	sync.Mutex
	prefixes []string
	left     map[string][]*postgres.DB // by prefix; only their connections are in use
}

// model is the prefix of tables that no test uses.
var model = sync.OnceValues(func() (string, error) {
	db, err := postgres.Open(context.Background(), shared(), &postgres.Options{Prefix: "model"})
	if err != nil {
		return "", err
	}
	db.Close()
	return "model", nil
})

// tables returns the prefix of tables that only this test uses. They are as new, but sizes on the disk and the costs of statements may
// be those of tables that had rows: tests of costs use [open].
func tables(t *testing.T) string {
	t.Helper()
	emptied.Lock()
	defer emptied.Unlock()
	prefix := fmt.Sprintf("test%d", sharedTest.Add(1))
	if n := len(emptied.prefixes); n > 0 {
		prefix = emptied.prefixes[n-1]
		emptied.prefixes = emptied.prefixes[:n-1]
	}
	t.Cleanup(func() { // after the cleanups of those who open it
		if t.Failed() {
			return
		}
		if err := empty(prefix); err != nil {
			t.Errorf("tables %s cannot be emptied: %v", prefix, err)
			return
		}
		emptied.Lock()
		defer emptied.Unlock()
		emptied.prefixes = append(emptied.prefixes, prefix)
	})
	return prefix
}

// openTables is [openAt] for the prefix of [tables]. Of the options, it uses that and Now.
func openTables(t *testing.T, opts *postgres.Options) *postgres.DB {
	t.Helper()
	emptied.Lock()
	defer emptied.Unlock()
	var db *postgres.DB
	if left := emptied.left[opts.Prefix]; len(left) > 0 {
		db = left[len(left)-1].Again(opts.Now)
		emptied.left[opts.Prefix] = left[:len(left)-1]
	} else {
		var err error
		if db, err = postgres.Open(t.Context(), shared(), opts); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() || !db.Rest() {
			db.Close()
			return
		}
		emptied.Lock()
		defer emptied.Unlock()
		if emptied.left == nil {
			emptied.left = map[string][]*postgres.DB{}
		}
		emptied.left[opts.Prefix] = append(emptied.left[opts.Prefix], db)
	})
	return db
}

// cleaner is the connection that empties tables. No trigger fires.
var cleaner = sync.OnceValues(func() (*pgxpool.Pool, error) {
	return pgxpool.New(context.Background(), shared()+"&pool_max_conns=1&lock_timeout=30s&session_replication_role=replica")
})

// empty gives the tables, sequences and the clock of a prefix the content that they have after the migrations.
func empty(prefix string) error {
	from, err := model()
	if err != nil {
		return err
	}
	ctx := context.Background()
	pool, err := cleaner()
	if err != nil {
		return err
	}
	_, err = pool.Exec(ctx, fmt.Sprintf(`
		DO $do$
		DECLARE r record; n bigint;
		BEGIN
			FOR r IN SELECT relname AS old, '%[2]s' || substr(relname, length('%[1]s') + 1) AS new, relkind, oid FROM pg_class
				WHERE relname LIKE '%[1]s\_%%' AND relkind IN ('r', 'S') AND relname <> '%[1]s_schema' LOOP
				IF r.relkind = 'S' THEN
					PERFORM setval(r.oid, (SELECT s.seqstart FROM pg_sequence s WHERE s.seqrelid = r.oid), false);
				ELSIF pg_relation_size(r.oid) > 65536 THEN
					EXECUTE format('TRUNCATE %%I', r.old);
				ELSIF pg_relation_size(r.oid) > 0 THEN
					EXECUTE format('DELETE FROM %%I', r.old);
				END IF;
				IF r.relkind = 'r' AND pg_relation_size(r.new::regclass) > 0 THEN
					EXECUTE format('INSERT INTO %%I OVERRIDING SYSTEM VALUE SELECT * FROM %%I', r.old, r.new);
				END IF;
			END LOOP;
			IF replace(pg_get_functiondef('%[2]s_now'::regproc), '%[2]s_now', '%[1]s_now') <> pg_get_functiondef('%[1]s_now'::regproc) THEN
				EXECUTE replace(pg_get_functiondef('%[2]s_now'::regproc), '%[2]s_now', '%[1]s_now');
			END IF;
		END $do$`, prefix, from))
	return err
}

// Tables that were emptied have what new ones have.
func TestTables_AreAsNew(t *testing.T) {
	prefix := fmt.Sprintf("test%d", sharedTest.Add(1))
	db := openAt(t, shared(), &postgres.Options{Prefix: prefix})
	if _, err := db.Store("tenant").Acquire(t.Context(), "thread"); err != nil {
		t.Fatal(err)
	}
	if err := db.ShiftClock(t.Context(), 1e9); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if err := empty(prefix); err != nil {
		t.Fatal(err)
	}
	from, err := model()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), shared())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	content := func(prefix string) (out string) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), fmt.Sprintf(`
			SELECT string_agg(substr(relname, length('%[1]s') + 1) || CASE relkind
				WHEN 'S' THEN coalesce(pg_sequence_last_value(oid)::text, 'unused')
				ELSE query_to_xml('SELECT * FROM ' || relname, true, false, '')::text END, E'\n' ORDER BY relname)
			|| replace(pg_get_functiondef('%[1]s_now'::regproc), '%[1]s', '')
			FROM pg_class WHERE relname LIKE '%[1]s\_%%' AND relkind IN ('r', 'S') AND relname <> '%[1]s_schema'`, prefix)).Scan(&out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	used, want := content(prefix), content(from)
	if used != want || len(want) < 1000 {
		t.Errorf("the tables have\n%s\nnew ones have\n%s", used, want)
	}
}
