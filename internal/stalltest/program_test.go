//go:build unix

package stalltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is a running server.
type program struct {
	url    string
	client *http.Client
	out    lines
	*weather
}

// lines is what a program has written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

type object = map[string]any

// documents returns what the program is made of: an agent for each row and each failure.
func documents(tb testing.TB, w *weather) map[string][]any {
	var providers []any
	for id, how := range map[string]failure{
		"thirds":  refuse(http.StatusInternalServerError),
		"limited": refuse(http.StatusTooManyRequests, "Retry-After", strconv.Itoa(int(pause()/time.Second))),
		"hangs":   hang, "shopping": nil, "fine": nil,
	} {
		server := httptest.NewServer(&provider{w, id, how})
		tb.Cleanup(func() { server.CloseClientConnections(); server.Close() })
		providers = append(providers, object{"id": id, "adapter": "compatible", "base_url": server.URL + "/v1", "api_key": "key"})
	}
	model := func(id, provider string) object {
		return object{"id": id, "provider_id": provider, "upstream_model": id}
	}
	agent := func(id string, more ...string) object {
		a := object{"id": id, "model_id": id}
		if len(more) > 0 {
			a["plugin_ids"] = more
		}
		return a
	}
	hangs := agent("hangs")
	// So that requests that hang are sent again within the window.
	hangs["sections"] = object{"retry": object{"max_retries": 2, "stream_idle_timeout_secs": 1}}
	return map[string][]any{
		"providers": providers,
		"models": {model("thirds", "thirds"), model("limited", "limited"), model("unlimited", "limited"), model("hangs", "hangs"),
			model("shopping", "shopping"), model("homely", "shopping"), model("fine", "fine")},
		"model-pools": {object{"id": "pool", "members": []any{object{"model_id": "limited"}, object{"model_id": "unlimited"}}}},
		"mcp-servers": {object{"id": "shop", "transport": "http", "url": shop(tb, w)}},
		"agents": {agent("thirds"), agent("limited"), agent("unlimited"), agent("pool"), hangs,
			agent("shopping", "mcp"), agent("homely"), agent("fine")},
	}
}

const adminKey = "the-key-of-the-operator"

var listening = regexp.MustCompile(`Awaken listens on (http://\S+)`)

// build builds the program.
func build(tb testing.TB) (path string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "awaken")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/awaken-go/awaken/cmd/awaken").CombinedOutput(); err != nil {
		tb.Fatalf("build the program: %v\n%s", err, out)
	}
	return path
}

// start starts the program with SQLite, and providers of its own.
func start(tb testing.TB, path string) *program {
	tb.Helper()
	dir := tb.TempDir()
	p := &program{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}, weather: newWeather()}
	tb.Cleanup(p.client.CloseIdleConnections)
	cmd := exec.Command(path, "serve", "--address", "127.0.0.1:0", "--storage-dir", dir, "--log-level", "error")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &p.out, &p.out
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "AWAKEN_") && !strings.HasPrefix(kv, "AGENT_") && !strings.HasPrefix(kv, "OPENAI_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env,
		"AWAKEN_ADMIN_API_BEARER_TOKEN="+adminKey, "AWAKEN_OUTBOUND_ALLOW=127.0.0.0/8", "AWAKEN_SECRETS_KEY="+strings.Repeat("01", 32))
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				tb.Errorf("the program ended with %v:\n%s", err, p.out.String())
			}
		case <-time.After(time.Minute):
			_ = cmd.Process.Kill()
			tb.Errorf("the program does not stop:\n%s", p.out.String())
		}
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if out := p.out.String(); strings.Contains(out, "Ctrl-C stops") {
			p.url = listening.FindStringSubmatch(out)[1]
			p.configure(tb, documents(tb, p.weather))
			return p
		}
		if len(ended) > 0 || time.Now().After(deadline) {
			tb.Fatalf("the program does not start:\n%s", p.out.String())
		}
	}
}

// configure writes documents.
func (p *program) configure(tb testing.TB, all map[string][]any) {
	for _, namespace := range []string{"providers", "models", "model-pools", "mcp-servers", "agents"} {
		for _, doc := range all[namespace] {
			if out, err := p.post(tb.Context(), "/v1/config/"+namespace, doc); err != nil {
				tb.Fatalf("%s: %v %s", namespace, err, out)
			}
		}
	}
}

// forget makes the program forget the limits that it has learnt.
func (p *program) forget(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, p.url+"/v1/providers/limits?provider_id=limited", nil)
	if err != nil {
		return err
	}
	_, err = p.send(req)
	return err
}

// run runs an agent with a prompt on a thread of its own, and returns what the run streamed.
func (p *program) run(ctx context.Context, agent, prompt string) (string, error) {
	return p.post(ctx, "/v1/runs", object{"agent_id": agent, "messages": []any{object{"role": "user", "content": prompt}}})
}

// post sends a request and returns the body of the response.
func (p *program) post(ctx context.Context, path string, body any) (string, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+path, bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	return p.send(req)
}

// send sends a request as the operator, and returns the body of the response.
func (p *program) send(req *http.Request) (string, error) {
	req.Header.Set("Authorization", "Bearer "+adminKey)
	resp, err := p.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return string(out), err
}
