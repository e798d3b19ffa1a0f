//go:build unix

package livetest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/failpoint"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/sqlite"
)

// job is the configuration of a worker, in its environment.
type job struct {
	Store    string        // sqlite or postgres
	Where    string        // its file or URL
	Dir      string        // of the marks
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
	box, done, err := open(ctx, j)
	if err != nil {
		return err
	}
	defer done()
	if j.Submit != "" {
		time.AfterFunc(500*time.Millisecond, func() { // it works by then
			_, err := box.Tenant("").Submit(ctx, mailbox.Submission{Mode: mailbox.ModeInterrupt,
				Request: awaken.RunRequest{AgentID: "default", ThreadID: "own", RunID: "own", Messages: []*llm.Message{llm.UserText(j.Submit)}}})
			fmt.Fprintln(os.Stderr, "submitted:", err)
		})
	}
	return box.Work(ctx)
}

// open opens a store and returns a mailbox on it.
func open(ctx context.Context, j job) (box *mailbox.Mailbox, done func(), err error) {
	var queue mailbox.Queue
	if j.Store == "postgres" {
		db, err := postgres.Open(ctx, j.Where, nil)
		if err != nil {
			return nil, nil, err
		}
		queue, done = db, db.Close
	} else {
		db, err := sqlite.Open(ctx, j.Where, nil)
		if err != nil {
			return nil, nil, err
		}
		queue, done = db, func() { _ = db.Close() }
	}
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", MaxRounds: new(100_000)}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": llm.ModelFunc(model)},
		Tools:     tools(j.Dir),
	})
	if err != nil {
		return nil, nil, err
	}
	box, err = mailbox.New(mailbox.Config{Queue: queue, Liveness: j.Liveness, MaxAttempts: j.Attempts, Drain: 5 * time.Second, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}, rt.With)
	return box, done, err
}

// model calls the tools that the last user message names, one after the other, and then ends.
// The message "forever NAME" calls a tool again and again.
func model(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var words []string
		step := 0
		for _, m := range req.Messages.All() {
			switch m.Role {
			case llm.User:
				words, step = strings.Fields(m.Text()), 0
			case llm.Assistant:
				step++
			}
		}
		name := ""
		switch {
		case words[0] == "forever":
			name = words[1]
		case step < len(words):
			name = words[step]
		}
		if name == "" {
			if yield(llm.Delta{Kind: llm.TextDelta, Text: "done"}, nil) {
				yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
			}
			return
		}
		id := fmt.Sprint("call-", step)
		if yield(llm.Delta{Kind: llm.ToolCallStart, ID: id, Name: name}, nil) && yield(llm.Delta{Kind: llm.ToolCallDelta, ID: id, Text: "{}"}, nil) {
			yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse}, nil)
		}
	}
}

// mark is a tool call that was begun: one line of the file marks, which no crash tears.
type mark struct {
	Tool, Run, Key string
	PID            int
	At             time.Time
}

func (m mark) write(dir string) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "marks"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(data, '\n'))
	return err
}

func tools(dir string) []awaken.Tool {
	made := func(id string, effect awaken.EffectClass, takes time.Duration) awaken.Tool {
		spec := awaken.ToolSpec{ID: id, Effect: effect, Timeout: time.Hour}
		return awaken.NewTool(spec, func(ctx context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
			if err := (mark{id, c.Run.RunID, c.Key, os.Getpid(), time.Now()}).write(dir); err != nil {
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
		made("nap", awaken.Idempotent, 50*time.Millisecond),
		made("effect", awaken.Effectful, 5*time.Millisecond),
		made("hold", awaken.ReadOnly, time.Hour),
		awaken.NewTool(awaken.ToolSpec{ID: "poison", Effect: awaken.Idempotent}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}),
	}
}
