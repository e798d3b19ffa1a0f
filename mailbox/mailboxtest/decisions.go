package mailboxtest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// decision returns the item of a decision on a question of run r of thread t.
func decision(ticket string, action awaken.DecisionAction, by string, at int64) awaken.InboxItem {
	d := &awaken.Decision{Target: ticket, Action: action, UpdatedAt: at, Actor: &awaken.Actor{KeyID: "k-" + by, Label: by + "'s", User: by}}
	s := &awaken.CallState{CallID: "c-" + ticket, ToolName: "tool-" + ticket, RunID: "r"}
	return awaken.InboxItem{ID: "decision:r:" + ticket, RunID: "r", Decision: d, Decided: s.Decided("t", d)}
}

// decide posts a decision in a change that also queues a dispatch.
func decide(k *kit, s mailbox.Handle, id string, item awaken.InboxItem) error {
	return s.Change(k.Context(), "t", func(t *mailbox.Thread) error {
		t.Create, t.Post = true, []awaken.InboxItem{item}
		d := dispatch("t", id)
		d.Status, d.CreatedAt, d.AvailableAt = mailbox.Queued, t.Now, t.Now
		t.Put = []*mailbox.Dispatch{d}
		return nil
	})
}

var decisionCases = []testCase{
	{"TheFirstCountsAndARefusedOneChangesNothing", func(k *kit) {
		if err := decide(k, k.store, "d1", decision("q", awaken.ActionResume, "ada", 1)); err != nil {
			k.Fatal(err)
		}
		before := k.shows("t", []string{"d1", "d2"}, nil)
		err := decide(k, k.store, "d2", decision("q", awaken.ActionCancel, "bob", 2))
		if rec, ok := errors.AsType[*awaken.Decided](err); !ok || !errors.Is(err, awaken.ErrDecided) || rec.Actor.User != "ada" || rec.Action != awaken.ActionResume {
			k.Errorf("a different decision: error is %v, want the record", err)
		}
		equal(k, "after the refusal", before, k.shows("t", []string{"d1", "d2"}, nil))
		if err := decide(k, k.store, "d3", decision("q", awaken.ActionResume, "bob", 3)); err != nil {
			k.Errorf("an equal decision: %v", err)
		}
		items, err := k.store.Unread(k.Context(), "t")
		if err != nil || len(items) != 1 {
			k.Errorf("the inbox has %d items, %v, want 1", len(items), err)
		}
	}},
	{"AreListed", func(k *kit) {
		for i, by := range []string{"ada", "bob", "ada"} {
			if err := decide(k, k.store, number("d", i), decision(number("q", i), awaken.ActionResume, by, int64(10+i/2))); err != nil {
				k.Fatal(err)
			}
		}
		if err := decide(k, k.Queue.Handle("other"), "d", decision("q", awaken.ActionResume, "ada", 20)); err != nil {
			k.Fatal(err)
		}
		list := func(q mailbox.DecisionQuery) (out []string) {
			k.Helper()
			all, err := k.store.Decisions(k.Context(), q)
			if err != nil {
				k.Fatal(err)
			}
			for _, d := range all {
				if d.RunID != "r" || d.ThreadID != "t" || d.Actor == nil {
					k.Errorf("record %+v", d)
				}
				out = append(out, d.TicketID)
			}
			return out
		}
		q := func(i int) string { return number("q", i) }
		equal(k, "all", []string{q(2), q(0), q(1)}, list(mailbox.DecisionQuery{}))
		equal(k, "of the run", []string{q(2), q(0), q(1)}, list(mailbox.DecisionQuery{RunIDs: []string{"x", "r"}}))
		equal(k, "of another run", []string(nil), list(mailbox.DecisionQuery{RunIDs: []string{"x"}}))
		equal(k, "of no run", []string(nil), list(mailbox.DecisionQuery{RunIDs: []string{}}))
		equal(k, "by user", []string{q(2), q(0)}, list(mailbox.DecisionQuery{Actor: "ada"}))
		equal(k, "by key", []string{q(1)}, list(mailbox.DecisionQuery{Actor: "k-bob"}))
		equal(k, "by label", []string{q(1)}, list(mailbox.DecisionQuery{Actor: "bob's"}))
		equal(k, "by tool", []string{q(1)}, list(mailbox.DecisionQuery{Tool: "tool-" + q(1)}))
		equal(k, "since", []string{q(2)}, list(mailbox.DecisionQuery{Since: 11}))
		equal(k, "of no user's threads", []string{q(2), q(0), q(1)}, list(mailbox.DecisionQuery{Owner: new("")}))
		equal(k, "of a user's threads", []string(nil), list(mailbox.DecisionQuery{Owner: new("ada")}))
		equal(k, "first page", []string{q(2), q(0)}, list(mailbox.DecisionQuery{Limit: 2}))
		equal(k, "next page", []string{q(1)}, list(mailbox.DecisionQuery{Limit: 2, After: &awaken.Decided{At: 10, RunID: "r", TicketID: q(0)}}))
	}},
	{"OneOfManyProcesses", func(k *kit) {
		const deciders = 8
		for i := range 10 {
			ticket := fmt.Sprint("q", i)
			var won [2]atomic.Int32
			k.together(deciders, func(n int, q mailbox.Queue) {
				err := decide(k, q.Handle(""), fmt.Sprintf("d%d-%d", i, n), decision(ticket, [...]awaken.DecisionAction{awaken.ActionResume, awaken.ActionCancel}[n/2%2], number("u", n), 1))
				switch {
				case err == nil:
					won[n/2%2].Add(1)
				case !errors.Is(err, awaken.ErrDecided):
					k.Errorf("%s, decider %d: %v", ticket, n, err)
				}
			})
			if a, b := won[0].Load(), won[1].Load(); a+b != deciders/2 || a*b != 0 {
				k.Errorf("%s: %d approvals and %d rejections were accepted, want all of one kind", ticket, a, b)
			}
		}
		items, err := k.store.Unread(k.Context(), "t")
		if err != nil || len(items) != 10 {
			k.Errorf("the inbox has %d items, %v, want 10", len(items), err)
		}
	}},
}
