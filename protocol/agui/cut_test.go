package agui_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/agui"
)

// cuts is how many places streams are cut at.
func cuts() int {
	if os.Getenv("AWAKEN_LONG") != "" {
		return 10_000
	}
	return 300
}

// whole returns the whole frames of what a client has received, and the id of the last.
func whole(received string) (frames, id string) {
	frames = received[:strings.LastIndex("\n\n"+received, "\n\n")]
	if at := strings.LastIndex("\n"+frames, "\nid: "); at >= 0 {
		id, _, _ = strings.Cut(frames[at+len("id: "):], "\n")
	}
	return frames, id
}

// Wherever a golden run's stream is cut, also between two frames of one event, what a
// client gets before and after the cut is what it would have got without.
func TestCut_GoldenRuns(t *testing.T) {
	files, err := filepath.Glob(goldenRuns + "/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var runs []*txtar.Archive
	for _, f := range files {
		a, err := txtar.ParseFile(f)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, a)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	inside := 0
	for range cuts() {
		a := runs[rnd.IntN(len(runs))]
		all := encodeAfter(t, a, protocol.Position{})
		have, id := whole(all[:rnd.IntN(len(all)+1)])
		var after protocol.Position
		if id != "" {
			if after, err = protocol.ParsePosition(id); err != nil {
				t.Fatal(err)
			}
		}
		if got := have + encodeAfter(t, a, after); got != all {
			t.Fatalf("cut after %q:\n%s\nwant\n%s", id, got, all)
		}
		if after.Frames > 1 {
			inside++
		}
	}
	if inside == 0 {
		t.Error("no cut was between two frames of one event")
	}
}

// encodeAfter encodes a golden file for a client that has what comes before a position, as
// the server does it.
func encodeAfter(t *testing.T, a *txtar.Archive, has protocol.Position) string {
	t.Helper()
	enc := agui.NewEncoder(agui.Options{Current: true})
	var f protocol.Frames
	at := awaken.Cursor{Epoch: 1}
	for _, section := range a.Files {
		if !eventSection.MatchString(section.Name) {
			continue
		}
		for _, ev := range eventsOf(t, section.Data) {
			at.Seq++
			have, n := 0, len(f.Bytes())
			if at.Seq == has.Seq {
				have = has.Frames
			}
			f.Entry(at, have)
			if err := enc.Encode(&f, &awaken.Entry{Cursor: at, Event: ev}); err != nil {
				t.Fatal(err)
			}
			if at.Seq < has.Seq {
				f.Into(f.Bytes()[:n])
			}
		}
	}
	return string(f.Bytes())
}

// The same over HTTP: a client that is cut off at any byte, as often as it may be, sends
// its request again and goes on at any replica, gets every byte of the stream once. Some of
// the runs are over, and some are going on.
func TestCut_Replicas(t *testing.T) {
	g := newRig(t)
	_, other := g.start(false)
	urls := []string{g.url, other}
	rnd := rand.New(rand.NewPCG(3, 4))
	type run struct{ body, all string }
	var over []run
	for i, word := range []string{"scenario:text", "scenario:reasoning", `RUN_TOOL talk {"n":9}`, "scenario:error", "RUN_TOOL ask", "RUN_TOOL where", strings.Repeat("a long message ", 20)} {
		body := fmt.Sprintf(`{"threadId":"over-%d","runId":"run-%d","messages":[{"id":"m-%d","role":"user","content":%q}]}`, i, i, i, word)
		status, all := g.post(g.url, "/run", body)
		if status != 200 {
			t.Fatalf("%d: %s", status, all)
		}
		over = append(over, run{body, all})
	}
	for i := range cuts() / 3 {
		r := over[rnd.IntN(len(over))]
		live := make(chan string, 1)
		if i%5 == 0 {
			r = run{body: fmt.Sprintf(`{"threadId":"live-%d","runId":"live-run-%d","agentId":"slow","messages":[{"id":"live-m-%d","role":"user","content":"go"}]}`, i, i, i)}
			resp := g.send(http.MethodPost, g.url+"/v1/ag-ui/run", r.body, "")
			go func() {
				defer resp.Body.Close()
				live <- readAll(resp)
			}()
		}
		received, id := "", ""
		for n, ended := 0, false; !ended; n++ {
			var got string
			got, ended = g.piece(urls[rnd.IntN(2)], r.body, id, rnd.IntN(3000)+1, n > 20)
			have, newID := whole(got)
			if newID != "" {
				id = newID
			}
			received += have
		}
		if r.all == "" {
			r.all = <-live
		}
		if received != r.all {
			t.Fatalf("%s:\n%s\nwant\n%s", r.body, received, r.all)
		}
	}
}

func readAll(resp *http.Response) string {
	var sb strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(buf)
		sb.Write(buf[:n])
		if err != nil {
			return sb.String()
		}
	}
}

// piece sends a request, reads so many bytes of the answer, or all, and hangs up.
func (g *rig) piece(url, body, lastEventID string, bytes int, all bool) (got string, ended bool) {
	g.tb.Helper()
	resp := g.send(http.MethodPost, url+"/v1/ag-ui/run", body, lastEventID)
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		g.tb.Fatalf("%s: %s", resp.Status, readAll(resp))
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

// page is what a client shows, by the rules of its reducer that matter here.
type page struct {
	ids  []string
	text map[string]string
}

func (p *page) apply(list []event) {
	for _, e := range list {
		switch e.kind() {
		case "TEXT_MESSAGE_START":
			if _, ok := p.text[e["messageId"].(string)]; !ok {
				p.ids = append(p.ids, e["messageId"].(string))
			}
		case "TEXT_MESSAGE_CONTENT":
			p.text[e["messageId"].(string)] += e["delta"].(string)
		case "MESSAGES_SNAPSHOT":
			p.ids, p.text = nil, map[string]string{}
			for _, m := range e["messages"].([]any) {
				m := m.(map[string]any)
				if s, ok := m["content"].(string); ok && m["role"] == "assistant" {
					p.ids = append(p.ids, m["id"].(string))
					p.text[m["id"].(string)] = s
				}
			}
		}
	}
}

func (p *page) shows() (out []string) {
	for _, id := range p.ids {
		out = append(out, p.text[id])
	}
	return out
}

// If the owner of a run is lost in the middle of a step, a client that has seen some of it
// shows in the end what really happened: whether it stays, comes back with what it has, or
// connects anew.
func TestReset_OwnerIsLost(t *testing.T) {
	goOn := make(chan struct{})
	g := newRigWith(t, slowly{goOn})
	body := `{"threadId":"t","runId":"r","agentId":"slow","messages":[{"id":"m","role":"user","content":"go"}]}`
	resp := g.send(http.MethodPost, g.url+"/v1/ag-ui/run", body, "")
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	var got strings.Builder
	lost, before, deltas := "", "", 0
	for {
		line, err := in.ReadString('\n')
		got.WriteString(line)
		if err != nil {
			break
		}
		if strings.Contains(line, `"TEXT_MESSAGE_CONTENT"`) {
			deltas++
		}
		if lost == "" && deltas == firstPieces && line == "\n" {
			before, lost = whole(got.String())
			if _, err := g.db.Handle("").Acquire(t.Context(), "t"); err != nil { // somebody else becomes the owner
				t.Fatal(err)
			}
			close(goOn)
		}
	}
	if lost == "" {
		t.Fatalf("the text did not come: %s", got.String())
	}
	want := fmt.Sprint([]string{slowText})
	stays := &page{text: map[string]string{}}
	stays.apply(eventsIn(t, got.String()))
	if s := fmt.Sprint(stays.shows()); s != want {
		t.Errorf("a page that stays shows %q, want %q: %s", s, want, got.String())
	}
	for name, rest := range map[string]*http.Response{
		"comes back": g.send(http.MethodPost, g.url+"/v1/ag-ui/run", body, lost),
		"connects":   g.send(http.MethodPost, g.url+"/v1/ag-ui/agent/slow/connect", `{"threadId":"t"}`, ""),
	} {
		p := &page{text: map[string]string{}}
		p.apply(eventsIn(t, before))
		p.apply(eventsIn(t, readAll(rest)))
		rest.Body.Close()
		if s := fmt.Sprint(p.shows()); s != want {
			t.Errorf("a page that %s shows %q, want %q", name, s, want)
		}
	}
}
