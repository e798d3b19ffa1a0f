package mailboxtest

import (
	"errors"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// mayNotOwn checks that a claim is not enough to acquire a thread, and that nothing is changed.
func mayNotOwn(k *kit, thread string, c mailbox.Claim) {
	k.Helper()
	before := k.look(thread).End
	if cp, _, err := k.store.Own(k.Context(), thread, c); !errors.Is(err, awaken.ErrFenced) {
		k.Errorf("got %+v, %v, want ErrFenced", cp, err)
	}
	equal(k, "fence", before, k.look(thread).End)
}

var ownCases = []testCase{
	{"AcquiresTheThread", func(k *kit) {
		first := k.acquire("t", "r")
		first.commit(entries(2), func(c *awaken.Commit) { c.Messages = []*llm.Message{llm.UserText("hello")} }, done)
		k.enqueue(dispatch("t", "a"))
		if err := k.store.Post(k.Context(), "t", awaken.InboxItem{ID: "i", Messages: []*llm.Message{llm.UserText("unread")}}); err != nil {
			k.Fatal(err)
		}
		d := k.claimOne("a")
		cp, cancel, err := k.store.Own(k.Context(), "t", d.Claim())
		if err != nil || cancel {
			k.Fatalf("cancel is %t, %v", cancel, err)
		}
		if cp.Fence <= first.cp.Fence || cp.Thread.End.Seq != 2 || len(cp.View) != 1 || cp.View[0].Text() != "hello" || cp.Run == nil || cp.Run.RunID != "r" || len(cp.Inbox) != 1 || cp.Thread.MessageCount != 1 {
			k.Errorf("got %+v", cp)
		}
		if err := first.try(); !errors.Is(err, awaken.ErrFenced) {
			k.Errorf("the owner before can commit: %v", err)
		}
		again := k.owns(d)
		if again.cp.Fence <= cp.Fence {
			k.Errorf("the fence is %d, want more than %d", again.cp.Fence, cp.Fence)
		}
	}},
	{"OnlyWhileTheClaimHolds", func(k *kit) {
		k.enqueue(dispatch("t", "a"), dispatch("u", "b", after(time.Hour)))
		d := k.claimOne("a")
		wrong := d.Claim()
		wrong.Token = "other"
		mayNotOwn(k, "t", wrong)
		mayNotOwn(k, "u", d.Claim())
		k.as(d, mailbox.Queued)
		mayNotOwn(k, "t", d.Claim())
		d = k.claimFor(1, time.Minute)[0]
		k.Advance(2 * time.Minute)
		k.owns(d) // until it is reclaimed
		k.reclaim(10)
		mayNotOwn(k, "t", d.Claim())
		d = k.claimOne("a")
		k.as(d, mailbox.Acked)
		mayNotOwn(k, "t", d.Claim())
	}},
	{"MayBePartOfTheClaim", func(k *kit) {
		k.join("p")
		started := dispatch("started", "s")
		if !k.start(started) {
			k.Fatal("not claimed")
		}
		k.acquire("used", "r").commit(done, func(c *awaken.Commit) { c.Messages = []*llm.Message{llm.UserText("hello")} })
		k.enqueue(dispatch("t", "a"), dispatch("used", "b"), dispatch("posted", "c"))
		if err := k.store.Post(k.Context(), "posted", awaken.InboxItem{ID: "i", Messages: []*llm.Message{llm.UserText("unread")}}); err != nil {
			k.Fatal(err)
		}
		for _, d := range append(k.claim(3), started) {
			had := d.Checkpoint
			if had == nil {
				continue // a store need not
			}
			if d.ThreadID == "used" || d.ThreadID == "posted" {
				k.Errorf("the claim of thread %s has acquired it without what it holds", d.ThreadID)
			}
			first := ownerOf(k, d, had)
			if err := first.try(); err != nil {
				k.Errorf("the owner cannot commit: %v", err)
			}
			cp, cancel, err := k.store.Own(k.Context(), d.ThreadID, d.Claim())
			if err != nil || cancel {
				k.Fatalf("cancel is %t, %v", cancel, err)
			}
			if cp.Fence <= had.Fence || had.Thread.ID != d.ThreadID || had.Thread.Metadata.CreatedAt != cp.Thread.Metadata.CreatedAt {
				k.Errorf("the claim has %+v, the next owner %+v", had, cp)
			}
			if err := first.try(); !errors.Is(err, awaken.ErrFenced) {
				k.Errorf("the owner before can commit: %v", err)
			}
		}
	}},
	{"AgainAfterAClaimThatBeganNothing", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		d := k.claimOne("a")
		k.as(d, mailbox.Queued)
		again := k.claimOne("a")
		if d.Checkpoint != nil && again.Checkpoint != nil && again.Checkpoint.Fence <= d.Checkpoint.Fence {
			k.Errorf("the fence is %d, want more than %d", again.Checkpoint.Fence, d.Checkpoint.Fence)
		}
		if first, second := d.Checkpoint, k.owns(again); first != nil && first.Fence >= second.cp.Fence {
			k.Errorf("the fence is %d, want more than %d", second.cp.Fence, first.Fence)
		}
	}},
	{"ReportsACancel", func(k *kit) {
		k.enqueue(dispatch("t", "a"))
		d := k.claimOne("a")
		k.change("t", func(t *mailbox.Thread) {
			c := *t.Live[0]
			c.Cancel = true
			t.Put, t.Interrupt = []*mailbox.Dispatch{&c}, true
		})
		cp, cancel, err := k.store.Own(k.Context(), "t", d.Claim())
		if err != nil || !cancel || cp.Generation == 0 {
			k.Errorf("got %+v, cancel is %t, %v", cp, cancel, err)
		}
	}},
}
