//go:build unix

package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/failpoint"
	"github.com/awaken-go/awaken/llm"
)

// job is the configuration of a worker, in its environment.
type job struct {
	Store string               // which backend
	Where string               // its folder, file or URL
	Dir   string               // for the marks and the notes
	Mode  awaken.ExecutionMode // of the agent
	// Cancel says to cancel the run when it waits, instead of answering it.
	Cancel bool

	Story  string // "" is the conversation of this file
	Number int    // of the process
	Late   bool   // summaries come after the run that wants them
}

func (j job) notes() notes { return notes{filepath.Join(j.Dir, "notes")} }

func (j job) world() world { return world(filepath.Join(j.Dir, "world")) }

const (
	threadID = "thread"
	runID    = "run"
)

// work runs the agent, or takes its run up, until it is done.
func work(j job) error {
	store, err := backends[j.Store].open(j.Where)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := failpoint.EnableFromEnv(); err != nil { // not before: opening is tested elsewhere
		return err
	}
	switch j.Story {
	case spendStory:
		return spend(j, store)
	case summaryStory:
		return summarise(j, store)
	case stepStory:
		return takeSteps(j, store)
	}
	watched := j.witnessed(store)
	cfg := conversation(j, j.world())
	cfg.Store = watched
	rt, err := engine.New(cfg)
	if err != nil {
		return err
	}
	rt = rt.With(watched, nil, post{watched})
	ctx := context.Background()
	for {
		res, err := advance(ctx, j, rt, watched)
		if err != nil {
			return err
		}
		if res.Status == awaken.RunDone {
			return nil
		}
	}
}

// conversation configures the agent, whose tools leave their marks in a world.
func conversation(j job, w world) engine.Config {
	return engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", ToolExecutionMode: j.Mode, PluginIDs: []string{"marks"}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": llm.ModelFunc(model)},
		Tools:     tools(w),
		Plugins:   []awaken.Plugin{marks{w}},
	}
}

// advance does what is to be done with the run: start it, take it up, or decide for
// it.
func advance(ctx context.Context, j job, rt *engine.Runtime, store awaken.Store) (*awaken.RunResult, error) {
	sink := j.notes()
	run, err := store.LoadRun(ctx, runID)
	switch {
	case errors.Is(err, awaken.ErrNotFound):
		return rt.Run(ctx, awaken.RunRequest{ThreadID: threadID, RunID: runID, Messages: []*llm.Message{llm.UserText("go")}}, sink)
	case err != nil:
		return nil, err
	case run.Status == awaken.RunDone:
		return &awaken.RunResult{Status: awaken.RunDone}, nil
	case run.Status == awaken.RunWaiting && j.Cancel:
		return &awaken.RunResult{Status: awaken.RunDone}, rt.Cancel(ctx, runID)
	case run.Status == awaken.RunWaiting:
		var ds []awaken.Decision
		for _, t := range run.Waiting.Tickets {
			ds = append(ds, awaken.Decision{Target: t.TicketID, ID: "yes-" + t.TicketID, Action: awaken.ActionResume, Result: json.RawMessage(`"yes"`)})
		}
		if err := rt.Decide(ctx, runID, ds...); err != nil && !errors.Is(err, awaken.ErrDecided) {
			return nil, err
		}
	}
	return rt.Resume(ctx, runID, sink)
}

// model is scripted by what it is shown, so that it says the same again after a crash.
func model(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		asked := 0
		for _, m := range req.Messages.All() {
			if m.Role == llm.Assistant && len(m.ToolCalls) > 0 {
				asked++
			}
		}
		deltas := []llm.Delta{{Kind: llm.TextDelta, Text: fmt.Sprintf("Step %d: ", asked)}, {Kind: llm.TextDelta, Text: "so. "}}
		finish := llm.EndTurn
		if asked < len(script) {
			finish = llm.ToolUse
			for i, name := range script[asked] {
				id := fmt.Sprintf("call-%d-%d", asked, i)
				deltas = append(deltas, llm.Delta{Kind: llm.ToolCallStart, ID: id, Name: name},
					llm.Delta{Kind: llm.ToolCallDelta, ID: id, Text: `{"note":`}, llm.Delta{Kind: llm.ToolCallDelta, ID: id, Text: `"` + id + `"}`})
			}
		}
		deltas = append(deltas, llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{PromptTokens: 10, CompletionTokens: 5}}, llm.Delta{Kind: llm.FinishDelta, Finish: finish})
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// script is the tools the model asks for, step by step. Steps that only read follow each
// other, so that their commits are in flight while the run continues.
var script = [][]string{
	{"read", "idem", "slow", "effect"},
	{"effect", "ask", "read"},
	{"read"},
	{"read", "read"},
	{"read"},
	{"idem", "effect", "ask", "effect"},
	{"read"},
	{"read"},
	{"effect"},
}

// reads reports whether a step does nothing else.
func reads(step int) bool {
	return step < len(script) && !slices.ContainsFunc(script[step], func(name string) bool { return name != "read" })
}

// world is where tools leave their marks. A mark is one write, so it is there or not.
type world string

func (w world) mark(kind, key string) error {
	f, err := os.OpenFile(string(w), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(kind + " " + key + "\n")
	return err
}

// read counts the marks of each kind and key.
func (w world) read() map[string]int {
	data, _ := os.ReadFile(string(w))
	marked := map[string]int{}
	for line := range strings.Lines(string(data)) {
		marked[strings.TrimSpace(line)]++
	}
	return marked
}

func tools(w world) []awaken.Tool {
	type in struct {
		Note string `json:"note"`
	}
	tool := func(id string, class awaken.EffectClass) awaken.Tool {
		return awaken.NewTool(awaken.ToolSpec{ID: id, Effect: class}, func(_ context.Context, call *awaken.ToolCall, in in) (string, error) {
			call.Output("working on " + in.Note)
			if err := w.mark(id, call.Key); err != nil {
				return "", err
			}
			if id == "slow" {
				time.Sleep(40 * time.Millisecond) // longer than results wait for each other
			}
			return "did " + in.Note, nil
		})
	}
	return []awaken.Tool{tool("read", awaken.ReadOnly), tool("slow", awaken.ReadOnly), tool("idem", awaken.Idempotent), tool("effect", awaken.Effectful),
		awaken.FrontendTool(awaken.ToolSpec{ID: "ask"})}
}

// otherID is the thread that the run writes to.
const otherID = "other"

// post is a queue that only delivers.
type post struct{ awaken.Store }

func (p post) Deliver(ctx context.Context, threadID string, item awaken.InboxItem, _ string) error {
	if _, err := p.Acquire(ctx, threadID); err != nil { // it may not be there
		return err
	}
	return p.Post(ctx, threadID, item)
}

func (post) Start(context.Context, awaken.RunRequest) error { return errors.New("nothing is started") }
func (post) Cancel(context.Context, string) error           { return errors.New("nothing is cancelled") }

// marks is a plugin whose effect leaves a mark at the end of each step that does more than
// read. It sends a message after the first.
type marks struct{ world world }

var stepped = awaken.NewEffect[int]("crash.stepped")

func (m marks) Name() string { return "marks" }

func (m marks) Register(r *awaken.Registrar) error {
	r.On(awaken.PhaseStepEnd, func(_ context.Context, h *awaken.HookCall) error {
		if !reads(h.Step) {
			stepped.Emit(h, h.Step)
		}
		if h.Step == 0 {
			awaken.Send(h, awaken.Outgoing{ThreadID: otherID, Item: &awaken.InboxItem{Messages: []*llm.Message{llm.UserText("step 0 is over")}}})
		}
		return nil
	})
	r.HandleEffect(stepped.Handler(func(_ context.Context, _ *awaken.HookCall, step int) error {
		return m.world.mark("stepped", fmt.Sprint(step))
	}))
	return nil
}

// notes is a reader's notebook: every event it saw, as it saw it.
type notes struct{ path string }

// note is one line of it.
type note struct {
	Cursor awaken.Cursor
	Event  string
}

func (n notes) Emit(_ context.Context, e awaken.Entry) error {
	ev, err := awaken.AppendEvent(nil, e.Event)
	if err != nil {
		return err
	}
	line, err := json.Marshal(note{e.Cursor, string(ev)})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(n.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(line, '\n'))
	return err
}

// read returns the notes; a torn last line is what the reader did not get.
func (n notes) read() ([]note, error) {
	data, err := os.ReadFile(n.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var out []note
	for line := range strings.Lines(string(data)) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		var x note
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}
