//go:build unix

package upgradetest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
)

var write = flag.String("write", "", "the `folder` of testdata to write what this version leaves into")

// job is what a writer does.
type job struct{ Engine, Where string }

// ready is what a writer prints when it can be killed.
const ready = "the contents are written"

func TestMain(m *testing.M) { os.Exit(testenv.WithJobs(m, leaveContents, &cluster)) }

// leaveContents is the writer process. It does not end.
func leaveContents(j job) error {
	ctx := context.Background()
	if j.Engine == folderName {
		tellFolder(ctx, must(openFolder(j.Where)))
	} else {
		tell(ctx, must(engines[j.Engine].open(ctx, j.Where)))
	}
	fmt.Println(ready)
	select {}
}

// TestWrite writes the dumps of this version.
func TestWrite(t *testing.T) {
	if *write == "" {
		t.Skip("-write is not set")
	}
	dir := filepath.Join("testdata", *write)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatalf("the dumps exist and must not be overwritten: %v", err)
	}
	writeDatabases(t, dir)
	writeFolder(t, dir)
}

// dumps returns the dumps in testdata whose names match a pattern, and the dumps of this version, which write makes.
func dumps(t *testing.T, pattern string, write func(t *testing.T, dir string)) []string {
	t.Helper()
	now := filepath.Join(t.TempDir(), "this")
	if err := os.Mkdir(now, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, now)
	var all []string
	for _, p := range []string{filepath.Join("testdata", "*", pattern), filepath.Join(now, pattern)} {
		files, err := filepath.Glob(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, files...)
	}
	return all
}

// writeDatabases dumps what a killed process leaves in each database.
func writeDatabases(t *testing.T, dir string) {
	t.Helper()
	for name, e := range engines {
		where := e.place(t)
		leave(t, name, where)
		want := contentsOf(t, e, where)
		text, err := e.dump(t.Context(), where)
		if err != nil {
			t.Fatal(err)
		}
		copied := e.place(t)
		if err := e.load(t.Context(), copied, text); err != nil {
			t.Fatalf("load the dump of %s: %v", name, err)
		}
		compare(t, want, contentsOf(t, e, copied))
		keep(t, filepath.Join(dir, name), ".sql", text, want)
	}
}

// keep writes a dump and its contents.
func keep(t *testing.T, file, ext string, text []byte, c *contents) {
	t.Helper()
	golden, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{file + ext: text, file + ".json": append(golden, '\n')} {
		if len(data) > 1<<20 {
			t.Errorf("%s has %d bytes", name, len(data))
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// leave starts a process that writes a database, and kills it.
func leave(t *testing.T, name, where string) {
	t.Helper()
	p := rigtest.Start(t, rigtest.Job(job{name, where}))
	p.Says(ready)
	p.Kill()
	if name == "postgres" {
		rigtest.Until(t, "the server has ended the connections of the writer", rigtest.Patience, func() bool { return connections(t, where) == 1 })
	}
}

func contentsOf(t *testing.T, e backend, where string) *contents {
	t.Helper()
	db, err := e.open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	c, err := db.read(t.Context())
	if err := errors.Join(err, db.close()); err != nil {
		t.Fatal(err)
	}
	return c
}

// compare checks that the contents are those that the earlier version read.
func compare(t *testing.T, want, got any) {
	t.Helper()
	w, err := tree(want)
	if err != nil {
		t.Fatal(err)
	}
	g, err := tree(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences("", w, g) {
		t.Error(d)
	}
}

// TestOpen opens the databases of every version.
func TestOpen(t *testing.T) {
	dumps := dumps(t, "*.sql", writeDatabases)
	for _, name := range slices.Sorted(maps.Keys(engines)) {
		if !slices.ContainsFunc(dumps, func(file string) bool { return filepath.Base(file) == name+".sql" }) {
			t.Errorf("there is no dump of %s", name)
		}
	}
	for _, file := range dumps {
		version, base := filepath.Base(filepath.Dir(file)), strings.TrimSuffix(filepath.Base(file), ".sql")
		e := engines[base]
		restored := func(t *testing.T) string {
			t.Helper()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			where := e.place(t)
			if err := e.load(t.Context(), where, text); err != nil {
				t.Fatal(err)
			}
			return where
		}
		t.Run(version+"/"+base+"/read", func(t *testing.T) {
			t.Parallel()
			testRead(t, e, restored(t), strings.TrimSuffix(file, ".sql")+".json")
		})
		t.Run(version+"/"+base+"/schema", func(t *testing.T) {
			t.Parallel()
			testSchema(t, e, restored(t))
		})
		t.Run(version+"/"+base+"/work", func(t *testing.T) {
			t.Parallel()
			testWork(t, e, restored(t))
		})
	}
}

// testRead checks the contents, and checks them again after the database was opened.
func testRead(t *testing.T, e backend, where, golden string) {
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, want, contentsOf(t, e, where))
	compare(t, want, contentsOf(t, e, where))

	db, err := e.open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	defer db.close()
	readLogs(t, db.queue.Handle(""))
}

// readLogs reads the event logs of all threads, from the beginning and from every cursor.
func readLogs(t *testing.T, s readable) {
	t.Helper()
	threads, err := s.ListThreads(t.Context(), awaken.ThreadQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	log := eventlog.New(s, nil)
	tail := func(thread string, after awaken.Cursor) (out []string, cursors []awaken.Cursor) {
		for e, err := range log.Tail(t.Context(), thread, after, eventlog.Follow{Committed: true}) {
			if err != nil {
				t.Fatalf("%s after %v: %v", thread, after, err)
			}
			text, err := awaken.AppendEvent(nil, e.Event)
			if err != nil {
				t.Fatal(err)
			}
			out, cursors = append(out, string(text)), append(cursors, e.Cursor)
		}
		return out, cursors
	}
	for _, th := range threads {
		all, cursors := tail(th.ID, awaken.Cursor{})
		if len(all) != int(th.End.Seq) || len(all) > 0 && cursors[len(all)-1] != th.End {
			t.Errorf("the log of %s has %d events, want those up to %v", th.ID, len(all), th.End)
		}
		for i, c := range cursors {
			if rest, _ := tail(th.ID, c); !slices.Equal(rest, all[i+1:]) {
				t.Errorf("after %v of %s come %q, want %q", c, th.ID, rest, all[i+1:])
			}
		}
	}
}

// testSchema checks that the migrated schema is that of a new database.
func testSchema(t *testing.T, e backend, where string) {
	fresh := e.place(t)
	var schemas [2][]string
	for i, w := range []string{fresh, where} {
		db, err := e.open(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.close(); err != nil {
			t.Fatal(err)
		}
		if schemas[i], err = e.schema(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range schemas[0] {
		if !slices.Contains(schemas[1], line) {
			t.Errorf("a new database has %s", line)
		}
	}
	for _, line := range schemas[1] {
		if !slices.Contains(schemas[0], line) {
			t.Errorf("a new database has no %s", line)
		}
	}
}
