//go:build unix

package ownertest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/failpoint"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// job is the configuration of a worker, in its environment.
type job struct {
	Store    rigtest.Store
	Effects  rigtest.Ledger
	Dir      string        // of the files that let paused processes go on
	Liveness time.Duration // 0 is the default
	Attempts int           // of a run; 0 is the default
	Busy     bool          // also keep a core busy
	PauseAt  string        // a failpoint: stop at its first hit, as SIGSTOP does
	KillAt   string        // a failpoint: die at its first hit
	Submit   string        // a message for thread "own", which the worker submits itself
}

// work is the worker process. SIGTERM stops it.
func work(j job) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if j.PauseAt != "" || j.KillAt != "" {
		failpoint.Enable(func(name string, hits int) {
			if name == j.KillAt {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			if name == j.PauseAt && hits == 1 {
				if err := j.pause(); err != nil {
					panic(err)
				}
			}
		})
	}
	if j.Busy {
		go func() {
			for ctx.Err() == nil {
				_ = strings.Repeat("busy", 1000)
			}
		}()
	}
	db, err := j.Store.Open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	box, err := j.mailbox(db)
	if err != nil {
		return err
	}
	if j.Submit != "" {
		time.AfterFunc(500*time.Millisecond, func() { // it works by then
			_, err := box.Tenant("").Submit(ctx, mailbox.Submission{Mode: mailbox.ModeInterrupt,
				Request: awaken.RunRequest{AgentID: "default", ThreadID: "own", RunID: "own", Messages: []*llm.Message{llm.UserText(j.Submit)}}})
			fmt.Fprintln(os.Stderr, "submitted:", err)
		})
	}
	return box.Work(ctx)
}

// mailbox returns a mailbox on a database.
func (j job) mailbox(db rigtest.Database) (*mailbox.Mailbox, error) {
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", MaxRounds: new(100_000)}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": rigtest.Words{}},
		Tools:     j.tools(),
	})
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	return mailbox.New(mailbox.Config{Queue: db, Liveness: j.Liveness, MaxAttempts: j.Attempts, Drain: 5 * time.Second, Logger: log}, rt.With)
}

func (j job) tools() []awaken.Tool {
	return []awaken.Tool{
		j.Effects.Tool(awaken.ToolSpec{ID: "nap", Effect: awaken.Idempotent, Timeout: time.Hour}, 50*time.Millisecond),
		j.Effects.Tool(awaken.ToolSpec{ID: "effect", Effect: awaken.Effectful, Timeout: time.Hour}, 5*time.Millisecond),
		j.Effects.Tool(awaken.ToolSpec{ID: "hold", Effect: awaken.ReadOnly, Timeout: time.Hour}, time.Hour),
		awaken.NewTool(awaken.ToolSpec{ID: "poison", Effect: awaken.Idempotent}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}),
	}
}
