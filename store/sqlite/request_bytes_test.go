package sqlite_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/server/servertest"
)

// What a request with a one-turn run writes and reads, from its body to the end of its stream: today's figures as upper bounds, to be
// lowered. The answer has 640 bytes.
func TestRequest_BytesOfARun(t *testing.T) {
	const warm, runs, frame = 60, 60, 24 + 4096
	for _, test := range []struct {
		name  string
		run   func(srv *servertest.Server, n int)
		log   float64 // bytes in the write-ahead log, at most, per run
		file  float64 // bytes by which the file grows
		pages float64 // pages read
	}{
		{"on new threads", func(srv *servertest.Server, n int) { srv.Run(fmt.Sprint("new-", n)) }, 160_000, 12_500, 90},
		{"on one thread", func(srv *servertest.Server, _ int) { srv.Run("same") }, 160_000, 12_500, 90},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db, path := openFile(t)
			pragma := func(text string) {
				t.Helper()
				if err := db.Pragma(text); err != nil {
					t.Fatal(err)
				}
			}
			pragma("synchronous = OFF")
			pragma("wal_autocheckpoint = 0") // so that the log holds all written pages
			srv := servertest.Start(t, db)
			n := 0
			some := func(runs int) {
				for range runs {
					n++
					test.run(srv, n)
				}
			}
			reads := func() float64 {
				n, err := db.PageReads()
				if err != nil {
					t.Fatal(err)
				}
				return float64(n)
			}
			some(warm)
			pragma("wal_checkpoint(TRUNCATE)")
			size, before := stat(t, path), reads()
			some(runs)
			pages, log := (reads()-before)/runs, float64(stat(t, path+"-wal"))/runs
			pragma("wal_checkpoint(TRUNCATE)")
			file := float64(stat(t, path)-size) / runs
			t.Logf("a run writes %.0f bytes (%.1f pages) to the log, %.0f to the file, and reads %.1f pages", log, log/frame, file, pages)
			testenv.Attributes(t, map[string]float64{"log-bytes": log, "log-pages": log / frame, "file-bytes": file, "pages-read": pages})
			if log > test.log || file > test.file || pages > test.pages {
				t.Errorf("a run writes %.0f bytes to the log and %.0f to the file and reads %.1f pages, want at most %.0f, %.0f and %.0f",
					log, file, pages, test.log, test.file, test.pages)
			}
		})
	}
}

// No statement of a run, nor one that its worker makes meanwhile, reads a whole table or a whole index.
func TestRequest_PlansOfARun(t *testing.T) {
	db, path := openFile(t)
	var mu sync.Mutex
	var statements []string
	db.Trace(func(query string) {
		mu.Lock()
		defer mu.Unlock()
		if ends := []string{"BEGIN", "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"}; !slices.Contains(append(ends, statements...), query) {
			statements = append(statements, query)
		}
	})
	srv := servertest.Start(t, db)
	for n := range 3 {
		srv.Run(fmt.Sprint("new-", n))
		srv.Run("same")
		srv.Chat("chat")
		srv.ChatAs("page", fmt.Sprint("m-", n))
		srv.Agent("agent", fmt.Sprint("r-", n), fmt.Sprint("a-", n))
	}
	look, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer look.Close()
	mu.Lock()
	defer mu.Unlock()
	for _, s := range statements {
		made := map[string]bool{"CONSTANT": true} // rows that are not of a table
		for _, line := range plan(t, look, db.Translate(s), make([]any, params(s))...) {
			switch words := strings.Fields(line); words[0] {
			case "MATERIALIZE", "CO-ROUTINE":
				made[words[1]] = true
			case "SCAN":
				if !made[words[1]] && !strings.Contains(line, "VIRTUAL TABLE") {
					t.Errorf("%s: %s", line, s)
				}
			}
		}
	}
	if len(statements) < 10 {
		t.Errorf("%d statements were seen: %q", len(statements), statements)
	}
}

// params returns the number of parameters of a statement.
func params(query string) (n int) {
	for _, p := range regexp.MustCompile(`\?[0-9]*`).FindAllString(query, -1) {
		if i, err := strconv.Atoi(p[1:]); err == nil {
			n = max(n, i)
		} else {
			n++
		}
	}
	return n
}
