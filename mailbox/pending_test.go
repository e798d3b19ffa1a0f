package mailbox_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// pending returns the texts of what is pending on a thread.
func (g *rig) pending(tn *mailbox.Tenant, thread string) (texts []string, list *mailbox.PendingList) {
	g.t.Helper()
	list, err := tn.Pending(g.t.Context(), thread)
	if err != nil {
		g.t.Fatal(err)
	}
	for i, p := range list.Items {
		if p.Position != i+1 || p.ThreadID != thread {
			g.t.Errorf("item %d is %+v", i, p)
		}
		texts = append(texts, p.Messages[0].Text())
	}
	return texts, list
}

func (g *rig) wantPending(tn *mailbox.Tenant, thread string, want ...string) *mailbox.PendingList {
	g.t.Helper()
	got, list := g.pending(tn, thread)
	if !slices.Equal(got, want) {
		g.t.Errorf("pending are %q, want %q", got, want)
	}
	return list
}

func TestPending_CanBeEditedRetractedAndReorderedUntilRead(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		tn := b.Tenant("")
		g.wantPending(tn, "t")
		first := g.submit(tn, say("t", "a"))
		g.submit(tn, say("t", "b"))
		third := g.submit(tn, say("t", "c"))
		list := g.wantPending(tn, "t", "a", "b", "c")

		a := list.Items[0]
		if err := tn.EditPending(t.Context(), "t", a.ID, a.Revision, []*llm.Message{llm.UserText("A")}); err != nil {
			t.Fatal(err)
		}
		err := tn.EditPending(t.Context(), "t", a.ID, a.Revision, []*llm.Message{llm.UserText("lost update")})
		if !errors.Is(err, awaken.ErrConflict) || !strings.Contains(err.Error(), "revision is 1, want 0") {
			t.Errorf("an old revision: error is %v", err)
		}
		if err := tn.EditPending(t.Context(), "t", a.ID, 1, nil); !errors.Is(err, awaken.ErrInvalid) {
			t.Errorf("no messages: error is %v", err)
		}
		if err := tn.EditPending(t.Context(), "t", "nothing", 0, []*llm.Message{llm.UserText("x")}); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("no such input: error is %v", err)
		}
		old := list.Revision
		list = g.wantPending(tn, "t", "A", "b", "c")

		order := []string{list.Items[2].ID, list.Items[0].ID, list.Items[1].ID}
		if err := tn.ReorderPending(t.Context(), "t", old, order); !errors.Is(err, awaken.ErrConflict) {
			t.Errorf("an old revision: error is %v", err)
		}
		for _, bad := range [][]string{order[:2], {order[0], order[0], order[1]}, {order[0], order[1], "x"}} {
			if err := tn.ReorderPending(t.Context(), "t", list.Revision, bad); !errors.Is(err, awaken.ErrInvalid) {
				t.Errorf("order %q: error is %v", bad, err)
			}
		}
		g.wantPending(tn, "t", "A", "b", "c")
		if err := tn.ReorderPending(t.Context(), "t", list.Revision, order); err != nil {
			t.Fatal(err)
		}
		list = g.wantPending(tn, "t", "c", "A", "b")

		if err := tn.RetractPending(t.Context(), "t", list.Items[2].ID, 0); !errors.Is(err, awaken.ErrConflict) {
			t.Errorf("an old revision: error is %v", err)
		}
		if err := tn.RetractPending(t.Context(), "t", list.Items[2].ID, list.Items[2].Revision); err != nil {
			t.Fatal(err)
		}
		g.wantPending(tn, "t", "c", "A")
		g.wantRun(tn, list.Items[2].RunID, awaken.RunDone, awaken.Cancelled, "")

		defer work(b)()
		time.Sleep(time.Minute)
		g.wantPending(tn, "t")
		one, two := g.run(tn, third.RunID), g.wantRun(tn, first.RunID, awaken.RunDone, awaken.NaturalEnd, "you said A")
		if one.FinalOutput != "you said c" || one.Output.FromSeq > two.Output.FromSeq {
			t.Errorf("the one that was moved to the front said %q, as message %d; the other is %d", one.FinalOutput, one.Output.FromSeq, two.Output.FromSeq)
		}
		if err := tn.EditPending(t.Context(), "t", a.ID, 1, []*llm.Message{llm.UserText("late")}); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("after it was taken in: error is %v", err)
		}
	})
}

func TestDeadLetter_IsRetriedOnceAndRepeatsNoMessage(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		q := &lossyQueue{Queue: g.queue}
		q.lossy.Store(10) // five attempts, each end is tried twice
		g.queue = q
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		r := g.submit(tn, say("t", "hello"))
		time.Sleep(time.Hour)
		g.wantDispatch(tn, r.DispatchID, mailbox.DeadLetter)
		letters, err := tn.DeadLetters(t.Context(), 0, 10)
		if len(letters) != 1 || letters[0].ID != r.DispatchID || err != nil {
			t.Fatalf("dead letters are %v, %v", letters, err)
		}
		if run := g.run(tn, r.RunID); run.StartedAt == 0 {
			t.Fatal("the run never started, so this shows nothing")
		}
		again, err := tn.RetryDeadLetter(t.Context(), r.DispatchID)
		if err != nil || again.RunID == r.RunID {
			t.Fatalf("%+v, %v", again, err)
		}
		if _, err := tn.RetryDeadLetter(t.Context(), r.DispatchID); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("once more: error is %v", err)
		}
		time.Sleep(time.Minute)
		g.wantRun(tn, again.RunID, awaken.RunDone, awaken.NaturalEnd, "you said hello")
		msgs, err := tn.Store.Messages(t.Context(), "t", awaken.MessageQuery{})
		said := 0
		for _, m := range msgs {
			if m.Message.Role == llm.User {
				said++
			}
		}
		if said != 1 || err != nil {
			t.Errorf("the user is shown to have said it %d times: %v", said, err)
		}
	})
}

func TestDeadLetter_IsDropped(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		s := say("t", "hello")
		s.Request.AgentID = "missing"
		dead, alive := g.submit(tn, s), g.submit(tn, say("u", "hello"))
		time.Sleep(time.Minute)
		if err := tn.DropDeadLetter(t.Context(), alive.DispatchID); !errors.Is(err, awaken.ErrConflict) || !strings.Contains(err.Error(), "Acked") {
			t.Errorf("what is no dead letter: error is %v", err)
		}
		if _, err := tn.RetryDeadLetter(t.Context(), alive.DispatchID); !errors.Is(err, awaken.ErrConflict) {
			t.Errorf("what is no dead letter: error is %v", err)
		}
		if err := tn.DropDeadLetter(t.Context(), dead.DispatchID); err != nil {
			t.Fatal(err)
		}
		if _, err := tn.Store.Dispatch(t.Context(), dead.DispatchID); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("after the drop: error is %v", err)
		}
		g.wantDispatch(tn, alive.DispatchID, mailbox.Acked)
	})
}

func TestPending_HidesSummaries(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		g.submit(tn, say("t", "hello"))
		time.Sleep(time.Minute)
		late := awaken.InboxItem{ID: "compaction:1", Compaction: &awaken.CompactionResult{TaskID: "1", Summary: "They said hello."}}
		if err := tn.Store.Post(t.Context(), "t", late); err != nil {
			t.Fatal(err)
		}
		if list, err := tn.Pending(t.Context(), "t"); err != nil || len(list.Items) != 0 {
			t.Errorf("pending: %+v, %v", list, err)
		}
		time.Sleep(time.Hour)
		if runs, err := tn.Store.ListRuns(t.Context(), awaken.RunQuery{ThreadID: "t"}); err != nil || len(runs) != 1 {
			t.Errorf("%d runs, %v: a summary is no reason for one", len(runs), err)
		}
		r := g.submit(tn, say("t", "again"))
		time.Sleep(time.Minute)
		g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "")
		if items, _ := tn.Store.Unread(t.Context(), "t"); len(items) != 0 {
			t.Errorf("the inbox has %d items", len(items))
		}
	})
}
