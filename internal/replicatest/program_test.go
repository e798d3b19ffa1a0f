package replicatest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/postgres"
)

// The tests of this package that begin with TestPrograms use the built program, as AWAKEN_BIN names it and
// scripts/test builds it: three replicas on PostgreSQL, with the demo's agents and nothing else in
// common. A client sees a load balancer that sends each of its requests to another replica.

// programs is the replicas. Requests go through the load balancer, or to one of them (at).
type programs struct {
	testing.TB
	urls     []string
	url      string // where requests go
	settings []string
	running  []*program
}

// program is the process of a replica.
type program struct {
	cmd    *exec.Cmd
	ended  chan error
	killed bool // by the test
}

// adminToken is the admin key of programs.
const adminToken = "the-admin-key-of-all-replicas"

var listensOn = regexp.MustCompile(`Awaken listens on (http://\S+)`)

// startPrograms starts three replicas with settings, which are environment variables.
func startPrograms(t *testing.T, settings ...string) *programs {
	t.Helper()
	path := os.Getenv("AWAKEN_BIN")
	if path == "" {
		t.Skip("AWAKEN_BIN names no program")
	}
	p := &programs{TB: t}
	p.settings = append([]string{"AWAKEN_ADMIN_API_BEARER_TOKEN=" + adminToken, "AWAKEN_DATABASE_URL=" + postgresServer.Database(), "AWAKEN_LOG_LEVEL=warn"}, settings...)
	for range 3 {
		url, started := p.start(path, "127.0.0.1:0")
		p.urls, p.running = append(p.urls, url), append(p.running, started)
	}
	p.url = newBalancer(t, p.urls)
	return p
}

// crash kills every replica, and starts others at their addresses.
func (p *programs) crash() {
	p.Helper()
	for _, r := range p.running {
		r.killed = true
		if err := r.cmd.Process.Kill(); err != nil {
			p.Fatal(err)
		}
	}
	for i, r := range p.running {
		<-r.ended
		_, p.running[i] = p.start(os.Getenv("AWAKEN_BIN"), strings.TrimPrefix(p.urls[i], "http://"))
	}
}

// replay replays the runs that the replicas have left, each alone. They are as recorded, those that a replica took over by messages, calls and
// results. A run that another started is part of that one's replay.
func (p *programs) replay() {
	p.Helper()
	database := ""
	for _, s := range p.settings {
		if url, ok := strings.CutPrefix(s, "AWAKEN_DATABASE_URL="); ok {
			database = url
		}
	}
	db, err := postgres.Open(context.Background(), database, nil)
	if err != nil {
		p.Fatal(err)
	}
	defer db.Close()
	args := []string{"replay", "--json", "--seed", "demo", "--database", database}
	n := len(args)
	p.eventually("over: every run", func() bool {
		args = args[:n]
		query := awaken.RunQuery{Root: true, Limit: 200, At: new("")}
		for first := true; first || *query.At != ""; first = false {
			runs, err := db.Store("").ListRuns(context.Background(), query)
			if err != nil {
				p.Fatal(err)
			}
			for _, run := range runs {
				if run.Status != awaken.RunDone && run.Status != awaken.RunWaiting {
					return false
				}
				args = append(args, run.RunID)
			}
		}
		return true
	})
	began := time.Now()
	cmd := exec.Command(os.Getenv("AWAKEN_BIN"), args...)
	cmd.Dir = p.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir}, p.settings...)
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err != nil || len(args) == n || strings.Count(text, `"equal":true`) != len(args)-n {
		p.Errorf("%d runs are replayed: %v\n%s", len(args)-n, err, text)
	}
	p.Logf("%d runs replay, %d of them event by event, within %s", strings.Count(text, `"equal":true`), strings.Count(text, `"equal":true`)-strings.Count(text, `"events":0`), time.Since(began).Round(time.Millisecond))
}

// start starts a replica and returns its URL.
func (p *programs) start(path, address string) (string, *program) {
	p.Helper()
	dir := p.TempDir()
	cmd := exec.Command(path, "serve", "--seed", "demo", "--address", address, "--storage-dir", dir)
	out := &output{}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, p.settings...)
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	r := &program{cmd: cmd, ended: make(chan error, 1)}
	go func() { r.ended <- cmd.Wait() }()
	p.Cleanup(func() {
		if r.killed {
			return
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-r.ended:
			if err != nil {
				p.Errorf("a replica ended with %v", err)
			}
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			p.Error("a replica does not stop")
		}
		if p.Failed() {
			p.Logf("a replica said:\n%s", out)
		}
	})
	for late := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if m := listensOn.FindStringSubmatch(out.String()); m != nil && strings.Contains(out.String(), "Ctrl-C stops") {
			return m[1], r
		}
		if time.Now().After(late) {
			p.Fatalf("a replica does not start:\n%s", out)
		}
	}
}

// output is what a replica has written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(data)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// at returns the programs as a client sees them whose requests all go to one replica.
func (p *programs) at(replica int) *programs {
	q := *p
	q.url = p.urls[replica%len(p.urls)]
	return &q
}

// with returns the programs for the test t.
func (p *programs) with(t *testing.T) *programs {
	q := *p
	q.TB = t
	return &q
}

// request sends a request. A key may be "".
func (p *programs) request(ctx context.Context, method, path, key, body string, headers ...string) *http.Response {
	p.Helper()
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

// ask sends a request and returns the status and the body of the response.
func (p *programs) ask(method, path, key, body string, headers ...string) (status int, text string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	resp := p.request(ctx, method, path, key, body, headers...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		p.Fatalf("%s %s: %v", method, path, err)
	}
	return resp.StatusCode, string(data)
}

// want is ask for a response that must have a status and contain a text.
func (p *programs) want(status int, contains, method, path, key, body string, headers ...string) string {
	p.Helper()
	got, text := p.ask(method, path, key, body, headers...)
	if got != status || !strings.Contains(text, contains) {
		p.Fatalf("%s %s%s %s: %d %s, want %d and %q", method, p.url, path, body, got, text, status, contains)
	}
	return text
}

// field returns a field of a JSON object.
func (p *programs) field(text, name string) string {
	p.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		p.Fatalf("%v: %s", err, text)
	}
	s, _ := out[name].(string)
	if s == "" {
		p.Fatalf("no %s in %s", name, text)
	}
	return s
}

// newKey returns a new key of a tenant and its ID.
func (p *programs) newKey(tenant string) (secret, id string) {
	p.Helper()
	text := p.want(201, "", "POST", "/v1/keys", adminToken, `{"kind":"run","tenant":"`+tenant+`"}`)
	return p.field(text, "secret"), p.field(text, "id")
}

// eventually waits until ok returns true.
func (p *programs) eventually(what string, ok func() bool) {
	p.Helper()
	for late := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			p.Fatalf("not %s", what)
		}
	}
}
