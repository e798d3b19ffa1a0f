package postgres

import (
	"context"
	"io/fs"
	"path"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// function is a function of the schema, with the trigger that calls it, if it is one of a trigger. Its file is applied whenever
// the database has another version of it: unlike a table, a function holds nothing.
type function struct {
	name string // without the prefix
	sqlstore.Script
}

// functionsRelease counts the releases whose functions differ. A process leaves functions of a later release alone: while the
// processes of a fleet are replaced, ones of both releases open the database, and the later functions serve both.
const functionsRelease = 1

// functions returns the functions in the folder schema/functions, by name.
func functions(files fs.FS, prefix string) ([]function, error) {
	names, err := fs.Glob(files, "schema/functions/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	var out []function
	for _, name := range names {
		s, err := sqlstore.ReadScript(files, name, prefix)
		if err != nil {
			return nil, err
		}
		out = append(out, function{strings.TrimSuffix(path.Base(name), ".sql"), s})
	}
	return out, nil
}

// changed returns the functions whose digest in the database is another. 0001_tables.sql makes the table of digests.
func (m *migration) changed(ctx context.Context, db querier) ([]function, error) {
	rows, err := db.Query(ctx, "SELECT name, digest, release FROM "+m.prefix+"_functions")
	if err != nil {
		return nil, err
	}
	have := map[string]string{}
	var name, digest string
	var release, last int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &digest, &release}, func() error {
		have[name], last = digest, max(last, release)
		return nil
	}); err != nil {
		return nil, err
	}
	if last > functionsRelease {
		return nil, nil
	}
	var out []function
	for _, f := range m.functions {
		if have[f.name] != f.Digest {
			out = append(out, f)
		}
	}
	return out, nil
}

// replace drops the functions with the names of the list, whatever their arguments are, and creates the ones in the list. PostgreSQL
// checks their bodies when they are called, because they name each other. A function whose file is gone stays in the database.
func (m *migration) replace(ctx context.Context, tx pgx.Tx, list []function) error {
	if len(list) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, "SET LOCAL check_function_bodies = off"); err != nil {
		return err
	}
	for _, f := range list {
		// The function of a trigger never has arguments, and is replaced in place.
		if _, err := tx.Exec(ctx, `DO $do$ DECLARE f regprocedure; BEGIN
			FOR f IN SELECT p.oid FROM pg_proc p JOIN pg_class c ON c.oid = '`+m.table+`'::regclass AND c.relnamespace = p.pronamespace
				WHERE p.proname = '`+m.prefix+"_"+f.name+`' AND p.prorettype <> 'trigger'::regtype LOOP
				EXECUTE 'DROP FUNCTION ' || f;
			END LOOP;
		END $do$`); err != nil {
			return err
		}
		if err := runScript(ctx, tx, f.Script); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO "+m.prefix+`_functions (name, digest, release) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, release = excluded.release`, f.name, f.Digest, functionsRelease); err != nil {
			return err
		}
	}
	return nil
}
