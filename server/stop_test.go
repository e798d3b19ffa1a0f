package server_test

import (
	"context"
	"iter"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/store/memory"
)

// deaf is a model that ignores its context until the test ends.
type deaf struct {
	asked chan struct{}
	end   <-chan struct{}
}

func (d deaf) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(func(llm.Delta, error) bool) {
		d.asked <- struct{}{}
		<-d.end
	}
}

// What runs in a run must not keep the process: an operator stops a server with one signal.
func TestServe_ReturnsAlthoughARunDoesNotStop(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	m := deaf{make(chan struct{}, 1), end}
	rt := runtime(t, func(c *engine.Config) { c.Providers = map[string]llm.Model{"p": m} })
	box, err := mailbox.New(mailbox.Config{Queue: memory.NewDB(), Poll: 10 * time.Millisecond, Drain: 50 * time.Millisecond}, rt.With)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: box, Limits: server.Limits{ShutdownTime: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	hello := mailbox.Submission{Request: awaken.RunRequest{AgentID: "default", Messages: []*llm.Message{llm.UserText("hello")}}}
	if _, err := box.Tenant("").Submit(ctx, hello); err != nil {
		t.Fatal(err)
	}
	<-m.asked
	began := time.Now()
	stop()
	select {
	case err = <-done:
	case <-time.After(20 * time.Second):
		t.Error("the server has not returned after 20 seconds")
	}
	if err == nil || !strings.Contains(err.Error(), "1 runs did not stop in time") {
		t.Errorf("after %s: %v, want an error that counts the runs", time.Since(began), err)
	}
	close(end)
}
