package remote_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/protocol/a2a/remote"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

func TestRoot_StreamsAndReusesItsContext(t *testing.T) {
	both(t, func(t *testing.T, options string) {
		srv, s := newTheirs(t, nil), newSide(t)
		s.far("far", srv.URL+"/v1/a2a", "slow", options)
		h := &heard{}
		res, err := s.runtime().Run(t.Context(), say("far", "t", "hi"), h)
		if err != nil || res.Response != protocoltest.SlowText || h.text != protocoltest.SlowText {
			t.Fatalf("got %+v, %v, heard %q", res, err, h.text)
		}
		if h.pieces < 3 {
			t.Errorf("the answer came in %d pieces, want it streamed", h.pieces)
		}
		if res, err = s.runtime().Run(t.Context(), say("far", "t", "again"), nil); err != nil || res.Response != protocoltest.SlowText {
			t.Fatalf("got %+v, %v", res, err)
		}
		runs := srv.runs()
		if len(runs) != 2 || runs[0].ThreadID != runs[1].ThreadID {
			t.Errorf("the server has %d runs, want two in one context: %+v", len(runs), runs)
		}
		if sent := srv.sent(); len(sent) != 2 || sent[0] == sent[1] {
			t.Errorf("sent %v", sent)
		}
	})
}

func TestRoot_QuestionsAreTicketsAndDecisionsAnswers(t *testing.T) {
	both(t, func(t *testing.T, options string) {
		for _, approve := range []bool{true, false} {
			srv, s := newTheirs(t, nil), newSide(t)
			s.far("far", srv.URL+"/v1/a2a", "again", options)
			res, err := s.runtime().Run(t.Context(), say("far", "t", "hi"), nil)
			if err != nil || res.Status != awaken.RunWaiting || len(res.Waiting.Tickets) != 1 || res.Waiting.Tickets[0].Reason != "May I?" {
				t.Fatalf("got %+v, %v", res, err)
			}
			ticket := res.Waiting.Tickets[0]
			if ticket.ToolName != remote.QuestionTool || !strings.Contains(string(ticket.Arguments), `"tool":"ask"`) {
				t.Errorf("the ticket is %+v, arguments %s", ticket, ticket.Arguments)
			}
			d := ticket.Approve()
			if !approve {
				d = ticket.Reject("not today")
			}
			// Another process continues the run.
			res, err = s.runtime().Resume(t.Context(), res.RunID, nil, d)
			if err != nil || res.Response != "done" {
				t.Fatalf("got %+v, %v", res, err)
			}
			runs := srv.runs()
			if len(runs) != 1 || runs[0].Status != awaken.RunDone {
				t.Fatalf("the server has %+v", runs)
			}
			calls, err := srv.rig.Box.Tenant("").Store.Calls(t.Context(), runs[0].RunID)
			if err != nil || len(calls) != 1 || (calls[0].Status == awaken.CallSucceeded) != approve {
				t.Errorf("approve %v: the call is %+v, %v", approve, calls, err)
			}
			if !approve && calls[0].Decision.Reason != "not today" {
				t.Errorf("the reason is %q", calls[0].Decision.Reason)
			}
		}
	})
}

func TestRoot_AMessageContinuesATaskThatWaits(t *testing.T) {
	srv, s := newTheirs(t, nil), newSide(t)
	s.far("far", srv.URL+"/v1/a2a", "again", "")
	rt := s.runtime()
	res, err := rt.Run(t.Context(), say("far", "t", "hi"), nil)
	if err != nil || res.Status != awaken.RunWaiting {
		t.Fatalf("got %+v, %v", res, err)
	}
	next := say("far", "t", "never mind")
	res, err = rt.Run(t.Context(), next, nil)
	if err != nil || res.Status != awaken.RunWaiting { // it asks on every message
		t.Fatalf("got %+v, %v", res, err)
	}
	if runs := srv.runs(); len(runs) != 1 {
		t.Errorf("the server has %d tasks, want the first to continue", len(runs))
	}
}

func TestRoot_CancellingTheRunCancelsTheTask(t *testing.T) {
	both(t, func(t *testing.T, options string) {
		slow := make(chan struct{})
		defer close(slow)
		srv, s := newTheirs(t, slow), newSide(t)
		s.far("far", srv.URL+"/v1/a2a", "slow", options)
		rt := s.runtime()
		var once sync.Once
		began := make(chan struct{})
		h := &heard{each: func(ev awaken.Event) {
			if _, ok := ev.(*awaken.TextDelta); ok {
				once.Do(func() { close(began) })
			}
		}}
		go func() {
			<-began
			if err := rt.Cancel(context.WithoutCancel(t.Context()), "t"); err != nil {
				t.Error(err)
			}
		}()
		res, err := rt.Run(t.Context(), say("far", "t", "hi"), h)
		if err != nil || res.Termination.Type != awaken.Cancelled {
			t.Fatalf("got %+v, %v", res, err)
		}
		eventually(t, "the task is cancelled", func() bool {
			runs := srv.runs()
			return len(runs) == 1 && runs[0].Status == awaken.RunDone && runs[0].Termination.Type == awaken.Cancelled
		})
	})
}

// A run that is cancelled before the server has said which task its message started cancels that task too.
func TestRoot_CancellingTheRunCancelsATaskThatIsNotKnownYet(t *testing.T) {
	slow := make(chan struct{})
	defer close(slow)
	srv, s := newTheirs(t, slow), newSide(t)
	s.far("far", srv.URL+"/v1/a2a", "slow", `{"streaming":false,"return_immediately":false}`)
	rt := s.runtime()
	go func() {
		eventually(t, "the server runs the task", func() bool {
			runs := srv.runs()
			return len(runs) == 1 && runs[0].Status == awaken.RunRunning
		})
		if err := rt.Cancel(context.WithoutCancel(t.Context()), "t"); err != nil {
			t.Error(err)
		}
	}()
	res, err := rt.Run(t.Context(), say("far", "t", "hi"), nil)
	if err != nil || res.Termination.Type != awaken.Cancelled {
		t.Fatalf("got %+v, %v", res, err)
	}
	eventually(t, "the task is cancelled", func() bool {
		runs := srv.runs()
		return runs[0].Status == awaken.RunDone && runs[0].Termination.Type == awaken.Cancelled
	})
}

func TestRoot_CancellingAWaitingRunCancelsTheTask(t *testing.T) {
	srv, s := newTheirs(t, nil), newSide(t)
	s.far("far", srv.URL+"/v1/a2a", "again", "")
	rt := s.runtime()
	res, err := rt.Run(t.Context(), say("far", "t", "hi"), nil)
	if err != nil || res.Status != awaken.RunWaiting {
		t.Fatalf("got %+v, %v", res, err)
	}
	if err := rt.Cancel(t.Context(), res.RunID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the task is cancelled", func() bool {
		run, err := s.db.Store("").LoadRun(t.Context(), res.RunID)
		theirs := srv.runs()
		return err == nil && run.Status == awaken.RunDone && len(theirs) == 1 && theirs[0].Status == awaken.RunDone
	})
	if got := srv.runs()[0].Termination.Type; got != awaken.Cancelled {
		t.Errorf("the task ended with %s", got)
	}
}

func TestRoot_ServerDiesAndComesBack(t *testing.T) {
	both(t, func(t *testing.T, options string) {
		slow := make(chan struct{})
		srv, s := newTheirs(t, slow), newSide(t)
		s.far("far", srv.URL+"/v1/a2a", "slow", options)
		var once sync.Once
		h := &heard{each: func(ev awaken.Event) {
			if _, ok := ev.(*awaken.TextDelta); ok {
				once.Do(func() {
					srv.set(func() { srv.down = true })
					srv.CloseClientConnections()
					go func() {
						close(slow) // the task goes its way meanwhile
						srv.set(func() { srv.down = false })
					}()
				})
			}
		}}
		res, err := s.runtime().Run(t.Context(), say("far", "t", "hi"), h)
		if err != nil || res.Response != protocoltest.SlowText || h.text != protocoltest.SlowText {
			t.Fatalf("got %+v, %v, heard %q", res, err, h.text)
		}
		if sent := srv.sent(); len(sent) != 1 {
			t.Errorf("sent %v, want one message", sent)
		}
	})
}

// lost returns a context that is cancelled as if the run's owner had lost it: it writes nothing any more.
func lost(t *testing.T) (ctx context.Context, lose func()) {
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, func() { cancel(awaken.ErrFenced) }
}

func TestTakeover_FollowsTheTaskAndSendsNothingAgain(t *testing.T) {
	for _, at := range []string{"when the message arrives", "while it is answered", "when it is answered"} {
		both(t, func(t *testing.T, options string) {
			t.Run(at, func(t *testing.T) {
				slow := make(chan struct{})
				srv, s := newTheirs(t, slow), newSide(t)
				s.far("far", srv.URL+"/v1/a2a", "slow", options)
				ctx, lose := lost(t)
				var once sync.Once
				h := &heard{each: func(ev awaken.Event) {
					if _, ok := ev.(*awaken.TextDelta); ok && at == "while it is answered" {
						once.Do(lose)
					}
					if _, ok := ev.(*awaken.InferenceComplete); ok {
						once.Do(lose)
					}
				}}
				switch at {
				case "when the message arrives":
					srv.on = func(r *http.Request, method string) bool {
						if method == "SendStreamingMessage" {
							// The server gets it, and the client dies before it knows.
							go once.Do(func() {
								eventually(t, "the server has the message", func() bool { return len(srv.runs()) == 1 })
								lose()
							})
						}
						return true
					}
				case "when it is answered":
					close(slow)
				}
				if _, err := s.runtime().Run(ctx, say("far", "t", "hi"), h); !errors.Is(err, awaken.ErrFenced) {
					t.Fatalf("the first owner ended with %v", err)
				}
				if at != "when it is answered" {
					close(slow)
				}
				th, err := s.db.Store("").Thread(t.Context(), "t")
				if err != nil || th.OpenRunID == "" {
					t.Fatalf("the thread is %+v, %v", th, err)
				}
				res, err := s.runtime().Run(t.Context(), awaken.RunRequest{Continue: th.OpenRunID}, nil)
				if err != nil || res.Response != protocoltest.SlowText {
					t.Fatalf("got %+v, %v", res, err)
				}
				if sent := srv.sent(); len(sent) != 1 {
					t.Errorf("sent %v, want one message", sent)
				}
				if runs := srv.runs(); len(runs) != 1 {
					t.Errorf("the server has %d tasks", len(runs))
				}
			})
		})
	}
}

func TestTakeover_AMessageThatNeverArrivedIsSentOnce(t *testing.T) {
	srv, s := newTheirs(t, nil), newSide(t)
	s.far("far", srv.URL+"/v1/a2a", "slow", "")
	ctx, lose := lost(t)
	srv.on = func(_ *http.Request, method string) bool {
		if method != "SendStreamingMessage" {
			return true
		}
		lose()
		return false // it does not reach the server
	}
	if _, err := s.runtime().Run(ctx, say("far", "t", "hi"), nil); !errors.Is(err, awaken.ErrFenced) {
		t.Fatalf("the first owner ended with %v", err)
	}
	srv.set(func() { srv.on = nil })
	th, err := s.db.Store("").Thread(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.runtime().Run(t.Context(), awaken.RunRequest{Continue: th.OpenRunID}, nil)
	if err != nil || res.Response != protocoltest.SlowText {
		t.Fatalf("got %+v, %v", res, err)
	}
	if sent := srv.sent(); len(sent) != 2 || sent[0] != sent[1] {
		t.Errorf("sent %v, want the same message again", sent)
	}
	if runs := srv.runs(); len(runs) != 1 {
		t.Errorf("the server has %d tasks", len(runs))
	}
}

func TestDelegate_StreamsAndAnswers(t *testing.T) {
	both(t, func(t *testing.T, options string) {
		srv, s := newTheirs(t, nil), newSide(t)
		s.far("far", srv.URL+"/v1/a2a", "slow", options)
		s.boss("far")
		h := &heard{}
		res, err := s.runtime().Run(t.Context(), say("boss", "t", "hi"), h)
		if err != nil || res.Response != "all done" {
			t.Fatalf("got %+v, %v", res, err)
		}
		if !strings.HasPrefix(h.text, protocoltest.SlowText) || h.pieces < 4 {
			t.Errorf("heard %q in %d pieces", h.text, h.pieces)
		}
		if run, err := s.db.Store("").LoadRun(t.Context(), res.RunID); err != nil || run.Taint == nil || run.Taint.Tool != "a2a" {
			t.Errorf("the run that took the answer is %+v, %v, want it tainted", run, err)
		}
	})
}

func TestDelegate_TicketsGoUpAndDecisionsDown(t *testing.T) {
	both(t, func(t *testing.T, options string) {
		srv, s := newTheirs(t, nil), newSide(t)
		s.far("far", srv.URL+"/v1/a2a", "again", options)
		s.boss("far")
		res, err := s.runtime().Run(t.Context(), say("boss", "t", "hi"), nil)
		if err != nil || res.Status != awaken.RunWaiting || len(res.Waiting.Tickets) != 1 || res.Waiting.Tickets[0].Reason != "May I?" {
			t.Fatalf("got %+v, %v", res, err)
		}
		s.llms["boss"] = scriptDone() // the script of another process begins anew
		res, err = s.runtime().Resume(t.Context(), res.RunID, nil, res.Waiting.Tickets[0].Approve())
		if err != nil || res.Response != "all done" {
			t.Fatalf("got %+v, %v", res, err)
		}
		if runs := srv.runs(); len(runs) != 1 || runs[0].Termination.Type != awaken.NaturalEnd {
			t.Errorf("the server has %+v", runs)
		}
	})
}

func TestDelegate_IsCancelledWithItsParent(t *testing.T) {
	slow := make(chan struct{})
	defer close(slow)
	srv, s := newTheirs(t, slow), newSide(t)
	s.far("far", srv.URL+"/v1/a2a", "slow", "")
	s.boss("far")
	rt := s.runtime()
	var once sync.Once
	h := &heard{each: func(ev awaken.Event) {
		if _, ok := ev.(*awaken.ToolCallStreamDelta); ok {
			once.Do(func() {
				go func() {
					if err := rt.Cancel(context.Background(), "t"); err != nil {
						t.Error(err)
					}
				}()
			})
		}
	}}
	if res, err := rt.Run(t.Context(), say("boss", "t", "hi"), h); err != nil || res.Termination.Type != awaken.Cancelled {
		t.Fatalf("got %+v, %v", res, err)
	}
	eventually(t, "the task is cancelled", func() bool {
		runs := srv.runs()
		return len(runs) == 1 && runs[0].Status == awaken.RunDone && runs[0].Termination.Type == awaken.Cancelled
	})
}

func TestDelegate_SharesAContextIfTheEndpointSaysSo(t *testing.T) {
	srv, s := newTheirs(t, nil), newSide(t)
	s.far("far", srv.URL+"/v1/a2a", "slow", `{"context":"parent"}`)
	s.boss("far")
	for range 2 {
		s.llms["boss"] = scriptAgain()
		if res, err := s.runtime().Run(t.Context(), say("boss", "t", "hi"), nil); err != nil || res.Response != "all done" {
			t.Fatalf("got %+v, %v", res, err)
		}
	}
	if runs := srv.runs(); len(runs) != 2 || runs[0].ThreadID != runs[1].ThreadID {
		t.Errorf("the server has %+v, want two tasks in one context", runs)
	}
}

func TestRun_IsAnOrdinaryRun(t *testing.T) {
	srv, s := newTheirs(t, nil), newSide(t)
	s.far("far", srv.URL+"/v1/a2a", "slow", "")
	h := &heard{}
	res, err := s.runtime().Run(t.Context(), say("far", "t", "hi"), h)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, ev := range h.events {
		switch ev.(type) {
		case *awaken.RunStart:
			kinds = append(kinds, "run_start")
		case *awaken.StepStart:
			kinds = append(kinds, "step_start")
		case *awaken.InferenceComplete:
			kinds = append(kinds, "inference_complete")
		case *awaken.StepEnd:
			kinds = append(kinds, "step_end")
		case *awaken.RunFinish:
			kinds = append(kinds, "run_finish")
		}
	}
	if want := []string{"run_start", "step_start", "inference_complete", "step_end", "run_finish"}; !slices.Equal(kinds, want) {
		t.Errorf("got %v, want %v", kinds, want)
	}
	run, err := s.db.Store("").LoadRun(t.Context(), res.RunID)
	if err != nil || run.FinalOutput != protocoltest.SlowText || run.Steps != 1 {
		t.Errorf("the record is %+v, %v", run, err)
	}
}

// scriptDone is the rest of what boss does, and scriptAgain all of it.
func scriptDone() llm.Model { return llmtest.NewScript(llmtest.Say("all done")) }

func scriptAgain() llm.Model {
	return llmtest.NewScript(llmtest.Use("agent_run_far", `{"prompt":"go"}`), llmtest.Say("all done"))
}
