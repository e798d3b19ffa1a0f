package sqlite_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/mailbox/mailboxtest"
	"github.com/awaken-go/awaken/store/sqlite"
)

func TestMailbox(t *testing.T) { mailboxtest.Test(t, backend) }

func TestStarter(t *testing.T) { mailboxtest.TestStarter(t, backend) }

func backend(t *testing.T) mailboxtest.Backend {
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
