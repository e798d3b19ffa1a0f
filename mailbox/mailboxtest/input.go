package mailboxtest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// speaker is a model that answers at once, except a message "hold": it then waits until it is
// released or cancelled.
type speaker struct {
	holds   chan struct{} // receives when it begins to wait
	release chan struct{} // closed to release it
}

func (s *speaker) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var asked string
		for _, m := range req.Messages.All() {
			if m.Role == llm.User {
				asked = m.Text()
			}
		}
		if asked == "hold" {
			s.holds <- struct{}{}
			select {
			case <-s.release:
			case <-ctx.Done():
				yield(llm.Delta{}, ctx.Err())
				return
			}
		}
		if yield(llm.Delta{Kind: llm.TextDelta, Text: "answer to " + asked}, nil) {
			yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
		}
	}
}

// talk is a thread "t" and the workers that run it.
type talk struct {
	*kit
	speaker
	boxes []*mailbox.Mailbox // one for each process
	begun bool
	then  func() // what to check at the end, if not nil
}

// newTalk returns a talk. If beside is set, its workers have begun, and a run is in flight.
func newTalk(k *kit, beside bool) *talk {
	k.Helper()
	t := &talk{kit: k, speaker: speaker{holds: make(chan struct{}, 1), release: make(chan struct{})}}
	for _, q := range k.queues() {
		rt, err := engine.New(engine.Config{
			Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
			Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
			Providers: map[string]llm.Model{"p": &t.speaker},
		})
		if err != nil {
			k.Fatal(err)
		}
		b, err := mailbox.New(mailbox.Config{Queue: q, Poll: 20 * time.Millisecond}, rt.With)
		if err != nil {
			k.Fatal(err)
		}
		t.boxes = append(t.boxes, b)
	}
	if beside {
		t.work()
		t.say("hold", mailbox.ModeQueue)
		<-t.holds
	}
	return t
}

// work starts the workers.
func (t *talk) work() {
	if t.begun {
		return
	}
	t.begun = true
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	for _, b := range t.boxes {
		wg.Go(func() {
			if err := b.Work(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("work: %v", err)
			}
		})
	}
	t.Cleanup(func() { cancel(); wg.Wait() })
}

func (t *talk) tenant() *mailbox.Tenant { return t.boxes[0].Tenant("") }

// say submits a message whose ID is its text.
func (t *talk) say(text string, mode mailbox.Mode, change ...func(*mailbox.Submission)) *mailbox.Receipt {
	t.Helper()
	return t.sayBy(t.tenant(), text, mode, change...)
}

func (t *talk) sayBy(tn *mailbox.Tenant, text string, mode mailbox.Mode, change ...func(*mailbox.Submission)) *mailbox.Receipt {
	t.Helper()
	m := llm.UserText(text)
	m.ID = text
	s := mailbox.Submission{Mode: mode, Request: awaken.RunRequest{ThreadID: "t", AgentID: "default", Messages: []*llm.Message{m}}}
	for _, c := range change {
		c(&s)
	}
	r, err := tn.Submit(t.Context(), s)
	if err != nil {
		t.Fatalf("say %q: %v", text, err)
	}
	return r
}

// settled lets the workers finish everything and returns what users said.
func (t *talk) settled() (said []string) {
	t.Helper()
	close(t.release)
	t.work()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		live, err := t.store.Dispatches(t.Context(), mailbox.Query{ThreadID: "t", Statuses: []mailbox.Status{mailbox.Queued, mailbox.Claimed}})
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%d dispatches are live, %v", len(live), err)
		}
		if len(live) == 0 {
			break
		}
	}
	msgs, err := t.store.Messages(t.Context(), "t", awaken.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range msgs {
		if m.Message.Role == llm.User {
			said = append(said, m.Message.Text())
		}
	}
	return said
}

// explain logs why messages may be in another order: attempts that failed are made again later.
func (t *talk) explain() {
	t.Helper()
	all, err := t.store.Dispatches(t.Context(), mailbox.Query{ThreadID: "t", Limit: 1000})
	if err != nil {
		t.Error(err)
	}
	for _, d := range all {
		t.Logf("dispatch %s of run %s: %s, created %d, updated %d, %d attempts, %d crashes, %q, %+v", d.ID, d.RunID, d.Status, d.CreatedAt, d.UpdatedAt, d.Attempts, d.Crashes, d.LastError, d.Failures)
	}
}

// ended checks that the runs ended before they started, and were not answered.
func (t *talk) ended(how awaken.TerminationType, rs ...*mailbox.Receipt) {
	t.Helper()
	for _, r := range rs {
		if run := t.run(r.RunID); run.Status != awaken.RunDone || run.Termination.Type != how || run.Steps != 0 {
			t.Errorf("run %s: %s, %s, %d steps", r.RunID, run.Status, run.Termination, run.Steps)
		}
	}
}

// bothWays returns a case about an idle thread, and the same beside a run in flight.
func bothWays(promise string, check func(t *talk) (want []string)) []testCase {
	var out []testCase
	for _, beside := range []bool{false, true} {
		name, before := promise, []string(nil)
		if beside {
			name, before = promise+"BesideARunInFlight", []string{"hold"}
		}
		out = append(out, testCase{name, func(k *kit) {
			t := newTalk(k, beside)
			want := slices.Concat(before, check(t))
			said := t.settled()
			if equal(k, "said", want, said); !slices.Equal(want, said) {
				t.explain()
			}
			if t.then != nil {
				t.then()
			}
		}})
	}
	return out
}

// inputCases check that what was accepted is in the thread, in the order of acceptance, however its
// run ended before it started.
var inputCases = slices.Concat(
	bothWays("OfASupersededRunIsInTheThread", func(t *talk) []string {
		a, b := t.say("a", mailbox.ModeQueue), t.say("b", mailbox.ModeQueue)
		t.say("c", mailbox.ModeInterrupt)
		t.ended(awaken.Cancelled, a, b)
		return []string{"a", "b", "c"}
	}),
	bothWays("OfACancelledRunIsInTheThread", func(t *talk) []string {
		a, b := t.say("a", mailbox.ModeQueue), t.say("b", mailbox.ModeQueue)
		t.say("c", mailbox.ModeQueue)
		for _, r := range []*mailbox.Receipt{b, a, a} {
			if err := t.tenant().Cancel(t.Context(), r.RunID); err != nil {
				t.Error(err)
			}
		}
		t.ended(awaken.Cancelled, a, b)
		return []string{"a", "b", "c"}
	}),
	bothWays("OfAnInterruptedRunIsInTheThread", func(t *talk) []string {
		a, b := t.say("a", mailbox.ModeQueue), t.say("b", mailbox.ModeQueue)
		if n, err := t.tenant().Interrupt(t.Context(), "t"); n != 2 || err != nil {
			t.Errorf("superseded %d, %v", n, err)
		}
		t.ended(awaken.Cancelled, a, b)
		return []string{"a", "b"}
	}),
	bothWays("OfADeadLetterIsInTheThread", func(t *talk) []string {
		a := t.say("a", mailbox.ModeQueue, func(s *mailbox.Submission) { s.Request.AgentID = "missing" })
		t.say("b", mailbox.ModeQueue)
		t.then = func() {
			t.ended(awaken.Failed, a)
			t.status(mailbox.DeadLetter, a.DispatchID)
		}
		return []string{"a", "b"}
	}),
	bothWays("ThatTheClientRetractedOrEditedStaysSo", func(t *talk) []string {
		a, b := t.say("a", mailbox.ModeQueue), t.say("b", mailbox.ModeQueue)
		if err := t.tenant().EditPending(t.Context(), "t", a.DispatchID, 0, []*llm.Message{llm.UserText("edited")}); err != nil {
			t.Error(err)
		}
		if err := t.tenant().RetractPending(t.Context(), "t", b.DispatchID, 0); err != nil {
			t.Error(err)
		}
		if err := t.tenant().Cancel(t.Context(), a.RunID); err != nil {
			t.Error(err)
		}
		if p, err := t.tenant().Pending(t.Context(), "t"); err != nil || len(p.Items) > 0 {
			t.Errorf("pending %+v, %v", p, err)
		}
		t.ended(awaken.Cancelled, a, b)
		return []string{"edited"}
	}),
	bothWays("ThatTheNextRequestRepeatsIsInTheThreadOnce", func(t *talk) []string {
		t.say("a", mailbox.ModeQueue)
		t.say("b", mailbox.ModeInterrupt, func(s *mailbox.Submission) {
			a := llm.UserText("a")
			a.ID = "a"
			s.Request.Messages = append([]*llm.Message{a}, s.Request.Messages...)
		})
		return []string{"a", "b"}
	}),
	[]testCase{{"OfClientsThatInterruptEachOtherIsInTheThreadOnce", func(k *kit) {
		t := newTalk(k, true)
		const clients, each = 4, 5
		var wg sync.WaitGroup
		for i := range clients {
			wg.Go(func() {
				tn := t.boxes[i%len(t.boxes)].Tenant("")
				for n := range each {
					t.sayBy(tn, fmt.Sprintf("%d-%d", i, n), mailbox.ModeInterrupt)
				}
			})
		}
		wg.Wait()
		said := t.settled()
		for i := range clients { // each client's messages are in its order
			var mine, want []string
			for n := range each {
				want = append(want, fmt.Sprintf("%d-%d", i, n))
			}
			for _, s := range said {
				if slices.Contains(want, s) {
					mine = append(mine, s)
				}
			}
			equal(k, "said", want, mine)
		}
		equal(k, "messages", 1+clients*each, len(said))
	}}},
)
