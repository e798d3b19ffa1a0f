package engine_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	godiff "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/background"
	"github.com/awaken-go/awaken/plugin/deferred"
	"github.com/awaken-go/awaken/plugin/delegate"
	"github.com/awaken-go/awaken/plugin/guard"
	"github.com/awaken-go/awaken/plugin/handoff"
	"github.com/awaken-go/awaken/plugin/memory"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/plugin/reminder"
	"github.com/awaken-go/awaken/registry"
	memstore "github.com/awaken-go/awaken/store/memory"
)

var goldenUpdate = flag.Bool("update", false, "write what happens into testdata/runs, instead of comparing")

// TestGolden plays the scenarios in testdata/runs and compares what happens with
// what the file says. The format is described in testdata/runs/README.md.
func TestGolden(t *testing.T) {
	t.Cleanup(func() {
		t.Logf("%d requests were made again exactly", shownExactly.Load())
	})
	for _, file := range goldenFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			want, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got *txtar.Archive
			bubbletest.Test(t, func(t *testing.T) { got, _ = goldenPlay(t, want) })
			if bytes.Equal(txtar.Format(got), txtar.Format(want)) {
				return
			}
			if *goldenUpdate {
				if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("what happens differs from %s (-want +got):\n%s", file, godiff.Diff(goldenSections(want), goldenSections(got)))
		})
	}
}

func goldenFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../testdata/runs/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func goldenSections(a *txtar.Archive) map[string][]string {
	m := map[string][]string{}
	for _, f := range a.Files {
		m[f.Name] = strings.Split(string(f.Data), "\n")
	}
	return m
}

// goldenConfig is the config section.
type goldenConfig struct {
	Agents   []*awaken.AgentSpec `json:"agents"`
	Versions bool                `json:"versions"` // runs are pinned to one that can be lost
	Limits   struct {
		ToolTimeoutMS   int `json:"tool_timeout_ms"`
		ToolGraceMS     int `json:"tool_grace_ms"`
		ToolResultBytes int `json:"tool_result_bytes"`
		ParallelTools   int `json:"parallel_tools"`
	} `json:"limits"`
	Model struct {
		ContextWindow    int    `json:"context_window"`
		MaxOutputTokens  int    `json:"max_output_tokens"`
		KnowledgeCutoff  string `json:"knowledge_cutoff"`
		StructuredOutput *bool  `json:"structured_output"`
	} `json:"model"`
}

// goldenInput matches the names of the sections that a person writes. The others
// of goldenOutput are written by -update; what neither matches is left alone.
var (
	goldenInput  = regexp.MustCompile(`^(config|script|summaries|request\d*)$`)
	goldenOutput = regexp.MustCompile(`^((events|result|error)\d*|messages|view|run|calls|requests|asked_for_summaries|notes)$`)
)

// goldenPlayer plays one scenario.
type goldenPlayer struct {
	t       *testing.T
	h       *awakentest.Harness
	kit     *kit
	agent   *llmtest.Script
	summary *llmtest.Script
	store   watchedStore

	versions *awakentest.Versions
	tools    int // how many there are
	out      []txtar.File
	threads  []string

	mu      sync.Mutex // operations may happen after a while, in a goroutine of their own
	lastRun string
}

func (p *goldenPlayer) run(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastRun = cmp.Or(id, p.lastRun)
	return p.lastRun
}

// goldenPlay plays a scenario and returns the archive as it should be, and the player.
func goldenPlay(t *testing.T, a *txtar.Archive) (*txtar.Archive, *goldenPlayer) {
	p := &goldenPlayer{t: t, kit: &kit{}, store: watchedStore{Store: memstore.New()}}
	var script, summaries []llmtest.Turn
	config := goldenConfig{}
	var requests []txtar.File
	got := &txtar.Archive{Comment: a.Comment}
	for _, f := range a.Files {
		switch {
		case f.Name == "config":
			goldenStrict(t, f, &config)
		case f.Name == "script":
			script = awakentest.Turns(t, string(f.Data))
		case f.Name == "summaries":
			summaries = awakentest.Turns(t, string(f.Data))
		case goldenInput.MatchString(f.Name):
			requests = append(requests, f)
		}
		if goldenInput.MatchString(f.Name) {
			got.Files = append(got.Files, f)
		}
	}
	p.agent, p.summary = llmtest.NewScript(script...).Record(), llmtest.NewScript(summaries...).Record()
	p.start(config)
	for _, f := range requests {
		p.play(f)
	}
	p.conclude()
	time.Sleep(time.Hour) // in the bubble: tools that were abandoned come to an end
	got.Files = append(got.Files, p.out...)
	for _, f := range a.Files {
		if !goldenInput.MatchString(f.Name) && !goldenOutput.MatchString(f.Name) {
			got.Files = append(got.Files, f)
		}
	}
	return got, p
}

func goldenStrict(t *testing.T, f txtar.File, v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(f.Data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Fatalf("section %s: %v", f.Name, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		t.Fatalf("section %s: more than one JSON value", f.Name)
	}
}

func (p *goldenPlayer) start(c goldenConfig) {
	cfg := p.config(c)
	if c.Versions {
		cfg.RegistryID = "registry-1"
		reg, err := registry.New(cfg.Registry())
		if err != nil {
			p.t.Fatal(err)
		}
		p.versions = awakentest.NewVersions(reg)
		cfg.Versions = p.versions
	}
	p.tools = len(cfg.Tools)
	p.h = awakentest.New(p.t, cfg)
	p.kit.do = p.do
}

// config returns the configuration of the scenario's runtime.
func (p *goldenPlayer) config(c goldenConfig) engine.Config {
	prices := awaken.Prices{InputPrice: new(1.0), OutputPrice: new(2.0)}
	cfg := engine.Config{
		Agents: c.Agents,
		Models: []awaken.ModelSpec{{ID: awakentest.Scripted, ProviderID: awakentest.Scripted, UpstreamModel: "scripted-1",
			StructuredOutput: c.Model.StructuredOutput, Prices: prices,
			ContextWindow: c.Model.ContextWindow, MaxOutputTokens: c.Model.MaxOutputTokens, KnowledgeCutoff: c.Model.KnowledgeCutoff},
			{ID: summaryModel, ProviderID: awakentest.Scripted, UpstreamModel: summaryModel, Prices: prices}},
		Providers: map[string]llm.Model{awakentest.Scripted: byModel{p.agent, p.summary}},
		Tools:     p.kit.tools(),
		Plugins: []awaken.Plugin{kitBase{p.kit}, kitPlugin{p.kit, "a"}, kitPlugin{p.kit, "b"}, kitPlugin{p.kit, "c"},
			permission.New(permission.Config{}), reminder.New(reminder.Config{}), guard.Rails(), deferred.New(), memory.New(), handoff.New(nil), delegate.New(delegate.Options{}), background.New()},
		Store:   &p.store,
		Profile: memstore.NewProfile(),
		Limits: engine.Limits{
			ToolTimeout:     time.Duration(c.Limits.ToolTimeoutMS) * time.Millisecond,
			ToolGrace:       time.Duration(c.Limits.ToolGraceMS) * time.Millisecond,
			ToolResultBytes: c.Limits.ToolResultBytes,
			ParallelTools:   c.Limits.ParallelTools,
		},
		Now: time.Now, // the bubble's
	}
	if len(cfg.Agents) == 0 {
		cfg.Agents = []*awaken.AgentSpec{{ID: engine.DefaultAgentID}}
	}
	for _, a := range cfg.Agents {
		a.PluginIDs = append([]string{"kit"}, a.PluginIDs...)
		once(a)
	}
	for _, a := range cfg.Agents {
		a.ModelID = cmp.Or(a.ModelID, awakentest.Scripted)
	}
	return cfg
}

// goldenOp is one thing that is done to the runtime: a request section, or what a
// request does when an event arrives.
type goldenOp struct {
	Op string `json:"op"` // run, resume, decide, send, cancel, wait, take_over, lose, find

	RunID     string            `json:"run_id"`
	Thread    string            `json:"thread_id"`
	Decisions []awaken.Decision `json:"decisions"`
	Messages  []*llm.Message    `json:"messages"`
	Say       string            `json:"say"` // short for one message of the user
	MS        int               `json:"ms"`

	// What is done on the way: the operation, when the nth event of a type arrives or
	// after some time.
	At    string     `json:"at"`
	ID    string     `json:"id"` // only events about this call
	Nth   int        `json:"nth"`
	After int        `json:"after_ms"`
	On    []goldenOp `json:"on"`
}

// play does what a request section says and keeps what came of it.
func (p *goldenPlayer) play(f txtar.File) {
	p.t.Helper()
	var fields map[string]json.RawMessage
	goldenStrict(p.t, f, &fields)
	var op goldenOp
	for name, to := range map[string]any{"op": &op.Op, "on": &op.On} {
		if raw := fields[name]; raw != nil {
			goldenStrict(p.t, txtar.File{Name: f.Name + "." + name, Data: raw}, to)
		}
	}
	var rec *awakentest.Recording
	p.h.OnEvent = p.watch(op.On)
	for _, op := range op.On {
		if op.After > 0 {
			defer time.AfterFunc(time.Duration(op.After)*time.Millisecond, func() { p.note(op, p.do(op)) }).Stop()
		}
	}
	if op.Op == "" || op.Op == "run" {
		req := p.request(f.Name, fields)
		rec = p.h.Run(req)
	} else {
		goldenStrict(p.t, f, &op)
		if op.Op == "resume" {
			rec = p.h.Resume(cmp.Or(op.RunID, p.run("")), op.Decisions...)
		} else if err := p.do(op); err != nil {
			p.write("error", f.Name, err.Error()+"\n")
		}
	}
	p.h.OnEvent = nil
	if rec == nil {
		return
	}
	p.write("events", f.Name, awakentest.Lines(p.t, rec.Entries))
	if rec.Result != nil {
		p.run(rec.Result.RunID)
		p.touch(rec.Result.ThreadID)
		p.write("result", f.Name, p.line(rec.Result))
	}
	if rec.Err != nil {
		p.write("error", f.Name, rec.Err.Error()+"\n")
	}
}

// request reads a RunRequest, which may have "say" instead of messages and runs on
// thread t unless it names another.
func (p *goldenPlayer) request(name string, fields map[string]json.RawMessage) awaken.RunRequest {
	p.t.Helper()
	var say string
	if raw := fields["say"]; raw != nil {
		goldenStrict(p.t, txtar.File{Name: name + ".say", Data: raw}, &say)
	}
	if fields["thread_id"] == nil {
		fields["thread_id"] = json.RawMessage(`"t"`)
	}
	for _, own := range []string{"op", "on", "say"} {
		delete(fields, own)
	}
	data, err := json.Marshal(fields)
	if err != nil {
		p.t.Fatal(err)
	}
	var req awaken.RunRequest
	goldenStrict(p.t, txtar.File{Name: name, Data: data}, &req)
	if say != "" {
		req.Messages = append(req.Messages, llm.UserText(say))
	}
	p.touch(req.ThreadID)
	return req
}

func (p *goldenPlayer) touch(thread string) {
	if thread != "" && !slices.Contains(p.threads, thread) {
		p.threads = append(p.threads, thread)
	}
}

// watch returns what calls ops as their events arrive. It runs on the run's
// goroutine, so that what it does happens at one place in the run.
func (p *goldenPlayer) watch(ops []goldenOp) func(awaken.Entry) {
	seen := make([]int, len(ops))
	return func(e awaken.Entry) {
		p.run(e.RunID)
		for i, op := range ops {
			if op.At != e.Event.Type() || op.After > 0 || op.ID != "" && !strings.Contains(awakentest.Lines(p.t, []awaken.Entry{e}), `"`+op.ID+`"`) {
				continue
			}
			if seen[i]++; seen[i] != max(op.Nth, 1) {
				continue
			}
			p.note(op, p.do(op))
		}
	}
}

func (p *goldenPlayer) note(op goldenOp, err error) {
	if err != nil {
		p.kit.note("%s: %v", op.Op, err)
	}
}

// do does something that is not a run.
func (p *goldenPlayer) do(op goldenOp) error {
	ctx, rt := p.t.Context(), p.h.Runtime
	thread := cmp.Or(op.Thread, "t")
	switch op.Op {
	case "decide":
		return rt.Decide(ctx, cmp.Or(op.RunID, p.run("")), op.Decisions...)
	case "send":
		if op.Say != "" {
			op.Messages = append(op.Messages, llm.UserText(op.Say))
		}
		return rt.Send(ctx, thread, op.Messages...)
	case "cancel":
		return rt.Cancel(ctx, cmp.Or(op.RunID, p.run("")))
	case "wait":
		time.Sleep(time.Duration(op.MS) * time.Millisecond)
		return nil
	case "lose":
		p.versions.Lose("registry-1", errors.New("the disk is full"))
		return nil
	case "find":
		p.versions.Lose("registry-1", nil)
		return nil
	case "take_over":
		_, err := p.h.Store.Acquire(ctx, thread)
		return err
	}
	return fmt.Errorf("unknown op %q", op.Op)
}

// write adds a section, numbered like the request it belongs to.
func (p *goldenPlayer) write(section, request, data string) {
	if data != "" {
		p.out = append(p.out, txtar.File{Name: section + strings.TrimPrefix(request, "request"), Data: []byte(data)})
	}
}

func (p *goldenPlayer) line(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data) + "\n"
}

// conclude writes what is there at the end: conversations, runs, ledger, what the
// model was asked and what the kit noted.
func (p *goldenPlayer) conclude() {
	var messages, view, runs, calls strings.Builder
	for i := 0; i < len(p.threads); i++ { // threads below them come at the end
		children, err := p.h.Store.ListThreads(p.t.Context(), awaken.ThreadQuery{ParentThreadID: p.threads[i]})
		if err != nil {
			p.t.Fatal(err)
		}
		for _, th := range slices.Backward(children) {
			p.touch(th.ID)
		}
	}
	for _, id := range p.threads {
		if _, err := p.h.Store.Thread(p.t.Context(), id); errors.Is(err, awaken.ErrNotFound) {
			continue
		}
		log := p.h.Messages(id)
		var v awaken.View
		v.Append(log...)
		differs := !slices.Equal(log, v.Messages())
		if len(p.threads) > 1 {
			fmt.Fprintf(&messages, "# thread %s\n", id)
		}
		for _, m := range log {
			messages.WriteString(p.line(m))
		}
		if differs {
			for _, m := range v.Messages() {
				view.WriteString(p.line(m))
			}
		}
		list, err := p.h.Store.ListRuns(p.t.Context(), awaken.RunQuery{ThreadID: id})
		if err != nil {
			p.t.Fatal(err)
		}
		for _, r := range slices.Backward(list) {
			p.checkTimeline(r)
			if r.ResolutionID == p.h.Runtime.Registry().ID() {
				r.ResolutionID = "registry-1" // it is random
			}
			runs.WriteString(p.line(r))
			states, err := p.h.Store.Calls(p.t.Context(), r.RunID)
			if err != nil {
				p.t.Fatal(err)
			}
			for _, s := range states {
				calls.WriteString(p.line(s))
			}
		}
	}
	p.write("messages", "", messages.String())
	p.write("view", "", view.String())
	p.write("run", "", runs.String())
	p.write("calls", "", calls.String())
	p.write("requests", "", p.requests(p.agent))
	p.write("asked_for_summaries", "", p.requests(p.summary))
	if len(p.kit.notes) > 0 {
		p.write("notes", "", strings.Join(p.kit.notes, "\n")+"\n")
	}
}

// requests describes what the model was asked, one message on each line.
func (p *goldenPlayer) requests(of *llmtest.Script) string {
	var sb strings.Builder
	for i, r := range of.Requests() {
		fmt.Fprintf(&sb, "#%d %s", i+1, r.Model)
		if f := r.Params.Temperature; f != nil {
			fmt.Fprintf(&sb, " temperature=%v", *f)
		}
		if n := r.Params.MaxTokens; n != nil {
			fmt.Fprintf(&sb, " max_tokens=%d", *n)
		}
		if f := r.Params.TopP; f != nil {
			fmt.Fprintf(&sb, " top_p=%v", *f)
		}
		if e := r.Params.ReasoningEffort; e != nil {
			fmt.Fprintf(&sb, " effort=%s", strings.TrimSpace(p.line(e)))
		}
		if o := r.Params.Output; o != nil {
			fmt.Fprintf(&sb, " output=%s", o.Schema)
		}
		if r.CachePrompt {
			sb.WriteString(" cache")
		}
		if len(r.Tools) != p.tools && of == p.agent { // all of the kit's is the usual
			fmt.Fprintf(&sb, " tools=%v", r.Tools)
		}
		sb.WriteByte('\n')
		if r.System != "" {
			fmt.Fprintf(&sb, "  system: %s\n", goldenText(r.System))
		}
		for _, m := range r.Messages {
			fmt.Fprintf(&sb, "  %s", m.Role)
			if m.ToolCallID != "" {
				fmt.Fprintf(&sb, " %s", m.ToolCallID)
			}
			if m.IsInternal() {
				sb.WriteString(" (internal)")
			}
			sb.WriteByte(':')
			for _, b := range m.Content {
				if b.Type == llm.TextBlock {
					fmt.Fprintf(&sb, " %s", goldenText(b.Text))
				} else {
					fmt.Fprintf(&sb, " %s", strings.TrimSpace(p.line(b)))
				}
			}
			for _, c := range m.ToolCalls {
				fmt.Fprintf(&sb, " [%s %s %s]", c.ID, c.Name, c.Arguments)
			}
			sb.WriteByte('\n')
		}
	}
	return sb.String()
}

func goldenText(s string) string { return strings.ReplaceAll(s, "\n", `\n`) }

// TestGoldenCoverage keeps the corpus from shrinking: everything the runtime can
// say is said in some scenario.
func TestGoldenCoverage(t *testing.T) {
	files := goldenFiles(t)
	if len(files) < 45 {
		t.Errorf("there are %d scenarios, want at least 45", len(files))
	}
	have := map[string]bool{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(a.Comment)) == 0 {
			t.Errorf("%s does not say what it shows", file)
		}
		for _, f := range a.Files {
			if strings.HasPrefix(f.Name, "events") {
				goldenCollect(t, file, f.Data, have)
			}
		}
	}
	events := goldenConstants(t, "../event.go", `Type\(\) string\s+\{ return "(\w+)" \}`, 22)
	ends := goldenConstants(t, "../run.go", `TerminationType = "(\w+)"`, 7)
	codes := goldenConstants(t, "../stop.go", `(?m)^\t"(\w+)": +\{"`, 7)
	for _, want := range slices.Concat(events, ends, codes) {
		if !have[want] {
			t.Errorf("%s is in no scenario; there are %q", want, slices.Sorted(maps.Keys(have)))
		}
	}
}

// goldenCollect notes the types of events, terminations and stop codes.
func goldenCollect(t *testing.T, file string, events []byte, have map[string]bool) {
	t.Helper()
	for line := range bytes.Lines(events) {
		ev, err := awaken.UnmarshalEvent(line)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		have[ev.Type()] = true
		if f, ok := ev.(*awaken.RunFinish); ok {
			have[string(f.Termination.Type)] = true
			have[f.Termination.Code] = true
		}
	}
}

// goldenConstants finds names in the source, so that a new one is missed here.
func goldenConstants(t *testing.T, file, pattern string, least int) []string {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(src, -1) {
		out = append(out, string(m[1]))
	}
	if len(out) < least {
		t.Fatalf("%s has %d matches of %s, want at least %d", file, len(out), pattern, least)
	}
	return out
}
