package mailboxtest

import (
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// says makes a dispatch accept a client's message.
func says(message string) func(*mailbox.Dispatch) {
	return func(d *mailbox.Dispatch) { d.MessageID, d.Said = message, "digest of "+message }
}

// accepted returns the dispatches of a thread that have accepted a message.
func accepted(k *kit, thread, message string) []string {
	k.Helper()
	list, err := k.store.Dispatches(k.Context(), mailbox.Query{ThreadID: thread, MessageID: message})
	if err != nil {
		k.Fatal(err)
	}
	for _, d := range list {
		if d.MessageID != message || d.Said != "digest of "+message {
			k.Errorf("dispatch %s has message %q, %q", d.ID, d.MessageID, d.Said)
		}
	}
	return dispatchIDs(list)
}

// refuses makes a change that must be ErrDuplicate and change nothing.
func refuses(k *kit, thread string, fn func(t *mailbox.Thread)) {
	k.Helper()
	err := k.store.Change(k.Context(), thread, func(t *mailbox.Thread) error { fn(t); return nil })
	if !errors.Is(err, mailbox.ErrDuplicate) {
		k.Errorf("error is %v, want ErrDuplicate", err)
	}
}

var saidCases = []testCase{
	{"AThreadAcceptsAMessageOnce", func(k *kit) {
		k.enqueue(dispatch("t", "a", says("m")), dispatch("t", "b", says("other")))
		k.leaves([]int{0, 2, 5}, dispatch("t", "c", says("m")), dispatch("u", "d", says("m")), dispatch("u", "e", says("m")),
			dispatch("t", "f"), dispatch("t", "g"), dispatch("t", "h", says("other")))
		equal(k, "of t", []string{"a"}, accepted(k, "t", "m"))
		equal(k, "of u", []string{"d"}, accepted(k, "u", "m"))
		equal(k, "of none", 0, len(accepted(k, "t", "ghost")))
	}},
	{"AlsoWhenItsDispatchIsOver", func(k *kit) {
		k.enqueue(dispatch("t", "a", says("m")))
		k.as(k.claimOne("a"), mailbox.Acked)
		k.leaves([]int{0}, dispatch("t", "b", says("m")))
		refuses(k, "t", func(t *mailbox.Thread) { t.Put = []*mailbox.Dispatch{queued(t, "b", says("m"))} })
		equal(k, "message", []string{"a"}, accepted(k, "t", "m"))
		if _, err := k.store.PurgeDispatches(k.Context(), mailbox.Query{}); err != nil {
			k.Fatal(err)
		}
		k.leaves([]int{}, dispatch("t", "b", says("m")))
		equal(k, "after the purge", []string{"b"}, accepted(k, "t", "m"))
	}},
	{"AClaimAndAChangeKeepTheMessage", func(k *kit) {
		k.enqueue(dispatch("t", "a", says("m")))
		d := k.claimOne("a")
		k.change("t", func(t *mailbox.Thread) {
			c := *t.Live[0]
			c.Cancel, c.MessageID, c.Said = true, "", ""
			t.Put = []*mailbox.Dispatch{&c}
		})
		equal(k, "message", []string{"a"}, accepted(k, "t", "m"))
		k.as(d, mailbox.Cancelled)
		equal(k, "when it is over", []string{"a"}, accepted(k, "t", "m"))
	}},
	{"ChangeRefusesAMessageThatWasAccepted", func(k *kit) {
		k.enqueue(dispatch("t", "a", says("m")))
		refuses(k, "t", func(t *mailbox.Thread) {
			t.Put, t.RaiseEpoch = []*mailbox.Dispatch{queued(t, "b", says("m"))}, true
			t.Post = []awaken.InboxItem{{ID: "i"}}
		})
		refuses(k, "new", func(t *mailbox.Thread) {
			t.Create, t.Put = true, []*mailbox.Dispatch{queued(t, "c", says("m")), queued(t, "d", says("m"))}
		})
		if items, err := k.store.Unread(k.Context(), "t"); err != nil || len(items) > 0 || k.look("t").Epoch != 0 {
			k.Errorf("a refused change left %+v, %v", items, err)
		}
		equal(k, "message", []string{"a"}, accepted(k, "t", "m"))
		k.change("u", func(t *mailbox.Thread) { // another thread
			t.Create, t.Put = true, []*mailbox.Dispatch{queued(t, "e", says("m"))}
		})
		equal(k, "of the other thread", []string{"e"}, accepted(k, "u", "m"))
	}},
	{"ReleaseGivesTheMessageToAnother", func(k *kit) {
		k.enqueue(dispatch("t", "a", says("m")), dispatch("t", "x", says("n")))
		k.as(k.claim(1)[0], mailbox.Acked)
		replace := func(old, id string) func(t *mailbox.Thread) {
			return func(t *mailbox.Thread) {
				t.Release, t.Put = old, []*mailbox.Dispatch{queued(t, id, says("m"))}
			}
		}
		k.change("t", replace("a", "b"))
		equal(k, "message", []string{"b"}, accepted(k, "t", "m"))
		refuses(k, "t", replace("a", "c")) // it was released before
		refuses(k, "t", replace("ghost", "c"))
		refuses(k, "t", replace("x", "c")) // it has another
		equal(k, "the other message", []string{"x"}, accepted(k, "t", "n"))
		k.change("t", replace("b", "c")) // a live one
		equal(k, "message", []string{"c"}, accepted(k, "t", "m"))
		k.enqueue(dispatch("u", "other", says("m")))
		k.change("t", func(t *mailbox.Thread) { t.Release = "other" }) // of another thread
		equal(k, "of the other thread", []string{"other"}, accepted(k, "u", "m"))
	}},
	{"ReleasesADispatchThatTheChangeEnds", func(k *kit) {
		k.enqueue(dispatch("t", "a", says("m")))
		k.claimOne("a")
		for i, id := range []string{"b", "c"} {
			k.change("t", func(t *mailbox.Thread) {
				old := *t.Live[0]
				old.Cancel, t.Release = true, old.ID
				t.Put = []*mailbox.Dispatch{&old, queued(t, id, says("m"))}
				if i > 0 { // one that is queued and has the message
					old = *t.Live[1]
					old.Status, old.CompletedAt, t.Release = mailbox.Superseded, t.Now, old.ID
					t.Put = []*mailbox.Dispatch{queued(t, id, says("m")), &old}
				}
			})
			equal(k, "message", []string{id}, accepted(k, "t", "m"))
		}
		k.status(mailbox.Superseded, "b")
	}},
	{"KeepsUnusualMessageIDsApart", func(k *kit) {
		for i, id := range []string{"a", "A", "a ", "é", "e\u0301", "日本語", `'";--`, `\`, "%", "tab\tand\nline", strings.Repeat("long", 128)} {
			k.enqueue(dispatch("t", number("d", i), says(id)))
			equal(k, id, []string{number("d", i)}, accepted(k, "t", id))
			k.leaves([]int{0}, dispatch("t", number("e", i), says(id)))
		}
	}},
	{"OfManyThatSayTheSameAtOnceOneIsAccepted", func(k *kit) {
		for round := range 8 {
			thread := number("t", round)
			if round%2 == 0 { // one that exists, and is idle
				k.enqueue(dispatch(thread, number("old", round)))
				k.as(k.claimOne(number("old", round)), mailbox.Acked)
			}
			var taken atomic.Int32
			k.together(12, func(i int, q mailbox.Queue) {
				id := number("d", round*100+i)
				if i%3 == 2 { // as input for a thread that is not idle
					err := q.Handle("").Change(k.Context(), thread, func(t *mailbox.Thread) error {
						t.Create, t.Put = true, []*mailbox.Dispatch{queued(t, id, says("m"), after(time.Hour))}
						return nil
					})
					if err == nil {
						taken.Add(1)
					} else if !errors.Is(err, mailbox.ErrDuplicate) {
						k.Error(err)
					}
					return
				}
				left, err := q.Handle("").Enqueue(k.Context(), mailbox.Terms{Idle: i%2 == 0}, dispatch(thread, id, says("m"), after(time.Hour)))
				if err != nil {
					k.Error(err)
				}
				taken.Add(int32(1 - len(left)))
			})
			equal(k, "accepted", 1, int(taken.Load()))
			equal(k, "dispatches with the message", 1, len(accepted(k, thread, "m")))
		}
	}},
}
