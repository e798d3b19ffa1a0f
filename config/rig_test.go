package config_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/configtest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/store/memory"
)

// rig is a manager with a runtime, and their options.
type rig struct {
	*config.Manager
	t     *testing.T
	o     config.Options
	rt    *engine.Runtime
	mcp   *configtest.MCP
	logs  *bytes.Buffer
	mu    sync.Mutex
	built []string // providers that were made: id and key
}

var me = config.Actor{ID: "k1", Label: "tester", IP: "10.0.0.1", RequestID: "req"}

// vaultKey is the key of the tests' vaults.
var vaultKey = strings.Repeat("42", 32)

func newVault(t testing.TB) *config.Vault {
	t.Helper()
	v, err := config.NewVault(vaultKey)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// newRig opens a manager on a store; nil means a new one in memory. change may adjust its
// options.
func newRig(t *testing.T, store config.Store, change func(o *config.Options)) *rig {
	t.Helper()
	if store == nil {
		store = memory.NewDB().Config()
	}
	r := &rig{t: t, mcp: &configtest.MCP{}, logs: &bytes.Buffer{}}
	r.o = config.Options{Store: store, Vault: newVault(t), MCP: r.mcp, A2A: configtest.A2A{}, Provider: r.provider,
		Logger: slog.New(slog.NewTextHandler(&lockedWriter{w: r.logs}, nil)),
		Code:   registry.Config{Tools: []awaken.Tool{noop("look"), noop("put")}}}
	if change != nil {
		change(&r.o)
	}
	r.open()
	return r
}

func (r *rig) open() {
	r.t.Helper()
	m, err := config.Open(r.t.Context(), r.o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.Manager = m
	r.t.Cleanup(func() { m.Close() })
	if r.rt, err = engine.New(engine.Config{Versions: m, Store: memory.New()}); err != nil {
		r.t.Fatal(err)
	}
}

type lockedWriter struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func noop(id string) awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: id, Description: "does " + id, Effect: awaken.ReadOnly},
		func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return id, nil })
}

// provider makes models that answer with their key and system prompt. The adapter "broken"
// cannot be opened.
func (r *rig) provider(_ context.Context, spec *awaken.ProviderSpec) (llm.Model, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.built = append(r.built, spec.ID+" "+spec.APIKey.Expose())
	if spec.Adapter == "broken" {
		return nil, fmt.Errorf("adapter broken cannot be made with %s", spec.APIKey.Expose())
	}
	return parrot{spec.APIKey.Expose()}, nil
}

func (r *rig) made() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.built
	r.built = nil
	return out
}

type parrot struct{ key string }

func (p parrot) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	var sb strings.Builder
	fmt.Fprintf(&sb, "[%s]", p.key)
	for _, b := range req.System {
		sb.WriteString(b.Text)
	}
	fmt.Fprintf(&sb, " %s %d tools", req.Model, len(req.Tools))
	for _, m := range req.Messages.All() {
		if m.Text() == "tools" {
			for _, t := range req.Tools {
				fmt.Fprintf(&sb, " %s: %s.", t.Name, t.Description)
			}
		}
	}
	return func(yield func(llm.Delta, error) bool) {
		if yield(llm.Delta{Kind: llm.TextDelta, Text: sb.String()}, nil) {
			yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
		}
	}
}

func key(text string) config.Key {
	ns, id, _ := strings.Cut(text, "/")
	return config.Key{Namespace: config.Namespace(ns), ID: id}
}

// doc returns a document with the id of a key and further fields.
func doc(k config.Key, fields string) json.RawMessage {
	if fields != "" {
		fields = "," + fields
	}
	return json.RawMessage(fmt.Sprintf(`{"id":%q%s}`, k.ID, fields))
}

// put writes a document that must be accepted.
func (r *rig) put(name, fields string) *config.View {
	r.t.Helper()
	v, err := r.Put(r.t.Context(), key(name), doc(key(name), fields), false, config.Condition{}, me)
	if err != nil {
		r.t.Fatalf("put %s: %v", name, err)
	}
	return v
}

// basics writes a provider, a model and an agent.
func (r *rig) basics() {
	r.t.Helper()
	r.put("providers/p", `"adapter":"x","api_key":"sk-first-secret"`)
	r.put("models/m", `"provider_id":"p","upstream_model":"up"`)
	r.put("agents/a", `"model_id":"m","system_prompt":"one"`)
}

// ask runs an agent on a thread and returns its answer and its version.
func (r *rig) ask(req awaken.RunRequest) (answer, version string) {
	r.t.Helper()
	if req.AgentID == "" {
		req.AgentID = "a"
	}
	if req.Messages == nil {
		req.Messages = []*llm.Message{llm.UserText("hi")}
	}
	res, err := r.rt.Run(r.t.Context(), req, nil)
	if err != nil {
		r.t.Fatalf("run: %v", err)
	}
	run, err := r.rt.Store().LoadRun(r.t.Context(), res.RunID)
	if err != nil {
		r.t.Fatal(err)
	}
	return run.FinalOutput, run.ResolutionID
}

// wantAnswer runs agent a on a new thread and checks its answer and version.
func (r *rig) wantAnswer(answer, version string) {
	r.t.Helper()
	got, v := r.ask(awaken.RunRequest{})
	if got != answer || v != version {
		r.t.Errorf("the agent says %q on version %s, want %q on %s", got, v, answer, version)
	}
}

// tools returns the tools that models see.
func (r *rig) tools() string {
	r.t.Helper()
	answer, _ := r.ask(awaken.RunRequest{Messages: []*llm.Message{llm.UserText("tools")}})
	_, list, _ := strings.Cut(answer, " tools ")
	return list
}

// wantErr checks the kind of an error and part of its text.
func wantErr(t testing.TB, err, kind error, says ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error is %v, want %v", err, kind)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error is %q, want one that says %q", err, s)
		}
	}
}

// events lists the audit log, oldest first: action and resource.
func (r *rig) events() []string {
	r.t.Helper()
	list, err := r.Audit().List(r.t.Context(), config.AuditQuery{Limit: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for i := len(list) - 1; i >= 0; i-- {
		out = append(out, list[i].Action+" "+list[i].Resource)
	}
	return out
}
