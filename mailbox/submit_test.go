package mailbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

func TestSubmit_RemembersTheKeyOfInputThatARunRead(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		g.submit(tn, say("t", "use wait"))
		time.Sleep(time.Second)
		s := say("t", "steer")
		s.Mode, s.IdempotencyKey, s.Digest = mailbox.ModeSteer, "k", "d"
		r1 := g.submit(tn, s)
		s = say("t", "steer")
		s.Mode, s.IdempotencyKey, s.Digest = mailbox.ModeSteer, "k", "d"
		r2 := g.submit(tn, s)
		items, err := tn.Store.Unread(t.Context(), "t")
		if r1.Duplicate || !r2.Duplicate || len(items) != 1 || err != nil {
			t.Errorf("%+v %+v, %d items, %v", r1, r2, len(items), err)
		}
		time.Sleep(time.Hour)
		run := g.wantRun(tn, r1.RunID, awaken.RunDone, awaken.NaturalEnd, "you said steer")
		if r2.RunID != r1.RunID || run.Steps != 2 {
			t.Errorf("%+v %+v, %d steps", r1, r2, run.Steps)
		}
	})
}

func TestSubmit_RemembersTheKeyOfInputThatJoinsAnotherWakeUp(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		stop := work(b)
		tn := b.Tenant("")
		g.submit(tn, say("t", "use ask"))
		time.Sleep(time.Second)
		stop()
		var last *mailbox.Receipt
		for _, k := range []string{"k1", "k2", "k2"} {
			s := say("t", "hello")
			s.IdempotencyKey, s.Digest = k, "d"
			last = g.submit(tn, s)
		}
		items, _ := tn.Store.Unread(t.Context(), "t")
		if !last.Duplicate || len(items) != 2 {
			t.Errorf("%+v, %d items", last, len(items))
		}
	})
}

// Input that names a run which exists and does not take it is refused: the run would end without it.
func TestSubmit_ARunThatExistsIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		again := func(mode mailbox.Mode) error {
			s := say("a", "again")
			s.Request.RunID, s.Mode = "r", mode
			_, err := tn.Submit(t.Context(), s)
			return err
		}
		s := say("a", "slow")
		s.Request.RunID = "r"
		g.submit(tn, s)
		time.Sleep(time.Second)
		if err := again(mailbox.ModeQueue); !errors.Is(err, awaken.ErrConflict) {
			t.Errorf("while it runs: %v, want a conflict", err)
		}
		if err := again(mailbox.ModeInterrupt); !errors.Is(err, awaken.ErrConflict) {
			t.Errorf("an interrupt: %v, want a conflict", err)
		}
		if err := again(mailbox.ModeSteer); err != nil {
			t.Errorf("input for the run itself: %v", err)
		}
		time.Sleep(3 * time.Minute)
		g.wantRun(tn, "r", awaken.RunDone, awaken.NaturalEnd, "you said again")
		if err := again(mailbox.ModeQueue); !errors.Is(err, awaken.ErrConflict) {
			t.Errorf("after its end: %v, want a conflict", err)
		}
		if err := tn.Start(t.Context(), awaken.RunRequest{ThreadID: "a", RunID: "r", Messages: s.Request.Messages}); err != nil {
			t.Errorf("Start: %v, want none: it has started", err)
		}
	})
}

// One run id that is submitted to several threads at the same moment starts one run. The other inputs are
// refused, and none is accepted without a run that takes it.
func TestSubmit_ARunOfSeveralThreadsIsStartedOnce(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		for _, mode := range []mailbox.Mode{mailbox.ModeQueue, mailbox.ModeInterrupt} {
			errs := make(chan error)
			for i := range 8 {
				go func() {
					s := say(fmt.Sprint(mode, i), "hello")
					s.Request.RunID, s.Mode = "run-"+string(mode), mode
					_, err := tn.Submit(t.Context(), s)
					errs <- err
				}()
			}
			accepted := 0
			for range 8 {
				if err := <-errs; err == nil {
					accepted++
				} else if !errors.Is(err, awaken.ErrConflict) {
					t.Errorf("error is %v, want ErrConflict", err)
				}
			}
			if accepted != 1 {
				t.Errorf("%s: %d were accepted, want 1", mode, accepted)
			}
			time.Sleep(time.Hour)
			g.wantRun(tn, "run-"+string(mode), awaken.RunDone, awaken.NaturalEnd, "you said hello")
		}
	})
}

// A run that begins with records of another log, calls and results among them, is stored with them in one write, and only on an idle thread.
func TestSubmit_ALoggedRunBeginsWithCallsAndResults(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		defer work(b)()
		tn := b.Tenant("")
		logged := func(thread string) mailbox.Submission {
			s := say(thread, "look")
			s.Request.Messages = append(s.Request.Messages,
				&llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "c", Name: "look", Arguments: json.RawMessage("{}")}}},
				&llm.Message{Role: llm.ToolRole, ToolCallID: "c", Content: []llm.Block{llm.Text("another result")}})
			s.Logged = true
			return s
		}
		s := logged("a")
		s.Logged = false
		if _, err := tn.Submit(t.Context(), s); !errors.Is(err, awaken.ErrInvalid) {
			t.Errorf("messages of a client that answer calls: %v", err)
		}
		r := g.submit(tn, logged("a"))
		time.Sleep(time.Second)
		run := g.wantRun(tn, r.RunID, awaken.RunDone, awaken.NaturalEnd, "")
		if run.Input.FromSeq != 1 || run.Input.ToSeq != 3 {
			t.Errorf("the input is %+v", run.Input)
		}
		log, err := tn.Store.Messages(t.Context(), "a", awaken.MessageQuery{})
		if err != nil || len(log) != 4 || log[2].Message.Text() != "another result" {
			t.Errorf("%d messages, %v", len(log), err)
		}
		s = logged("b")
		s.Request.Messages = s.Request.Messages[:2]
		if _, err := tn.Submit(t.Context(), s); !errors.Is(err, awaken.ErrInvalid) {
			t.Errorf("a call without a result: %v", err)
		}
		g.submit(tn, say("b", "use ask"))
		time.Sleep(time.Second)
		if _, err := tn.Submit(t.Context(), logged("b")); !errors.Is(err, awaken.ErrBusy) {
			t.Errorf("on a thread whose run waits: %v", err)
		}
	})
}

// A run's state holds the request of a background task, and is streamed while the task is started.
func TestSubmit_LeavesTheMessagesOfItsCallerAlone(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.box()
		tn := b.Tenant("")
		for name, submit := range map[string]func(msgs []*llm.Message) error{
			"submit": func(msgs []*llm.Message) error {
				_, err := tn.Submit(t.Context(), mailbox.Submission{Request: awaken.RunRequest{ThreadID: "submit", AgentID: "agent", Messages: msgs}})
				return err
			},
			"start": func(msgs []*llm.Message) error {
				return tn.Start(t.Context(), awaken.RunRequest{ThreadID: "start", RunID: "task", AgentID: "agent", Messages: msgs})
			},
			"edit": func(msgs []*llm.Message) error {
				r := g.submit(tn, say("edit", "hello"))
				return tn.EditPending(t.Context(), "edit", r.DispatchID, 0, msgs)
			},
		} {
			msgs := []*llm.Message{{ID: "given", Role: llm.User, Content: []llm.Block{llm.Text("a")}}, llm.UserText("b")}
			before, second := slices.Clone(msgs), *msgs[1]
			stop, read := make(chan struct{}), make(chan struct{})
			go func() { // as a reader of the live log does
				defer close(read)
				for {
					for _, m := range msgs {
						_, _ = m.AppendJSON(nil)
					}
					select {
					case <-stop:
						return
					default:
						runtime.Gosched()
					}
				}
			}()
			err := submit(msgs)
			close(stop)
			<-read
			if err != nil {
				t.Fatal(name, err)
			}
			if !slices.Equal(msgs, before) || msgs[1].ID != second.ID {
				t.Errorf("%s gave the caller's message the id %q", name, msgs[1].ID)
			}
		}
		stop := work(b)
		time.Sleep(time.Second)
		stop()
		for _, thread := range []string{"submit", "start", "edit"} {
			msgs, err := tn.Store.Messages(t.Context(), thread, awaken.MessageQuery{})
			if err != nil || len(msgs) < 2 {
				t.Fatalf("thread %s has %d messages, %v", thread, len(msgs), err)
			}
			for _, m := range msgs {
				if m.Message.ID == "" {
					t.Errorf("thread %s has a message without an id: %s", thread, m.Message.Text())
				}
			}
		}
	})
}
