package config_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/store/sqlite"
)

// planted holds one secret for every field that takes one.
var planted = []string{"leak-provider-key", "leak-header", "leak-mcp-env", "leak-mcp-header", "leak-a2a-token", "leak-agent-token", "leak-section-password",
	"leak-override-token", "leak-refused-key", "leak-broken-key", "leak-seed-key", "leak-applied-key"}

// TestSecrets_DoNotLeak plants secrets in every field, and looks for them in the database
// files, records, versions and events, and in every response, error and log line.
func TestSecrets_DoNotLeak(t *testing.T) {
	dir := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "config.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, db.Config(), func(o *config.Options) { o.Code.Backends = map[string]registry.RemoteBackend{"a2a": remote{}} })
	var seen bytes.Buffer
	show := func(v any, err error) {
		if v, ok := v.(*config.View); ok && v != nil {
			fmt.Fprintf(&seen, "%s %s\n", v.Spec, v.Meta.UserOverrides)
		}
		fmt.Fprintf(&seen, "%+v %v\n", v, err)
	}
	write := func(name, fields string) {
		k := key(name)
		v, err := r.Put(t.Context(), k, doc(k, fields), false, config.Condition{}, me)
		show(v, err)
		val, err := r.Validate(t.Context(), k, doc(k, fields))
		show(val, err)
	}
	write("providers/p", `"adapter":"x","api_key":"leak-provider-key","adapter_options":{"headers":{"X-Auth":"leak-header"}}`)
	write("models/m", `"provider_id":"p","upstream_model":"up"`)
	write("mcp-servers/s", `"transport":"http","url":"https://mcp.example","env":{"K":"leak-mcp-env"},"config":{"headers":{"A":"leak-mcp-header"}}`)
	write("a2a-servers/f", `"base_url":"https://far.example","auth":{"type":"bearer","token":"leak-a2a-token"}`)
	write("agents/far", `"endpoint":{"backend":"a2a","base_url":"https://far.example","auth":{"type":"bearer","token":"leak-agent-token"}}`)
	write("agents/a", `"model_id":"m","sections":{"other":{"password":"leak-section-password"}}`)
	write("providers/q", `"adapter":"broken","api_key":"leak-broken-key"`)
	write("providers/r", `"adapter":7,"api_key":"leak-refused-key"`)
	write("providers/r", `"adapter":"x","api_key":"leak-refused-key","nope":1`)
	write("models/x", `"provider_id":"p","upstream_model":"u","api_key":"leak-refused-key"`)
	show(nil, r.Seed(t.Context(), "v1", documents(`providers/seeded "adapter":"x","api_key":"leak-seed-key"`, `agents/seeded "model_id":"m"`)))
	v, err := r.Override(t.Context(), key("agents/seeded"), json.RawMessage(`{"endpoint":{"base_url":"https://o.example","auth":{"type":"bearer","token":"leak-override-token"}}}`), false, config.Condition{}, me)
	show(v, err)
	if err != nil {
		t.Fatal(err)
	}
	applied, err := r.Apply(t.Context(), documents(`providers/applied "adapter":"x","api_key":"leak-applied-key"`), false, false, me)
	show(applied, err)
	for _, d := range applied.Differences {
		fmt.Fprintf(&seen, "%s %s\n", d.Before, d.After)
	}
	show(r.Drafts().Publish(t.Context(), nil, nil, "", me))
	show(r.Versions().Rollback(t.Context(), 5, me))
	_, _, err = r.Versions().Preview(t.Context(), doc(key("agents/a"), `"model_id":"m","sections":{"other":{"password":"leak-section-password"}}`), me)
	show(nil, err)
	docs, err := r.Export(t.Context(), true)
	for _, d := range docs {
		fmt.Fprintf(&seen, "%s\n", d.Spec)
	}
	show(nil, err)
	head, _ := r.Versions().Head(t.Context())
	for n := int64(1); n <= head.Last; n++ {
		pub, err := r.Versions().Get(t.Context(), n)
		show(pub, err)
		docs, err := r.Versions().Documents(t.Context(), n)
		show(docs, err)
		for _, d := range docs {
			fmt.Fprintf(&seen, "%s\n", d.Spec)
		}
	}
	events, err := r.Audit().List(t.Context(), config.AuditQuery{Limit: 1000})
	if err != nil || len(events) < 10 {
		t.Fatalf("%d events (%v)", len(events), err)
	}
	for _, e := range events {
		data, err := json.Marshal(e)
		show(string(data), err)
	}
	for _, ns := range config.Namespaces {
		for _, s := range must(r.o.Store.Records(t.Context(), ns, "", 0)) {
			fmt.Fprintf(&seen, "%s %s\n", s.Spec, s.Meta.UserOverrides)
		}
	}
	fmt.Fprintf(&seen, "%v\n%s\n", r.Diagnostics(), r.logs)
	r.Close()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(data)
	}
	for _, s := range planted {
		if i := strings.Index(seen.String(), s); i >= 0 {
			t.Errorf("%s was seen: …%q…", s, seen.String()[max(0, i-200):min(seen.Len(), i+60)])
		}
	}
	if !strings.Contains(seen.String(), "providers/p#/api_key") {
		t.Error("the reference of a secret is nowhere: the test does not look at the right places")
	}
}

// remote is a backend that accepts every agent.
type remote struct{}

func (remote) Agent(*awaken.AgentSpec) (registry.RemoteAgent, error) { return remote{}, nil }

func (remote) Name() string { return "remote" }

func (remote) Register(*awaken.Registrar) error { return nil }

func (remote) Exchange(context.Context, *registry.Exchange) iter.Seq2[llm.Delta, error] { return nil }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
