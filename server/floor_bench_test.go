package server_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/internal/ids"
)

// floor is the least that a durable server can do for the requests of W6d, written by hand. It makes one synced transaction when it
// accepts a run (thread, run, input) and one when the run ends (answer, run, thread), and the steps of all runs that wait share one. It has
// no queue, leases, fence, replay, lists, feed or tenants, and does not read the messages before the last. The server may cost more for these.
type floor struct {
	store  floorStore
	steps  chan *floorStep
	pieces []string      // of every answer
	pause  time.Duration // before each piece
}

// floorStore makes all steps of a group durable in one transaction. No two steps are of the same thread.
type floorStore interface {
	write(ctx context.Context, group []*floorStep) error
}

// floorStep is the beginning of a run or its end.
type floorStep struct {
	ends              bool
	thread, run, text string // the text is the input or the answer
	at                int64  // Unix ms
	done              chan error
}

// serveFloor is the floor's process.
func serveFloor() error {
	ctx := context.Background()
	store, err := openFloor(ctx, os.Getenv("DATABASE"))
	if err != nil {
		return err
	}
	f := &floor{store, make(chan *floorStep, 1024), numbered(w6Pieces, w6Size), time.Duration(setting("PAUSE_MS")) * time.Millisecond}
	go f.commit(ctx)
	mux := http.NewServeMux()
	mux.Handle("POST /v1/runs", f)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	srv := &http.Server{Handler: mux}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = srv.Shutdown(ctx)
	}()
	if err := srv.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// ServeHTTP answers a run: its start is flushed when it was accepted, all the rest when it has ended. With pauses, each piece is flushed.
func (f *floor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	thread, text, err := floorInput(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	run := ids.New()
	if err := f.durable(&floorStep{thread: thread, run: run, text: text}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("X-Run-Id", run)
	w.Header().Set("X-Thread-Id", thread)
	control := http.NewResponseController(w)
	seq := 0
	event := func(buf []byte, kind string, fields func(buf []byte) []byte) []byte {
		seq++
		buf = append(strconv.AppendInt(append(buf, "id: 1-"...), int64(seq), 10), "\ndata: {\"event_type\":\""...)
		return append(fields(append(append(buf, kind...), '"')), "}\n\n"...)
	}
	identity := func(buf []byte) []byte {
		return appendjson.Text(appendjson.Text(buf, `,"thread_id":`, thread), `,"run_id":`, run)
	}
	buf := event(make([]byte, 0, 8<<10), "run_start", identity)
	if _, err := w.Write(buf); err != nil || control.Flush() != nil {
		return
	}
	buf = buf[:0]
	answer := make([]byte, 0, w6Pieces*w6Size)
	for _, piece := range f.pieces {
		answer = append(answer, piece...)
		buf = event(buf, "text_delta", func(buf []byte) []byte { return appendjson.Text(buf, `,"delta":`, piece) })
		if f.pause > 0 {
			time.Sleep(f.pause)
			if _, err := w.Write(buf); err != nil || control.Flush() != nil {
				return
			}
			buf = buf[:0]
		}
	}
	if err := f.durable(&floorStep{ends: true, thread: thread, run: run, text: string(answer)}); err != nil {
		return // the stream has no end
	}
	buf = event(buf, "run_finish", func(buf []byte) []byte { return appendjson.Text(identity(buf), `,"response":`, string(answer)) })
	if _, err := w.Write(buf); err == nil {
		_ = control.Flush()
	}
}

// floorInput returns the thread and the message of a request, which has one message of a user to the agent default.
func floorInput(body io.Reader) (thread, text string, err error) {
	var in struct {
		AgentID  string `json:"agent_id"`
		ThreadID string `json:"thread_id"`
		Messages []struct{ Role, Content string }
	}
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return "", "", err
	}
	if _, err := d.Token(); err != io.EOF {
		return "", "", errors.New("the body has more than one value")
	}
	switch {
	case in.AgentID != "default":
		return "", "", fmt.Errorf("agent %q not found; available: default", in.AgentID)
	case len(in.Messages) != 1 || in.Messages[0].Role != "user" || in.Messages[0].Content == "":
		return "", "", errors.New("messages: want one of the role user that is not empty")
	case len(in.ThreadID) > 256 || strings.ContainsRune(in.ThreadID, 0) || strings.ContainsRune(in.Messages[0].Content, 0):
		return "", "", errors.New("a thread ID has at most 256 bytes, and no text has NUL")
	}
	if in.ThreadID == "" {
		in.ThreadID = ids.New()
	}
	return in.ThreadID, in.Messages[0].Content, nil
}

// durable returns when a step is committed.
func (f *floor) durable(s *floorStep) error {
	s.at, s.done = time.Now().UnixMilli(), make(chan error, 1)
	f.steps <- s
	return <-s.done
}

// commit is the one goroutine that writes. It takes all that waits into one transaction, but of each thread only the first step.
func (f *floor) commit(ctx context.Context) {
	var waiting []*floorStep
	for {
		if len(waiting) == 0 {
			waiting = append(waiting, <-f.steps)
		}
		for len(f.steps) > 0 && len(waiting) < cap(f.steps) {
			waiting = append(waiting, <-f.steps)
		}
		var group, later []*floorStep
		threads := make(map[string]bool, len(waiting))
		for _, s := range waiting {
			if threads[s.thread] {
				later = append(later, s)
				continue
			}
			threads[s.thread] = true
			group = append(group, s)
		}
		err := f.store.write(ctx, group)
		for _, s := range group {
			s.done <- err
		}
		waiting = later
	}
}

// openFloor opens the URL of a PostgreSQL database or the path of an SQLite file, and makes its tables. It refuses one that does not sync.
func openFloor(ctx context.Context, at string) (floorStore, error) {
	const tables = `
		CREATE TABLE floor_threads (id TEXT PRIMARY KEY, created BIGINT NOT NULL, updated BIGINT NOT NULL, run TEXT, messages BIGINT NOT NULL);
		CREATE TABLE floor_runs (id TEXT PRIMARY KEY, thread TEXT NOT NULL, status TEXT NOT NULL, created BIGINT NOT NULL, finished BIGINT);
		CREATE TABLE floor_messages (thread TEXT NOT NULL, n BIGINT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (thread, n))`
	if strings.HasPrefix(at, "postgres:") {
		config, err := pgxpool.ParseConfig(at)
		if err != nil {
			return nil, err
		}
		// Plans are made while the tables are empty.
		for _, way := range []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin"} {
			config.ConnConfig.RuntimeParams[way] = "off"
		}
		pool, err := pgxpool.NewWithConfig(ctx, config)
		if err != nil {
			return nil, err
		}
		var synced bool
		const syncs = `SELECT current_setting('fsync') = 'on' AND current_setting('synchronous_commit') = 'on'`
		if err := pool.QueryRow(ctx, syncs).Scan(&synced); err != nil {
			return nil, err
		}
		if !synced {
			return nil, errors.New("the server does not sync its commits")
		}
		_, err = pool.Exec(ctx, tables)
		return floorPostgres{pool}, err
	}
	const pragmas = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)"
	pool, err := sql.Open("sqlite", "file:"+at+pragmas)
	if err != nil {
		return nil, err
	}
	s := &floorSQLite{prepared: map[string]*sql.Stmt{}}
	if s.conn, err = pool.Conn(ctx); err != nil {
		return nil, err
	}
	var mode string
	var sync int
	err = errors.Join(s.conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode),
		s.conn.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&sync))
	if err == nil && (mode != "wal" || sync != 2) {
		err = fmt.Errorf("the file has the journal mode %s and syncs %d, want wal and 2", mode, sync)
	}
	if err == nil {
		_, err = s.conn.ExecContext(ctx, strings.Replace(tables, "PRIMARY KEY (thread, n))", "PRIMARY KEY (thread, n)) WITHOUT ROWID", 1))
	}
	return s, err
}

// floorSQLite writes with the driver and the settings of store/sqlite: three statements for each step.
type floorSQLite struct {
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
}

func (s *floorSQLite) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if p := s.prepared[query]; p != nil {
		return p, nil
	}
	p, err := s.conn.PrepareContext(ctx, query)
	s.prepared[query] = p
	return p, err
}

func (s *floorSQLite) exec(ctx context.Context, query string, args ...any) error {
	p, err := s.stmt(ctx, query)
	if err == nil {
		_, err = p.ExecContext(ctx, args...)
	}
	return err
}

func (s *floorSQLite) write(ctx context.Context, group []*floorStep) (err error) {
	if err := s.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.exec(ctx, "ROLLBACK"))
		}
	}()
	for _, step := range group {
		if err := s.one(ctx, step); err != nil {
			return err
		}
	}
	return s.exec(ctx, "COMMIT")
}

func (s *floorSQLite) one(ctx context.Context, step *floorStep) error {
	thread, role := `INSERT INTO floor_threads (run, updated, id, created, messages) VALUES (?1, ?2, ?3, ?2, 1)
		ON CONFLICT (id) DO UPDATE SET updated = excluded.updated, run = excluded.run, messages = messages + 1 RETURNING messages`, "user"
	run := `INSERT INTO floor_runs (id, thread, status, created) VALUES (?1, ?2, 'running', ?3)`
	if step.ends {
		thread, role = `UPDATE floor_threads SET run = nullif(run, ?1), updated = ?2, messages = messages + 1
			WHERE id = ?3 RETURNING messages`, "assistant"
		run = `UPDATE floor_runs SET status = 'done', finished = ?3 WHERE id = ?1 AND thread = ?2`
	}
	p, err := s.stmt(ctx, thread)
	if err != nil {
		return err
	}
	var n int64
	if err := p.QueryRowContext(ctx, step.run, step.at, step.thread).Scan(&n); err != nil {
		return err
	}
	if err := s.exec(ctx, run, step.run, step.thread, step.at); err != nil {
		return err
	}
	return s.exec(ctx, `INSERT INTO floor_messages (thread, n, role, content) VALUES (?1, ?2, ?3, ?4)`, step.thread, n, role, step.text)
}

// floorPostgres writes a group in one round trip, with a statement for all beginnings and one for all ends.
type floorPostgres struct{ pool *pgxpool.Pool }

func (s floorPostgres) write(ctx context.Context, group []*floorStep) error {
	const given = `WITH given AS (SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS g (thread, run, content, at)), `
	statements := [2]string{
		given + `t AS (INSERT INTO floor_threads AS t (id, created, updated, run, messages) SELECT thread, at, at, run, 1 FROM given
				ON CONFLICT (id) DO UPDATE SET updated = excluded.updated, run = excluded.run, messages = t.messages + 1 RETURNING id, messages),
			r AS (INSERT INTO floor_runs (id, thread, status, created) SELECT run, thread, 'running', at FROM given)
			INSERT INTO floor_messages (thread, n, role, content) SELECT t.id, t.messages, 'user', g.content FROM given g JOIN t ON t.id = g.thread`,
		given + `t AS (UPDATE floor_threads t SET updated = g.at, run = nullif(t.run, g.run), messages = t.messages + 1 FROM given g
				WHERE t.id = g.thread RETURNING t.id, t.messages),
			r AS (UPDATE floor_runs r SET status = 'done', finished = g.at FROM given g WHERE r.id = g.run AND r.thread = g.thread)
			INSERT INTO floor_messages (thread, n, role, content)
				SELECT t.id, t.messages, 'assistant', g.content FROM given g JOIN t ON t.id = g.thread`,
	}
	var columns [2]struct {
		thread, run, text []string
		at                []int64
	}
	for _, s := range group {
		c := &columns[0]
		if s.ends {
			c = &columns[1]
		}
		c.thread, c.run, c.text, c.at = append(c.thread, s.thread), append(c.run, s.run), append(c.text, s.text), append(c.at, s.at)
	}
	var batch pgx.Batch // without a BEGIN it is one transaction
	for i, c := range columns {
		if len(c.run) > 0 {
			batch.Queue(statements[i], c.thread, c.run, c.text, c.at).Exec(func(tag pgconn.CommandTag) error {
				if n := tag.RowsAffected(); n != int64(len(c.run)) {
					return fmt.Errorf("%d messages of %d steps were written", n, len(c.run))
				}
				return nil
			})
		}
	}
	return s.pool.SendBatch(ctx, &batch).Close()
}
