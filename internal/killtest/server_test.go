//go:build unix

package killtest

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/failpoint"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/runs"
)

// job is the configuration of a server, in its environment.
type job struct {
	Store   rigtest.Store
	Effects rigtest.Ledger
	Address string
	Lease   time.Duration
	Drain   time.Duration
	// Liveness is how long the process may be silent; 0 is the default.
	Liveness time.Duration
}

// serve is the server process. SIGTERM drains it.
func serve(j job) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	db, err := j.Store.Open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := failpoint.EnableFromEnv(); err != nil {
		return err
	}
	rt, err := engine.New(agents(j.Effects))
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	box, err := mailbox.New(mailbox.Config{Queue: db, Lease: j.Lease, Liveness: j.Liveness, Poll: 50 * time.Millisecond, Drain: j.Drain, Logger: log,
		MaxAttempts: 1000}, rt.With)
	if err != nil {
		return err
	}
	srv, err := server.New(server.Config{Mailbox: box, Wings: []server.Wing{runs.New(runs.Config{})}, Logger: log,
		Limits: server.Limits{Requests: 1000, ShutdownTime: 2 * time.Second}})
	if err != nil {
		return err
	}
	return rigtest.RunServer(ctx, srv, j.Address)
}

// agents configures the agent, whose tools note what they do.
func agents(effects rigtest.Ledger) engine.Config {
	return engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", MaxRounds: new(100)}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": rigtest.Words{Pieces: 6, Pace: 2 * time.Millisecond}},
		Tools:     tools(effects),
	}
}

func tools(effects rigtest.Ledger) []awaken.Tool {
	return []awaken.Tool{
		effects.Tool(awaken.ToolSpec{ID: "effect", Effect: awaken.Effectful}, 5*time.Millisecond),
		effects.Tool(awaken.ToolSpec{ID: "long", Effect: awaken.Effectful}, 400*time.Millisecond),
		effects.Tool(awaken.ToolSpec{ID: "put", Effect: awaken.Idempotent}, 5*time.Millisecond),
		effects.Tool(awaken.ToolSpec{ID: "look", Effect: awaken.ReadOnly}, 5*time.Millisecond),
		awaken.NewTool(awaken.ToolSpec{ID: "ask"}, func(_ context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
			if c.Resume == nil {
				return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "ask", Message: "May I?"}})
			}
			return "yes", effects.Note(rigtest.Effect{Tool: "ask", Run: c.Run.RunID, Key: c.Key})
		}),
	}
}
