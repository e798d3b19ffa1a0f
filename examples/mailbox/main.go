// Command mailbox uses the durable queue without HTTP: it submits a run, follows it until
// it waits for a person, decides, and follows it to its end.
//
//	go run ./examples/mailbox
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/memory"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// pay is a tool that needs a person's approval.
func pay(_ context.Context, call *awaken.ToolCall, in struct {
	Amount int `json:"amount"`
}) (string, error) {
	if call.Resume == nil {
		return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "tool:pay", Message: fmt.Sprintf("Pay %d?", in.Amount)}})
	}
	return fmt.Sprintf("paid %d", in.Amount), nil
}

func run(ctx context.Context, out io.Writer) error {
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "chat"}},
		Models:    []awaken.ModelSpec{{ID: "chat", ProviderID: "demo", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"demo": llmtest.Demo()},
		Tools:     []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "pay"}, pay)},
	})
	if err != nil {
		return err
	}
	box, err := mailbox.New(mailbox.Config{Queue: memory.NewDB()}, rt.With)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	worked := make(chan error, 1)
	go func() { worked <- box.Work(ctx) }()

	err = talk(ctx, box.Tenant(""), out)
	cancel()
	return errors.Join(err, <-worked) // wait for the worker to release its runs
}

// talk submits a run and follows it to its end.
func talk(ctx context.Context, t *mailbox.Tenant, out io.Writer) error {
	// When Submit returns, the input is stored and a worker will run it. The key makes it
	// safe to submit again after an error.
	r, err := t.Submit(ctx, mailbox.Submission{IdempotencyKey: "invoice-17",
		Request: awaken.RunRequest{AgentID: "default", Messages: []*llm.Message{llm.UserText(`RUN_TOOL pay {"amount":42}`)}}})
	if err != nil {
		return err
	}
	for e, err := range t.Log.Tail(ctx, r.ThreadID, r.After, eventlog.Follow{RunID: r.RunID}) {
		if err != nil {
			return err
		}
		fin, ok := e.Event.(*awaken.RunFinish)
		if !ok {
			continue
		}
		fmt.Fprintln(out, "the run is", fin.Termination.Type)
		run, err := t.Store.LoadRun(ctx, r.RunID)
		if err != nil {
			return err
		}
		if run.Waiting == nil {
			fmt.Fprintln(out, run.FinalOutput)
			return nil
		}
		ticket := run.Waiting.Tickets[0]
		fmt.Fprintln(out, "asked:", ticket.Suspension.Message)
		if _, err := t.Decide(ctx, r.RunID, awaken.Decision{Target: ticket.ToolCallID, Action: awaken.ActionResume}); err != nil {
			return err
		}
	}
	return errors.New("the log ended before the run")
}
