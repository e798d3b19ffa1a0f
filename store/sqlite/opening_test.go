package sqlite_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
)

// witness is a plugin that counts how often its guard is asked, and follows runs.
type witness struct {
	asked, followed, ended atomic.Int64
	guards                 bool
}

func (w *witness) Name() string { return "witness" }

func (w *witness) Register(r *awaken.Registrar) error {
	if w.guards {
		r.Guard(awaken.InputPoint, func(context.Context, *awaken.HookCall, *awaken.Passage) (awaken.Verdict, error) {
			w.asked.Add(1)
			return awaken.Allow(), nil
		})
	}
	return nil
}

func (w *witness) Follow(ctx context.Context, _ *awaken.RunInfo, _ *awaken.AgentSpec, _ string) (context.Context, awaken.Sink) {
	w.followed.Add(1)
	return ctx, follower{w: w}
}

// follower counts the activations that end.
type follower struct {
	engine.Follower
	w *witness
}

func (f follower) Emit(context.Context, awaken.Entry) error { return nil }
func (f follower) End(*awaken.RunResult, error)             { f.w.ended.Add(1) }
func (f follower) BeginPart(ctx context.Context, _, _ string) context.Context {
	return ctx
}
func (f follower) EndPart(context.Context, error) {}
func (f follower) BeginRequest(ctx context.Context, _ *awaken.ModelSpec, _ *llm.Request) context.Context {
	return ctx
}
func (f follower) EndRequest(context.Context, *awaken.ModelSpec, *awaken.InferenceComplete, *llm.Collector, error) {
}

// A run that is opened before it is accepted, and then is not, has had no effect: its guards are asked once, and its observers are told of one
// activation that ended. The second process knows nothing of the thread, so the store refuses what it opens.
func TestOpening_RefusedRunHasNoEffect(t *testing.T) {
	for _, guards := range []bool{false, true} {
		t.Run(map[bool]string{true: "with guards", false: "without guards"}[guards], func(t *testing.T) {
			path := newFile(t)
			w := &witness{guards: guards}
			for i := range 2 {
				db := openAt(t, path, nil)
				rt, err := engine.New(engine.Config{
					Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{"witness"}}},
					Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
					Providers: map[string]llm.Model{"p": llmtest.NewScript(llmtest.Say("ok"), llmtest.Say("ok"), llmtest.Say("ok"))},
					Plugins:   []awaken.Plugin{w},
				})
				if err != nil {
					t.Fatal(err)
				}
				box, err := mailbox.New(mailbox.Config{Queue: db, Poll: 10 * time.Millisecond}, rt.With)
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				over := make(chan error, 1)
				go func() { over <- box.Work(ctx) }()
				for _, thread := range []string{fmt.Sprint("first of process ", i), "t", "t"} { // the worker has begun after the first
					w.asked.Store(0)
					w.ended.Store(0)
					r, err := box.Tenant("").Submit(ctx, mailbox.Submission{Request: awaken.RunRequest{ThreadID: thread, AgentID: "default", Messages: []*llm.Message{llm.UserText("hi")}}})
					if err != nil {
						t.Fatal(err)
					}
					for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
						run, err := db.Store("").LoadRun(ctx, r.RunID)
						if err == nil && run.Status == awaken.RunDone && w.ended.Load() > 0 {
							break
						}
						if time.Now().After(deadline) {
							t.Fatalf("run %+v, %v", run, err)
						}
					}
					if n := w.ended.Load(); n != 1 {
						t.Errorf("%d activations ended, want 1", n)
					}
					if n := w.asked.Load(); guards && n != 1 {
						t.Errorf("the guard was asked %d times, want 1", n)
					}
				}
				stop()
				if err := <-over; err != nil {
					t.Fatal(err)
				}
			}
			if n := w.followed.Load(); n <= 6 {
				t.Errorf("%d activations were followed: no run was opened and refused, want at least one", n)
			}
		})
	}
}
