// Package check checks the dashboard and the alert rules against a server: every expression is evaluated by Prometheus's own engine, over scrapes of a server
// under load, and must have data.
//
//	go build -o awaken ./cmd/awaken && cd deploy/check && AWAKEN_BIN=$PWD/../../awaken go test ./...
//
// It is a module of its own, because Prometheus takes minutes to build.
package check

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/teststorage"
)

const key = "an-admin-key-of-this-test-only"

// TestExpressions_HaveData has a server, load, and scrapes at intervals of a second; Prometheus sees them at intervals of 15 seconds.
func TestExpressions_HaveData(t *testing.T) {
	url := serve(t)
	store := teststorage.New(t)
	change(t, url+"/v1/config/models/default", map[string]any{"input_token_price_per_million_usd": 3, "output_token_price_per_million_usd": 15}) // so that there are costs
	change(t, url+"/v1/config/agents/scenario", map[string]any{"sections": map[string]any{"permission": map[string]any{"default_behavior": "allow"}, "eval_live": map[string]any{"share": 1, "error_share": 1, "max_per_day": 100_000, "scorers": []any{map[string]any{"kind": "no_tool"}}}}})
	stop := load(t, url)
	now := time.Now().Truncate(time.Minute)
	for i := range 12 {
		time.Sleep(time.Second)
		scrape(t, url, store, now.Add(time.Duration(i)*15*time.Second))
	}
	stop()
	end := now.Add(11 * 15 * time.Second)
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute})
	t.Cleanup(func() { _ = engine.Close() })
	all := append(panels(t), rules(t)...)
	if len(all) < 50 {
		t.Fatalf("there are %d expressions, want those of the dashboard and of the rules", len(all))
	}
	for _, e := range all {
		q, err := engine.NewInstantQuery(t.Context(), store, nil, e.expr, end)
		if err != nil {
			t.Errorf("%s: %s: %v", e.name, e.expr, err)
			continue
		}
		res := q.Exec(t.Context())
		n := 0
		if v, err := res.Vector(); err == nil {
			n = len(v)
		}
		if res.Err != nil || n == 0 {
			t.Errorf("%s: %s has no data, %v", e.name, e.expr, res.Err)
		}
		q.Close()
	}
	t.Logf("%d expressions", len(all))
}

type expression struct{ name, expr string }

// panels returns the expressions of the dashboard, as Grafana would send them.
func panels(t *testing.T) (out []expression) {
	data, err := os.ReadFile("../grafana/awaken.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	words := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*")
	for _, p := range d.Panels {
		for _, e := range p.Targets {
			out = append(out, expression{"panel " + p.Title, words.Replace(e.Expr)})
		}
	}
	return out
}

// rules returns what the conditions of the alerts compare: a server in good health meets no condition, but it must have what the conditions are about.
func rules(t *testing.T) (out []expression) {
	p := parser.NewParser(parser.Options{})
	groups, errs := rulefmt.ParseFile("../prometheus/awaken.rules.yaml", false, model.UTF8Validation, p, nil)
	for _, err := range errs {
		t.Fatal(err)
	}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			expr, err := p.ParseExpr(r.Expr)
			if err != nil {
				t.Fatalf("%s: %v", r.Alert, err)
			}
			b, ok := expr.(*parser.BinaryExpr)
			if !ok || !b.Op.IsComparisonOperator() || b.RHS.Type() != parser.ValueTypeScalar {
				t.Fatalf("%s: %s is no comparison with a number", r.Alert, r.Expr)
			}
			if r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
				t.Errorf("%s has no summary or severity", r.Alert)
			}
			out = append(out, expression{"alert " + r.Alert, b.LHS.String()})
		}
	}
	return out
}

var listens = regexp.MustCompile(`listens on (http://[^\s]+)`)

// serve starts a server with the demo's agents.
func serve(t *testing.T) string {
	bin := os.Getenv("AWAKEN_BIN")
	if bin == "" {
		t.Skip("AWAKEN_BIN names no program")
	}
	dir := t.TempDir()
	cmd := exec.Command(bin, "serve", "--seed", "demo", "--address", "127.0.0.1:0", "--storage-dir", dir)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "AWAKEN_ADMIN_API_BEARER_TOKEN=" + key}
	said := new(buffer)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	for late := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if m := listens.FindStringSubmatch(said.String()); m != nil {
			return m[1]
		}
		if time.Now().After(late) {
			t.Fatalf("the server does not start: %s", said)
		}
	}
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// change changes fields of a document.
func change(t *testing.T, url string, fields map[string]any) {
	var spec map[string]any
	if err := json.Unmarshal(ask(t, http.MethodGet, url, ""), &spec); err != nil {
		t.Fatal(err)
	}
	maps.Copy(spec, fields)
	body, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	ask(t, http.MethodPut, url, string(body))
}

// ask sends a request with the key, and returns the body of its answer.
func ask(t *testing.T, method, url, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %s, %v", method, url, resp.StatusCode, data, err)
	}
	return data
}

// load makes a server do what there are metrics about, until stop is called.
func load(t *testing.T, url string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, scenario := range []string{"text", "tool", "error", "approval", "tool-error"} {
		wg.Go(func() {
			for ctx.Err() == nil {
				send(ctx, url+"/v1/runs", fmt.Sprintf(`{"agent_id":"scenario","messages":[{"role":"user","content":"scenario:%s"}]}`, scenario))
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

func send(ctx context.Context, url, body string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// scrape stores what the server shows, as Prometheus would at a time.
func scrape(t *testing.T, url string, store *teststorage.TestStorage, at time.Time) {
	t.Helper()
	data := ask(t, http.MethodGet, url+"/metrics", "")
	app := store.Appender(t.Context())
	add := func(l labels.Labels, v float64) {
		b := labels.NewBuilder(l)
		b.Set("job", "awaken")
		b.Set("instance", strings.TrimPrefix(url, "http://"))
		if _, err := app.Append(0, b.Labels(), at.UnixMilli(), v); err != nil {
			t.Fatal(err)
		}
	}
	add(labels.FromStrings("__name__", "up"), 1)
	p, err := textparse.New(data, "text/plain", labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		switch kind, err := p.Next(); {
		case err == io.EOF:
			if err := app.Commit(); err != nil {
				t.Fatal(err)
			}
			return
		case err != nil:
			t.Fatal(err)
		case kind == textparse.EntrySeries:
			_, _, v := p.Series()
			var l labels.Labels
			p.Labels(&l)
			add(l, v)
		}
	}
}
