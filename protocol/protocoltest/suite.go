package protocoltest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/protocol"
)

// Request is a request of a client. Headers are alternating names and values.
type Request struct {
	Method, Path, Body string
	Headers            []string
}

// send sends a request of a client to a server.
func (r Request) send(g *Rig, url string, headers ...string) *http.Response {
	g.TB.Helper()
	return g.Send(r.Method, url+r.Path, r.Body, append(slices.Clone(r.Headers), headers...)...)
}

// ask sends a request and returns the status and the body of the response.
func (r Request) ask(g *Rig, url string, headers ...string) (int, string) {
	g.TB.Helper()
	return g.Ask(r.Method, url+r.Path, r.Body, append(slices.Clone(r.Headers), headers...)...)
}

// Protocol is what the suite needs to know about a protocol.
type Protocol struct {
	Routes []protocol.Route
	// Golden returns the streams of the golden runs. Each function encodes one for a client at a
	// position.
	Golden func(tb testing.TB) []func(has protocol.Position) string
	// Say returns the request that sends a message to an agent on a thread, with ids of its
	// own.
	Say func(agent, thread, text string) Request
	// Again returns the request with which a client that was cut off resumes the response to
	// such a request.
	Again func(said Request, answer http.Header) Request
	// Approve returns the request that approves the only waiting call of a thread by its ticket
	// id and asks to remember that for a scope. Nil means that the protocol cannot express it.
	Approve func(thread, ticket, scope string) Request
	// Instruct returns a request that sends "RUN_TOOL fail" to an agent, with a system message and the
	// state of a page that both contain a text, and a client tool named fail. Nil means that clients of
	// the protocol have none of these.
	Instruct func(agent, thread, text string) Request
}

// Test runs the suite.
func Test(t *testing.T, p Protocol) {
	t.Run("Cut_GoldenRuns", func(t *testing.T) { cutGolden(t, p) })
	t.Run("Cut_Replicas", func(t *testing.T) { cutReplicas(t, p) })
	t.Run("Users", func(t *testing.T) { users(t, p) })
	if p.Instruct != nil {
		t.Run("Trust", func(t *testing.T) { trust(t, p) })
	}
	t.Run("OpenAPI", func(t *testing.T) {
		g := New(t, p.Routes)
		if status, body := g.Ask(http.MethodGet, g.URL+"/openapi.json", ""); status != 200 || !strings.Contains(body, p.Routes[0].Path) {
			t.Errorf("%d %.300s", status, body)
		}
	})
	if p.Approve != nil {
		t.Run("Scopes", func(t *testing.T) { scopes(t, p) })
	}
}

// cuts is the number of places at which streams are cut.
func cuts() int {
	if os.Getenv("AWAKEN_LONG") != "" {
		return 10_000
	}
	return 300
}

// Whole returns the complete frames that a client has received, up to the last one with an id, and
// that id. Frames without an id come only at the end, and are sent again.
func Whole(received string) (frames, id string) {
	end := strings.LastIndex(received, "\n\n")
	if end < 0 {
		return "", ""
	}
	frames = received[:end+2]
	at := strings.LastIndex("\n"+frames, "\nid: ")
	if at < 0 {
		return "", ""
	}
	id, _, _ = strings.Cut(frames[at+len("id: "):], "\n")
	rest := frames[at:]
	return frames[:at] + rest[:strings.Index(rest, "\n\n")+2], id
}

// Wherever a golden run's stream is cut, even between two frames of one event, what a client gets
// before and after the cut equals the stream without the cut.
func cutGolden(t *testing.T, p Protocol) {
	streams := p.Golden(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	inside := 0
	for range cuts() {
		encode := streams[rnd.IntN(len(streams))]
		all := encode(protocol.Position{})
		have, id := Whole(all[:rnd.IntN(len(all)+1)])
		var after protocol.Position
		if id != "" {
			var err error
			if after, err = protocol.ParsePosition(id); err != nil {
				t.Fatal(err)
			}
		}
		if got := have + encode(after); got != all {
			t.Fatalf("cut after %q:\n%s\nwant\n%s", id, got, all)
		}
		if strings.Contains(all, "id: "+protocol.Position{Cursor: after.Cursor, Frames: after.Frames + 1}.String()+"\n") {
			inside++
		}
	}
	if inside == 0 {
		t.Error("no cut was between two frames of one event")
	}
}

// The same over HTTP: a client that is cut off at any byte, any number of times, and resumes at any
// replica gets every byte of the stream once. Some of the runs are over, and some are in progress.
func cutReplicas(t *testing.T, p Protocol) {
	g := New(t, p.Routes)
	_, other := g.Start(false)
	urls := []string{g.URL, other}
	rnd := rand.New(rand.NewPCG(3, 4))
	type run struct {
		again Request
		all   string
	}
	var over []run
	for i, word := range []string{"scenario:text", "scenario:reasoning", `RUN_TOOL talk {"n":9}`, "RUN_TOOL fail", "scenario:error", "RUN_TOOL ask", "RUN_TOOL where", strings.Repeat("a long message ", 20)} {
		said := p.Say("default", fmt.Sprint("over-", i), word)
		resp := said.send(g, g.URL)
		all := ReadAll(resp)
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Fatalf("%d: %s", resp.StatusCode, all)
		}
		over = append(over, run{p.Again(said, resp.Header), all})
	}
	for i := range cuts() / 3 {
		r := over[rnd.IntN(len(over))]
		live := make(chan string, 1)
		if i%5 == 0 {
			said := p.Say("slow", fmt.Sprint("live-", i), "go")
			resp := said.send(g, g.URL)
			r = run{again: p.Again(said, resp.Header)}
			go func() {
				defer resp.Body.Close()
				live <- ReadAll(resp)
			}()
		}
		received, id := "", ""
		for n, ended := 0, false; !ended; n++ {
			var got string
			got, ended = g.piece(r.again, urls[rnd.IntN(2)], id, rnd.IntN(3000)+1, n > 20)
			got = strings.TrimPrefix(got, "id: "+id+"\ndata: \n\n") // a frame that only repeats where the client is
			have, newID := Whole(got)
			if newID != "" {
				id = newID
			}
			if ended {
				have = got
			}
			received += have
		}
		if r.all == "" {
			r.all = <-live
		}
		if received != r.all {
			t.Fatalf("%v:\n%s\nwant\n%s", r.again, received, r.all)
		}
	}
}

// piece sends a request, reads n bytes of the response, or all, and disconnects.
func (g *Rig) piece(r Request, url, lastEventID string, bytes int, all bool) (got string, ended bool) {
	g.TB.Helper()
	resp := r.send(g, url, "Last-Event-ID", lastEventID)
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		g.TB.Fatalf("%s: %s", resp.Status, ReadAll(resp))
	}
	buf := make([]byte, 512)
	for all || len(got) < bytes {
		n, err := resp.Body.Read(buf)
		got += string(buf[:n])
		if err != nil {
			return got, true
		}
	}
	return got[:min(len(got), max(bytes, 1))], false
}

// A run is for the user that the proxy names.
func users(t *testing.T, p Protocol) {
	g := New(t, p.Routes)
	for _, user := range []string{"", "alice"} {
		said := p.Say("default", "thread-of-"+user, "RUN_TOOL ask")
		if status, body := said.ask(g, g.URL, UserHeader, user); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		if run := g.Open("thread-of-" + user); run == nil || run.UserID != user || run.Adapter == "" {
			t.Errorf("the run is %+v, want it to be for %q", run, user)
		}
	}
}

// What a user approves in a page holds for that user only, unless the configuration allows more.
func scopes(t *testing.T, p Protocol) {
	for _, tt := range []struct {
		api           bool // whether the run was started by the API
		agent, of, by string
		scope         string
		refused       string // the error, or "" if it is accepted
	}{
		{false, "careful", "", "", "thread", ""},
		{false, "careful", "", "", "project", "applies to all users of the agent"},
		{false, "careful", "", "", "user", "has no user"},
		{false, "careful", "alice", "alice", "user", ""},
		{false, "careful", "alice", "bob", "user", "thread not found"},
		{false, "careful", "alice", "bob", "thread", "thread not found"},
		{false, "careful", "alice", "", "user", "thread not found"},
		{false, "careful", "alice", "alice", "project", "applies to all users of the agent"},
		{false, "shared", "", "", "project", ""},
		{true, "careful", "alice", "", "project", "thread not found"},
		{true, "careful", "alice", "", "thread", "thread not found"},
		{true, "careful", "alice", "alice", "user", ""},
	} {
		g := New(t, p.Routes)
		said := p.Say(tt.agent, "t", "RUN_TOOL talk")
		if tt.api {
			said = Request{Method: http.MethodPost, Path: "/v1/runs", Body: fmt.Sprintf(`{"agent_id":%q,"thread_id":"t","stream":false,"messages":[{"role":"user","content":"RUN_TOOL talk"}]}`, tt.agent)}
		}
		if status, body := said.ask(g, g.URL, UserHeader, tt.of); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		run := g.Open("t")
		if run == nil || run.Waiting == nil {
			t.Fatalf("%+v: nothing waits", tt)
		}
		r := p.Approve("t", run.Waiting.Tickets[0].TicketID, tt.scope)
		status, body := r.ask(g, g.URL, UserHeader, tt.by)
		if tt.refused == "" && (status != 200 || g.Open("t") != nil) || tt.refused != "" && (status != 403 && status != 404 || !strings.Contains(body, tt.refused) || g.Open("t") == nil) {
			t.Errorf("%+v: %d %s", tt, status, body)
		}
	}
}
