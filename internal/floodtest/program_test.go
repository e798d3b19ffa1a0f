//go:build linux

package floodtest

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

	"github.com/awaken-go/awaken/internal/testenv"
)

var postgresServer *testenv.Postgres

func TestMain(m *testing.M) { os.Exit(testenv.WithPostgres(m, &postgresServer)) }

// built is the program, built once.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "flood")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "awaken")
	out, err := exec.Command("go", "build", "-o", path, "github.com/awaken-go/awaken/cmd/awaken").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, err
})

// program is a running server with an agent for each dialect.
type program struct {
	tb        testing.TB
	cmd       *exec.Cmd
	out       lines
	url       string
	providers map[string]*provider // by adapter
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

var listening = regexp.MustCompile(`Awaken listens on (http://\S+)`)

func start(tb testing.TB, store string) *program {
	tb.Helper()
	path, err := built()
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	p := &program{tb: tb, providers: map[string]*provider{}}
	var agents, models, providers []any
	for i := range dialects {
		d := &dialects[i]
		one := &provider{dialect: d}
		server := httptest.NewServer(one)
		tb.Cleanup(server.Close)
		p.providers[d.adapter] = one
		agents = append(agents, map[string]any{"id": d.adapter, "model_id": d.adapter})
		models = append(models, map[string]any{"id": d.adapter, "provider_id": d.adapter, "upstream_model": "flood"})
		providers = append(providers, map[string]any{"id": d.adapter, "adapter": d.adapter, "base_url": server.URL + d.path, "api_key": "flood"})
	}
	data, err := json.Marshal(map[string]any{"agents": agents, "models": models, "providers": providers})
	if err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(dir, "agents.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	args := []string{"serve", "--address", "127.0.0.1:0", "--file", file, "--storage-dir", dir, "--log-level", "error"}
	if store == "postgres" {
		args = append(args, "--database", postgresServer.Database())
	}
	p.cmd = exec.Command(path, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, &p.out, &p.out
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "AWAKEN_") && !strings.HasPrefix(kv, "AGENT_") && !strings.HasPrefix(kv, "OPENAI_") {
			p.cmd.Env = append(p.cmd.Env, kv)
		}
	}
	p.cmd.Env = append(p.cmd.Env, "AWAKEN_OUTBOUND_ALLOW=127.0.0.0/8", "AWAKEN_SECRETS_KEY="+strings.Repeat("01", 32))
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	tb.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				tb.Errorf("the program ended with %v:\n%s", err, p.out.String())
			}
		case <-time.After(time.Minute):
			_ = p.cmd.Process.Kill()
			tb.Errorf("the program does not stop:\n%s", p.out.String())
		}
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if out := p.out.String(); strings.Contains(out, "Ctrl-C stops") {
			p.url = listening.FindStringSubmatch(out)[1]
			return p
		}
		select {
		case err := <-ended:
			ended <- err
			tb.Fatalf("the program ended with %v:\n%s", err, p.out.String())
		default:
		}
		if time.Now().After(deadline) {
			tb.Fatalf("the program does not start:\n%s", p.out.String())
		}
	}
}

// rss returns the memory that the program takes, in MiB.
func (p *program) rss() float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.tb.Fatal(err)
	}
	kib := regexp.MustCompile(`VmRSS:\s+(\d+)`).FindSubmatch(data)
	n, _ := strconv.ParseFloat(string(kib[1]), 64)
	return n / 1024
}

// watch samples the memory until stop, which returns the most that was seen.
func (p *program) watch() (stop func() float64) {
	ctx, cancel := context.WithCancel(context.Background())
	most := make(chan float64)
	go func() {
		high := p.rss()
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-tick.C:
				high = max(high, p.rss())
			case <-ctx.Done():
				most <- high
				return
			}
		}
	}()
	return func() float64 { cancel(); return <-most }
}

// settled returns the memory of the program once it does not shrink any more.
func (p *program) settled() float64 {
	low := p.rss()
	for still := 0; still < 5; {
		time.Sleep(50 * time.Millisecond)
		if now := p.rss(); now < low-0.5 {
			low, still = now, 0
		} else {
			still++
		}
	}
	return low
}

// post sends a request and returns the body of the response.
func (p *program) post(ctx context.Context, path, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return string(data), err
}

// body returns the body of POST /v1/runs.
func body(agent, thread, text string) string {
	data, _ := json.Marshal(map[string]any{"agent_id": agent, "thread_id": thread, "messages": []any{map[string]string{"role": "user", "content": text}}})
	return string(data)
}
