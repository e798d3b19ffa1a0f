package replicatest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/rigtest"
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
	running  []*rigtest.Program
}

// adminToken is the admin key of programs.
const adminToken = "the-admin-key-of-all-replicas"

// startPrograms starts three replicas with settings, which are environment variables.
func startPrograms(t *testing.T, settings ...string) *programs {
	t.Helper()
	if os.Getenv("AWAKEN_BIN") == "" {
		t.Skip("AWAKEN_BIN names no program")
	}
	p := &programs{TB: t}
	p.settings = append([]string{"AWAKEN_ADMIN_API_BEARER_TOKEN=" + adminToken, "AWAKEN_DATABASE_URL=" + postgresServer.Database(), "AWAKEN_LOG_LEVEL=warn"}, settings...)
	for range 3 {
		r := p.start()
		p.urls, p.running = append(p.urls, r.URLs[0]), append(p.running, r)
	}
	p.url = newBalancer(t, p.urls)
	return p
}

// start starts another replica, which may have more settings.
func (p *programs) start(settings ...string) *rigtest.Program {
	p.Helper()
	return rigtest.Serve(p.TB, slices.Concat(p.settings, settings), "--seed", "demo")
}

// crash kills every replica, and starts others at their addresses.
func (p *programs) crash() {
	p.Helper()
	for _, r := range p.running {
		r.Kill()
	}
	for _, r := range p.running {
		r.Again()
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
	out, err := rigtest.Command(p, p.TempDir(), p.settings, args...).CombinedOutput()
	text := string(out)
	if err != nil || len(args) == n || strings.Count(text, `"equal":true`) != len(args)-n {
		p.Errorf("%d runs are replayed: %v\n%s", len(args)-n, err, text)
	}
	p.Logf("%d runs replay, %d of them event by event, within %s", strings.Count(text, `"equal":true`), strings.Count(text, `"equal":true`)-strings.Count(text, `"events":0`), time.Since(began).Round(time.Millisecond))
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
	c := &rigtest.Client{URLs: []string{p.url}, Key: key}
	resp, err := c.Open(ctx, method, path, body, headers...)
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
	rigtest.Until(p, what, patience, ok)
}
