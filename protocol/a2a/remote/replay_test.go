package remote_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/protocol/protocoltest"
	"github.com/awaken-go/awaken/trace/replay/replaytest"
)

// replays takes the server away and replays a run of the side: it equals its record, and nothing is asked of the server.
func (s *side) replays(srv *theirs, runID string) {
	s.t.Helper()
	srv.CloseClientConnections()
	srv.Close()
	before := srv.sent()
	res, err := replaytest.Play(s.t.Context(), s.config(), s.db.Store(""), runID)
	if err != nil {
		s.t.Fatalf("the replay: %v", err)
	}
	if res.Runs == 0 || len(res.NotCompared) > 0 {
		s.t.Errorf("the replay is %+v", res)
	}
	if after := srv.sent(); len(after) != len(before) {
		s.t.Errorf("the replay sent %v", after[len(before):])
	}
}

// Runs of remote agents replay when their server is gone.
func TestReplay_WithoutTheServer(t *testing.T) {
	for name, run := range map[string]func(t *testing.T, srv *theirs, s *side, rt *engine.Runtime) string{
		"an answer": func(t *testing.T, srv *theirs, s *side, rt *engine.Runtime) string {
			res, err := rt.Run(t.Context(), say("slow", "t", "hi"), nil)
			if err != nil || res.Response != protocoltest.SlowText {
				t.Fatalf("got %+v, %v", res, err)
			}
			return res.RunID
		},
		"a second message": func(t *testing.T, srv *theirs, s *side, rt *engine.Runtime) string {
			if _, err := rt.Run(t.Context(), say("slow", "t", "hi"), nil); err != nil {
				t.Fatal(err)
			}
			res, err := rt.Run(t.Context(), say("slow", "t", "again"), nil)
			if err != nil || res.Response != protocoltest.SlowText {
				t.Fatalf("got %+v, %v", res, err)
			}
			return res.RunID
		},
		"a question": func(t *testing.T, srv *theirs, s *side, rt *engine.Runtime) string {
			res, err := rt.Run(t.Context(), say("again", "t", "hi"), nil)
			if err != nil || res.Status != awaken.RunWaiting {
				t.Fatalf("got %+v, %v", res, err)
			}
			res, err = rt.Resume(t.Context(), res.RunID, nil, res.Waiting.Tickets[0].Approve())
			if err != nil || res.Response != "done" {
				t.Fatalf("got %+v, %v", res, err)
			}
			return res.RunID
		},
		"a refusal": func(t *testing.T, srv *theirs, s *side, rt *engine.Runtime) string {
			res, err := rt.Run(t.Context(), say("again", "t", "hi"), nil)
			if err != nil || res.Status != awaken.RunWaiting {
				t.Fatalf("got %+v, %v", res, err)
			}
			res, err = rt.Resume(t.Context(), res.RunID, nil, res.Waiting.Tickets[0].Reject("not today"))
			if err != nil {
				t.Fatal(err)
			}
			return res.RunID
		},
		"a delegate": func(t *testing.T, srv *theirs, s *side, rt *engine.Runtime) string {
			res, err := rt.Run(t.Context(), say("boss", "t", "hi"), nil)
			if err != nil || res.Response != "all done" {
				t.Fatalf("got %+v, %v", res, err)
			}
			return res.RunID
		},
		"a server that is away": func(t *testing.T, srv *theirs, s *side, rt *engine.Runtime) string {
			res, err := rt.Run(t.Context(), say("none", "t", "hi"), nil)
			if err == nil || !strings.Contains(err.Error(), "none") {
				t.Fatalf("got %+v, %v", res, err)
			}
			return res.RunID
		},
		"a cancelled run": func(t *testing.T, srv *theirs, s *side, rt *engine.Runtime) string {
			srv.rig.Slow = make(chan struct{})
			var once sync.Once
			h := &heard{each: func(ev awaken.Event) {
				if _, ok := ev.(*awaken.TextDelta); ok {
					once.Do(func() {
						go func() {
							if err := rt.Cancel(context.WithoutCancel(t.Context()), "t"); err != nil {
								t.Error(err)
							}
						}()
					})
				}
			}}
			res, err := rt.Run(t.Context(), say("slow", "t", "hi"), h)
			if err != nil || res.Termination.Type != awaken.Cancelled {
				t.Fatalf("got %+v, %v", res, err)
			}
			return res.RunID
		},
		"a lost owner": func(t *testing.T, srv *theirs, s *side, rt *engine.Runtime) string {
			ctx, lose := lost(t)
			var once sync.Once
			h := &heard{each: func(ev awaken.Event) {
				if _, ok := ev.(*awaken.TextDelta); ok {
					once.Do(lose)
				}
			}}
			if _, err := rt.Run(ctx, say("slow", "t", "hi"), h); !errors.Is(err, awaken.ErrFenced) {
				t.Fatalf("the first owner ended with %v", err)
			}
			th, err := s.db.Store("").Thread(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			res, err := s.runtime().Run(t.Context(), awaken.RunRequest{Continue: th.OpenRunID}, nil)
			if err != nil || res.Response != protocoltest.SlowText {
				t.Fatalf("got %+v, %v", res, err)
			}
			return res.RunID
		},
		"a cancelled question": func(t *testing.T, srv *theirs, s *side, rt *engine.Runtime) string {
			res, err := rt.Run(t.Context(), say("again", "t", "hi"), nil)
			if err != nil || res.Status != awaken.RunWaiting {
				t.Fatalf("got %+v, %v", res, err)
			}
			if err := rt.Cancel(t.Context(), res.RunID); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the run has ended", func() bool {
				run, err := s.db.Store("").LoadRun(t.Context(), res.RunID)
				return err == nil && run.Status == awaken.RunDone
			})
			return res.RunID
		},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, options string) {
				srv, s := newTheirs(t, nil), newSide(t)
				s.far("slow", srv.URL+"/v1/a2a", "slow", options)
				s.far("again", srv.URL+"/v1/a2a", "again", options)
				s.far("none", srv.URL+"/v1/a2a", "none", options)
				s.boss("slow")
				s.replays(srv, run(t, srv, s, s.runtime()))
			})
		})
	}
}
