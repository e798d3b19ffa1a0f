package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/store/sqlite"
)

// feedClient reads a feed, and resumes it where it was.
type feedClient struct {
	g       *rig
	path    string
	headers []string
	cursor  string
	cancel  context.CancelFunc
	lines   *bufio.Scanner
}

// connect opens the feed, and waits for the frame that tells where it begins.
func (c *feedClient) connect() {
	c.g.t.Helper()
	ctx, cancel := context.WithTimeout(c.g.t.Context(), time.Minute)
	req, err := http.NewRequestWithContext(ctx, "GET", c.g.http.URL+c.path, nil)
	if err != nil {
		c.g.t.Fatal(err)
	}
	for i := 0; i+1 < len(c.headers); i += 2 {
		req.Header.Set(c.headers[i], c.headers[i+1])
	}
	if c.cursor != "" {
		req.Header.Set("Last-Event-ID", c.cursor)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != 200 {
		c.g.t.Fatalf("GET %s after %q: %v, %v", c.path, c.cursor, resp, err)
	}
	c.lines, c.cancel = bufio.NewScanner(resp.Body), func() { cancel(); resp.Body.Close() }
	c.g.t.Cleanup(c.cancel)
	if first := c.frame(); first.data != "" || first.id == "" {
		c.g.t.Fatalf("the first frame is %+v, want an id alone", first)
	}
}

// frame reads a frame.
func (c *feedClient) frame() (f frame) {
	c.g.t.Helper()
	for c.lines.Scan() {
		name, value, _ := strings.Cut(c.lines.Text(), ": ")
		switch name {
		case "":
			if f != (frame{}) {
				return f
			}
		case "id":
			f.id, c.cursor = value, value
		case "event":
			f.event = value
		case "data":
			f.data = value
		}
	}
	c.g.t.Fatalf("the feed ended: %v", c.lines.Err())
	return f
}

// until reads changes until one is as stop says, and returns what they say.
func (c *feedClient) until(stop string) (out []string) {
	c.g.t.Helper()
	for {
		f := c.frame()
		if f.data == "" {
			continue
		}
		text := f.event
		var v map[string]any
		if err := json.Unmarshal([]byte(f.data), &v); err != nil {
			c.g.t.Fatalf("%v in %q", err, f.data)
		}
		for _, field := range []string{"thread_id", "status", "ticket_id", "action", "version", "event_kind", "outcome", "agent_id", "user_id"} {
			if s, ok := v[field].(string); ok {
				text += " " + s
			}
		}
		if ts, ok := v["tickets"].([]any); ok {
			for _, t := range ts {
				text += fmt.Sprint(" ", t.(map[string]any)["open"])
			}
		}
		if out = append(out, text); strings.Contains(text, stop) {
			return out
		}
	}
}

// A run is created, runs, asks, waits, is decided and ends; the feed says so. A client that loses its connection after every frame
// has the same as one that does not.
func TestFeed_TellsTheLifeOfARunAndIsResumedAtAnyFrame(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	whole := &feedClient{g: g, path: "/v1/events/stream"}
	whole.connect()
	start := whole.cursor
	thread, run, ticket := g.waits()
	g.want(202, "POST", "/v1/approvals/"+run+"/"+ticket, `{"action":"resume"}`)
	want := whole.until("done")
	has := func(text string) bool {
		return slices.ContainsFunc(want, func(s string) bool { return strings.HasPrefix(s, text) })
	}
	for _, text := range []string{"run " + thread + " created", "dispatch " + thread + " Queued", "run " + thread + " running", "ticket " + thread + " true",
		"run " + thread + " waiting", "decision " + thread + " " + ticket + " resume", "run " + thread + " done natural_end default"} {
		if !has(text) {
			t.Errorf("the feed has %q, and not %q", want, text)
		}
	}
	torn := &feedClient{g: g, path: "/v1/events/stream", cursor: start}
	var got []string
	for len(got) < len(want) {
		torn.connect()
		got = append(got, torn.until("")...)
		torn.cancel()
	}
	if !slices.Equal(got, want) {
		t.Errorf("a client that reconnects has %q, want %q", got, want)
	}
	some := &feedClient{g: g, path: "/v1/events/stream?kinds=run,decision&cursor=" + start}
	some.connect()
	want = slices.DeleteFunc(want, func(s string) bool { return !strings.HasPrefix(s, "run") && !strings.HasPrefix(s, "decision") })
	if got := some.until("done"); !slices.Equal(got, want) {
		t.Errorf("runs and decisions are %q, want %q", got, want)
	}
}

// The events of threads come with the changes, and are resumed with them.
func TestFeed_AddsTheEventsOfThreads(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	thread, _ := g.done()
	c := &feedClient{g: g, path: "/v1/events/stream?kinds=publication&after=0-0&thread_id=" + thread}
	c.connect()
	want := c.until("RunFinished")
	if !slices.ContainsFunc(want, func(s string) bool { return strings.HasPrefix(s, "event "+thread+" RunStarted") }) {
		t.Errorf("the feed has %q", want)
	}
	torn := &feedClient{g: g, path: c.path}
	var got []string
	for len(got) < len(want) {
		torn.connect()
		got = append(got, torn.until("")...)
		torn.cancel()
	}
	if !slices.Equal(got, want) {
		t.Errorf("a client that reconnects has %q, want %q", got, want)
	}
	g.want(200, "POST", "/v1/runs", runBody("default", thread, "again"), "Accept", "application/json")
	if got := c.until("RunFinished"); len(got) != len(want) {
		t.Errorf("another run has %q, want as many as %q", got, want)
	}
}

// A user sees what is theirs, a tenant what is its own, and only the admin of the server what is published.
func TestFeed_IsThatOfTheCaller(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	admin := []string{"Authorization", "Bearer " + adminKey}
	alice := g.keyed(server.Key{ID: "k-alice", Kind: server.RunKey, User: "alice"})
	other := g.keyed(server.Key{ID: "k-other", Kind: server.AdminKey, Tenant: "other"})
	clients := map[string]*feedClient{}
	for name, headers := range map[string][]string{"admin": admin, "alice": alice, "other": other} {
		clients[name] = &feedClient{g: g, path: "/v1/events/stream?kinds=run,publication", headers: headers}
		clients[name].connect()
	}
	if err := g.db.(*memory.DB).Config().Apply(t.Context(), &config.Change{Publish: &config.Publication{Number: 1}, SetHead: &config.Head{Live: 1}}); err != nil {
		t.Fatal(err)
	}
	bobs, _ := g.done(g.keyed(server.Key{ID: "k-bob", Kind: server.RunKey, User: "bob"})...)
	hers, _ := g.done(alice...)
	theirs, _ := g.done(other...)
	for name, want := range map[string]string{"alice": hers, "other": theirs} {
		for _, s := range clients[name].until(want + " done") {
			if !strings.HasPrefix(s, "run "+want) {
				t.Errorf("%s has %q, want only %s", name, s, want)
			}
		}
	}
	all := strings.Join(clients["admin"].until(hers+" done"), "\n")
	if !strings.Contains(all, "publication live") || !strings.Contains(all, bobs+" done") || strings.Contains(all, theirs+" ") {
		t.Errorf("the admin has %q", all)
	}
	g.want(403, "GET", "/v1/events/stream?user_id=bob", "", alice...)
	g.want(404, "GET", "/v1/events/stream?thread_id="+bobs, "", alice...)
}

// Whose a deleted thread was is not known any more: its changes are for operators, and not for those who have no user either.
func TestFeed_HidesDeletedThreads(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	g := &rig{t: t, db: db, keys: access.NewKeys(memory.NewProfile())}
	if err := g.keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
		t.Fatal(err)
	}
	g.start(func(c *servertest.Config) { c.Users = server.Users{On: true} }) // then a caller without a user has what belongs to none
	alice, none := g.keyed(server.Key{ID: "k-alice", Kind: server.RunKey, User: "alice"}), g.keyed(server.Key{ID: "k-none", Kind: server.RunKey})
	deleted, _ := g.done(alice...)
	g.want(204, "DELETE", "/v1/threads/"+deleted, "", admin...)
	hers, _ := g.done(alice...)
	unowned, _ := g.done(none...)
	for name, c := range map[string]struct {
		headers []string
		end     string
		sees    bool
	}{"the admin": {admin, unowned, true}, "the user": {alice, hers, false}, "no user": {none, unowned, false}} {
		reader := &feedClient{g: g, path: "/v1/events/stream?kinds=run", headers: c.headers, cursor: "0"}
		reader.connect()
		if all := strings.Join(reader.until(c.end+" done"), "\n"); strings.Contains(all, deleted) != c.sees {
			t.Errorf("%s has %q; changes of the deleted thread %s: want %t", name, all, deleted, c.sees)
		}
	}
}

// The feed ends when its key is revoked, although nothing changes.
func TestFeed_EndsWithItsKey(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) {
		c.Open = new(bool)
		c.Limits.Heartbeat = 20 * time.Millisecond
	})
	made := g.want(201, "POST", "/v1/keys", `{"kind":"read"}`, admin...)
	resp := g.do("GET", "/v1/events/stream", "", "Authorization", "Bearer "+made["secret"].(string))
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	g.want(204, "DELETE", "/v1/keys/"+made["id"].(string), "", admin...)
	frames := readFrames(t, resp.Body, func(f frame) bool { return f.event == "error" })
	if n := len(frames); n == 0 || frames[n-1].event != "error" || !strings.Contains(frames[n-1].data, "unauthorized") {
		t.Errorf("the feed has %v", frames)
	}
	if rest := readFrames(t, resp.Body, nil); len(rest) > 0 {
		t.Errorf("after the error came %v", rest)
	}
}

// The feed is the same over every transport, beside other requests of its connection.
func TestFeed_OverEveryTransport(t *testing.T) {
	t.Parallel()
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			_, client, url := listenBy(t, transport)
			feed, err := call(t, client, "GET", url+"/v1/events/stream?kinds=run", "")
			if err != nil || feed.StatusCode != 200 {
				t.Fatal(feed, err)
			}
			resp, err := call(t, client, "POST", url+"/v1/runs", runBody("default", "t", "hello"), "Accept", "application/json")
			if err != nil || resp.StatusCode != 200 {
				t.Fatal(resp, err)
			}
			frames := readFrames(t, feed.Body, func(f frame) bool { return strings.Contains(f.data, `"status":"done"`) })
			frames = slices.DeleteFunc(frames, func(f frame) bool { return f.data == "" })
			if len(frames) != 3 || frames[0].event != "run" || !strings.Contains(frames[0].data, `"status":"created"`) || frames[2].id == "" {
				t.Errorf("the feed has %v, want that a run was created, runs and is done", frames)
			}
		})
	}
}

// A feed whose log cannot be read answers with an error, before its stream begins.
func TestFeed_OfABrokenLogDoesNotBegin(t *testing.T) {
	t.Parallel()
	g := newBrokenRig(t, errors.New("dial tcp 10.0.0.7:5432"))
	for _, query := range []string{"", "?cursor=1", "?cursor=1.mi2bnwrk"} {
		if status, text := g.ask("GET", "/v1/events/stream"+query, "", admin...); status < 500 || strings.Contains(text, "10.0.0.7") {
			t.Errorf("%q: %d %s", query, status, text)
		}
	}
}

// A cursor behind the end of the log is refused, however large it is, and one that is no number of the log is a mistake.
func TestFeed_LargeCursors(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for _, cursor := range []string{"2147483647", "2147483648", "9007199254740993", "9223372036854775807"} {
		g.want(410, "GET", "/v1/events/stream?cursor="+cursor, "")
	}
	for _, cursor := range []string{"9223372036854775808", "18446744073709551615", "1e9", "-1"} {
		g.want(400, "GET", "/v1/events/stream?cursor="+cursor, "")
	}
	thread, _ := g.done()
	for _, cursor := range []string{"1-9223372036854775808", "18446744073709551615-1"} {
		g.want(400, "GET", "/v1/threads/"+thread+"/events?cursor="+cursor, "")
	}
}

// A cursor of a log that was replaced is refused, although the log has its position.
func TestFeed_RefusesACursorOfAnotherLog(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	c := &feedClient{g: g, path: "/v1/events/stream?kinds=run"}
	c.connect()
	g.done()
	c.until("done")
	pos, check, ok := strings.Cut(c.cursor, ".")
	if !ok || len(check) < 2 {
		t.Fatalf("the cursor is %q", c.cursor)
	}
	g.says(410, "start without a cursor", "GET", "/v1/events/stream?cursor="+pos+"."+check[:len(check)-1], "")
	c.cancel()
	c.connect()
}

func TestFeed_RefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	thread, _ := g.done()
	many := strings.Repeat("&thread_id="+thread, 9)
	for query, want := range map[string]string{
		"kinds=runs":                            `400 did you mean \"run\"?`,
		"kinds=everything":                      `400 want run, ticket, decision, dispatch, publication`,
		"kind=run":                              `400 did you mean \"kinds\"?`,
		"cursor=1-3":                            `400 want the id of a frame`,
		"cursor=1":                              `410 start without a cursor`,
		"cursor=9000000000000000000":            `410 start without a cursor`,
		"thread_id=missing":                     `404 missing`,
		"thread_id=" + thread + "&after=9-1":    `410 not of the log`,
		"thread_id=" + thread + "&after=x":      `400 want epoch-seq`,
		"after=0-0":                             `400 want one for each`,
		"x=1" + many:                            `400 unknown parameter`,
		many[1:]:                                `400 at most 8`,
		many[1 : len(many)-7*(len(many)/9)]:     `400 twice`,
		"thread_id=" + strings.Repeat("x", 999): `400 thread_id`,
	} {
		var status int
		_, _ = fmt.Sscan(want, &status)
		g.says(status, want[4:], "GET", "/v1/events/stream?"+query, "")
	}
}
