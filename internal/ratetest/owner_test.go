//go:build unix

package ratetest

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/memory"
)

func TestRequestsSayForWhomTheyAre(t *testing.T) {
	type customer struct {
		tenant     string
		background bool
	}
	seen := make(chan customer, 1)
	rt, err := engine.New(engine.Config{
		Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "upstream"}},
		Providers: map[string]llm.Model{"p": llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
			return func(yield func(llm.Delta, error) bool) {
				tenant, background := req.Caller.Customer()
				seen <- customer{tenant, background}
				yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
			}
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	box, err := mailbox.New(mailbox.Config{Queue: memory.NewDB()}, rt.With)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = box.Work(ctx) }()
	defer func() { cancel(); <-done }()
	for _, tt := range []struct {
		tenant, mode string
		priority     int
		background   bool
	}{{"", "", mailbox.DefaultPriority, false}, {"acme", "", mailbox.DefaultPriority + 1, true}, {"acme", "", 0, false}, {"", "scheduled", mailbox.DefaultPriority, true}} {
		if _, err := box.Tenant(tt.tenant).Submit(ctx, mailbox.Submission{Priority: &tt.priority, Request: awaken.RunRequest{AgentID: "default", Mode: tt.mode, Messages: []*llm.Message{llm.UserText("hi")}}}); err != nil {
			t.Fatal(err)
		}
		select {
		case r := <-seen:
			if r.tenant != tt.tenant || r.background != tt.background {
				t.Errorf("%+v: the request is for %+v", tt, r)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("no request")
		}
	}
}
