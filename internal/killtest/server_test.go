//go:build unix

package killtest

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/failpoint"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/sqlite"
)

// job is the configuration of a server, in its environment.
type job struct {
	Store   string // sqlite or postgres
	Where   string // its file or URL
	Dir     string // for the marks
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
	queue, done, err := open(ctx, j)
	if err != nil {
		return err
	}
	defer done()
	if err := failpoint.EnableFromEnv(); err != nil {
		return err
	}
	rt, err := engine.New(agents(j.Dir))
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	box, err := mailbox.New(mailbox.Config{Queue: queue, Lease: j.Lease, Liveness: j.Liveness, Poll: 50 * time.Millisecond, Drain: j.Drain, Logger: log, MaxAttempts: 1000}, rt.With)
	if err != nil {
		return err
	}
	srv, err := server.New(server.Config{Mailbox: box, Wings: []server.Wing{runs.New(runs.Config{})}, Address: j.Address, Logger: log, Limits: server.Limits{Requests: 1000, ShutdownTime: 2 * time.Second}})
	if err != nil {
		return err
	}
	return srv.Run(ctx)
}

// agents configures the agent, whose tools leave their marks in a folder.
func agents(dir string) engine.Config {
	return engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", MaxRounds: new(100)}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": llm.ModelFunc(model)},
		Tools:     tools(dir),
	}
}

func open(ctx context.Context, j job) (mailbox.Queue, func(), error) {
	if j.Store == "postgres" {
		db, err := postgres.Open(ctx, j.Where, nil)
		if err != nil {
			return nil, nil, err
		}
		return db, db.Close, nil
	}
	db, err := sqlite.Open(ctx, j.Where, nil)
	if err != nil {
		return nil, nil, err
	}
	return db, func() { _ = db.Close() }, nil
}

// model does what the words of the last message say, one after the other: the name of a
// tool calls it, "+" calls several at once. It ignores a word that begins with "#". It sees from the
// conversation how far it is, so that it says the same again after a crash.
func model(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var words []string
		step := 0
		for _, m := range req.Messages.All() {
			switch m.Role {
			case llm.User:
				words, step = strings.Fields(m.Text()), 0
				words = slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "#") })
			case llm.Assistant:
				step++
			}
		}
		say := func(text string) bool {
			for i := range 6 {
				select {
				case <-time.After(2 * time.Millisecond):
				case <-ctx.Done():
					yield(llm.Delta{}, ctx.Err())
					return false
				}
				if !yield(llm.Delta{Kind: llm.TextDelta, Text: fmt.Sprintf("%s-%d ", text, i)}, nil) {
					return false
				}
			}
			return true
		}
		if step >= len(words) {
			if say("end") {
				yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
			}
			return
		}
		if !say(fmt.Sprint("step", step)) {
			return
		}
		for i, name := range strings.Split(words[step], "+") {
			id := fmt.Sprintf("call-%d-%d", step, i)
			if !yield(llm.Delta{Kind: llm.ToolCallStart, ID: id, Name: name}, nil) || !yield(llm.Delta{Kind: llm.ToolCallDelta, ID: id, Text: "{}"}, nil) {
				return
			}
		}
		yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse}, nil)
	}
}

// mark writes one line into the marks, which no crash tears.
func mark(dir, kind, key string) error {
	f, err := os.OpenFile(filepath.Join(dir, "marks"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%s %s %d\n", kind, key, os.Getpid())
	return err
}

func tools(dir string) []awaken.Tool {
	made := func(id string, effect awaken.EffectClass, takes time.Duration) awaken.Tool {
		return awaken.NewTool(awaken.ToolSpec{ID: id, Effect: effect}, func(ctx context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
			if err := mark(dir, id, c.Key); err != nil {
				return "", err
			}
			select {
			case <-time.After(takes):
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
			return "made", nil
		})
	}
	return []awaken.Tool{
		made("effect", awaken.Effectful, 5*time.Millisecond),
		made("long", awaken.Effectful, 400*time.Millisecond),
		made("put", awaken.Idempotent, 5*time.Millisecond),
		made("look", awaken.ReadOnly, 5*time.Millisecond),
		awaken.NewTool(awaken.ToolSpec{ID: "ask"}, func(_ context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
			if c.Resume == nil {
				return "", awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "ask", Message: "May I?"}})
			}
			return "yes", mark(dir, "ask", c.Key)
		}),
	}
}
