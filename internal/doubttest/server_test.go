//go:build unix

package doubttest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/handoff"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/openai"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/sqlite"
)

// job is the configuration of a server, in its environment.
type job struct {
	Store   string // sqlite or postgres
	Where   string // its file or URL
	Dir     string // for what tools did and models were asked
	Address string
}

// serve is the server process. It serves until it is killed.
func serve(j job) error {
	ctx := context.Background()
	queue, done, err := open(ctx, j)
	if err != nil {
		return err
	}
	defer done()
	rt, err := engine.New(engine.Config{
		Agents: []*awaken.AgentSpec{
			{ID: "default", ModelID: "m", PluginIDs: []string{handoff.PluginID}, Sections: map[string]json.RawMessage{handoff.PluginID: json.RawMessage(`{"agents":["other"]}`)}},
			{ID: "other", ModelID: "m"},
		},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": script{j.Dir}},
		Plugins:   []awaken.Plugin{handoff.New(nil)},
		Tools:     tools(j.Dir),
	})
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	box, err := mailbox.New(mailbox.Config{Queue: queue, Lease: time.Second, Liveness: 2 * time.Second, Poll: 50 * time.Millisecond, Logger: log}, rt.With)
	if err != nil {
		return err
	}
	tasks, err := a2a.Routes(a2a.Config{})
	if err != nil {
		return err
	}
	srv, err := server.New(server.Config{Mailbox: box, Wings: []server.Wing{runs.New(runs.Config{})}, Address: j.Address, Logger: log, Limits: server.Limits{Requests: 1000},
		Routes: slices.Concat(aisdk.Routes(), agui.Routes(), openai.Routes(), tasks)})
	if err != nil {
		return err
	}
	return srv.Run(ctx)
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

// script is a model that makes the calls that the last message with a tag names, one after the other; "+" makes several at once.
// A tag is a word that begins with "#". It writes down what it is shown.
type script struct{ dir string }

// Stream answers a request.
func (s script) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var words, shown []string
		step := 0
		for _, m := range req.Messages.All() {
			text := m.Text()
			shown = append(shown, string(m.Role)+": "+text)
			switch {
			case m.Role == llm.User && strings.HasPrefix(text, "#"):
				words, step = strings.Fields(text)[1:], 0
			case m.Role == llm.Assistant:
				step++
			}
		}
		line, err := json.Marshal(shown)
		if err == nil {
			err = appendLine(s.dir, "requests", string(line))
		}
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		if step >= len(words) {
			if yield(llm.Delta{Kind: llm.TextDelta, Text: "end"}, nil) {
				yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
			}
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

// appendLine writes one line into a file, at once.
func appendLine(dir, file, line string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line + "\n")
	return err
}

// lines reads what appendLine wrote.
func lines(dir, file string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), nil
}

// tools returns tools that never answer their first attempt: only the end of the process ends it. A person is asked whether to
// make pay and hold again, and the model learns that charge is in doubt. A second attempt of hold asks a question that expires.
func tools(dir string) []awaken.Tool {
	effect := func(id string, doubt awaken.DoubtPolicy, expires time.Duration) awaken.Tool {
		return awaken.NewTool(awaken.ToolSpec{ID: id, Effect: awaken.Effectful, InDoubt: doubt}, func(_ context.Context, c *awaken.ToolCall, _ struct{}) (string, error) {
			before, err := lines(dir, "attempts")
			if err != nil {
				return "", err
			}
			mark := id + " " + c.Key
			if err := appendLine(dir, "attempts", mark); err != nil {
				return "", err
			}
			switch {
			case !slices.Contains(before, mark):
				select {}
			case expires > 0:
				return "", awaken.Suspend(awaken.Ticket{ExpiresIn: expires, Suspension: awaken.Suspension{Action: "sure", Message: "Are you sure?"}})
			}
			return "paid", nil
		})
	}
	return []awaken.Tool{
		effect("pay", awaken.DoubtSuspend, 0),
		effect("hold", awaken.DoubtSuspend, 100*time.Millisecond),
		effect("charge", "", 0),
	}
}
