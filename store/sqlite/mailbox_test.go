package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/mailbox/mailboxtest"
	"github.com/awaken-go/awaken/store/sqlite"
)

func TestMailbox(t *testing.T) {
	mailboxtest.Test(t, func(t *testing.T) mailboxtest.Backend {
		path := newFile(t)
		db, other := openAt(t, path, nil), openAt(t, path, nil)
		for _, db := range []*sqlite.DB{db, other} { // under load, two busy writers wait long for each other
			if err := db.Pragma("busy_timeout = 60000"); err != nil {
				t.Fatal(err)
			}
		}
		return mailboxtest.Backend{Queue: db, Other: other, Advance: func(d time.Duration) {
			db.Advance(d)
			other.Advance(d)
		}}
	})
}

// join makes a process known that lives as long as the test.
func join(t testing.TB, q mailbox.Queue, process string) {
	t.Helper()
	if err := q.Join(t.Context(), process, time.Hour); err != nil {
		t.Fatal(err)
	}
}

// dispatches returns n dispatches, each on its own thread.
func dispatches(prefix string, n int) []*mailbox.Dispatch {
	out := make([]*mailbox.Dispatch, n)
	for i := range out {
		id := fmt.Sprintf("%s%04d", prefix, i)
		out[i] = &mailbox.Dispatch{ID: id, ThreadID: "thread-" + id, RunID: "run-" + id, Priority: mailbox.DefaultPriority, MaxAttempts: 5,
			Request: &awaken.RunRequest{ThreadID: "thread-" + id, Messages: []*llm.Message{llm.UserText("hello")}}}
	}
	return out
}

func TestMailbox_ABatchIsOneTransaction(t *testing.T) {
	db := open(t)
	join(t, db, "c")
	_, before := db.Used()
	count := func(what string) {
		t.Helper()
		_, now := db.Used()
		if now-before != 1 {
			t.Errorf("%s took %d transactions, want 1", what, now-before)
		}
		before = now
	}
	if left, err := db.Store("").Enqueue(t.Context(), mailbox.Terms{}, dispatches("d", 100)...); err != nil || len(left) > 0 {
		t.Fatalf("left %v, %v", left, err)
	}
	count("enqueue")
	ds, _, err := db.Claim(t.Context(), mailbox.ClaimRequest{Consumer: "c", Lease: time.Minute, Limit: 100})
	if err != nil || len(ds) != 100 {
		t.Fatalf("claimed %d, %v", len(ds), err)
	}
	count("claim")
	settlements := make([]mailbox.Settlement, len(ds))
	for i, d := range ds {
		settlements[i] = mailbox.Settlement{Claim: d.Claim(), Status: mailbox.Acked}
	}
	errs, err := db.Settle(t.Context(), settlements...)
	if err = errors.Join(append(errs, err)...); err != nil {
		t.Fatal(err)
	}
	count("settle")
}

// A database of version 1 with a parked thread is migrated.
func TestOpen_AddsAQueueToAnOlderDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	scripts, err := sqlite.Migrations("awaken", 1)
	if err != nil {
		t.Fatal(err)
	}
	old, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = old.Exec(scripts[0] + `;
		CREATE TABLE awaken_schema (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied INTEGER NOT NULL);
		INSERT INTO awaken_schema VALUES (1, '0001_init.sql', 0);
		INSERT INTO awaken_threads (tenant, id, title, created, updated, touched, fence, committed, last_seq, open_run, latest_run) VALUES ('', 't', 'Old', 5, 6, 7, 3, 1, 9, 'r', 'r');
		INSERT INTO awaken_runs (tenant, id, thread, status, born, data, first_seq, last_seq) VALUES ('', 'r', 't', 'waiting', 1, '{"run_id":"r","thread_id":"t","agent_id":"a","status":"waiting","created_at":1,"updated_at":1,"steps":2,"input_tokens":0,"output_tokens":0}', 1, 9)`)
	if err = errors.Join(err, old.Close()); err != nil {
		t.Fatal(err)
	}
	db := openAt(t, path, nil)
	s := db.Store("")
	th, err := s.Thread(t.Context(), "t")
	if err != nil || th.Metadata.Title != "Old" || th.ResourceID != "" || th.End != (awaken.Cursor{Epoch: 3, Seq: 9}) {
		t.Errorf("thread is %+v, %v", th, err)
	}
	if r, err := s.LoadRun(t.Context(), "r"); err != nil || r.CreatedAt != 1000 || r.UpdatedAt != 1000 { // its record has seconds
		t.Errorf("run is %+v, %v", r, err)
	}
	for since, want := range map[int64]int{1000: 1, 1001: 0} {
		if rs, err := s.ListRuns(t.Context(), awaken.RunQuery{Since: since}); err != nil || len(rs) != want {
			t.Errorf("%d runs since %d ms, want %d (%v)", len(rs), since, want, err)
		}
	}
	d := dispatches("d", 1)[0]
	d.ThreadID = "t"
	if left, err := s.Enqueue(t.Context(), mailbox.Terms{}, d); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v: its run waits", left, err)
	}
	if err := s.Change(t.Context(), "t", func(th *mailbox.Thread) error {
		if th.Open == nil || th.Open.Steps != 2 || th.End.Seq != 9 || len(th.Live) != 0 {
			t.Errorf("got %+v", th)
		}
		w := *d
		w.Status, w.Request, w.RunID, w.AvailableAt, w.CreatedAt = mailbox.Queued, nil, "r", th.Now, th.Now
		th.Put = []*mailbox.Dispatch{&w}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	join(t, db, "c")
	if ds, _, err := db.Claim(t.Context(), mailbox.ClaimRequest{Consumer: "c", Lease: time.Minute, Limit: 9}); err != nil || len(ds) != 1 || ds[0].RunID != "r" {
		t.Errorf("claimed %+v, %v", ds, err)
	}
}

// The handles of the queue are pipelined stores.
func TestHandle_IsPipelined(t *testing.T) {
	if p, ok := open(t).Handle("tenant").(awaken.Pipelined); !ok || !p.Pipelined() {
		t.Error("it is not")
	}
}

func TestMailbox_AThreadIsNotDeletedUnderItsDispatch(t *testing.T) {
	s := open(t).Store("")
	d := dispatches("d", 1)[0]
	d.ThreadID, d.Request.ThreadID = "odd\x00\xff", "odd\x00\xff"
	if left, err := s.Enqueue(t.Context(), mailbox.Terms{}, d); err != nil || len(left) > 0 {
		t.Fatalf("left %v, %v", left, err)
	}
	if err := s.DeleteThread(t.Context(), d.ThreadID, awaken.RejectChildren); !errors.Is(err, awaken.ErrConflict) {
		t.Fatalf("delete: %v, want ErrConflict", err)
	}
}
