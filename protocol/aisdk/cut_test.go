package aisdk_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/protocol"
)

// cuts is how many places streams are cut at.
func cuts() int {
	if os.Getenv("AWAKEN_LONG") != "" {
		return 10_000
	}
	return 300
}

// lastID is the id of the last whole frame of what a client has received, and those frames.
func lastID(received string) (id, frames string) {
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
	// Frames without an id come at the end only, and are sent again.
	rest := frames[at:]
	return id, frames[:at] + rest[:strings.Index(rest, "\n\n")+2]
}

// Wherever a golden run's stream is cut, also between two frames of one event, what a
// client gets before and after the cut is what it would have got without.
func TestCut_GoldenRuns(t *testing.T) {
	var all []response
	for _, file := range goldenRuns(t) {
		all = append(all, responses(t, file)...)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	inside := 0
	for range cuts() {
		r := all[rnd.IntN(len(all))]
		whole := string(r.encode(t, protocol.Position{}))
		id, have := lastID(whole[:rnd.IntN(len(whole)+1)])
		after, err := protocol.ParsePosition(id)
		if id != "" && err != nil {
			t.Fatal(err)
		}
		if got := have + string(r.encode(t, after)); got != whole {
			t.Fatalf("cut after %q:\n%s\nwant\n%s", id, got, whole)
		}
		if after.Frames > 1 {
			inside++
		}
	}
	if inside == 0 {
		t.Error("no cut was between two frames of one event")
	}
}

// The same over HTTP: a client that is cut off at any byte, as often as it may be, and goes
// on at any replica, gets every byte of the stream once. Half of the runs are over, and half
// are going on.
func TestCut_Replicas(t *testing.T) {
	g := newRig(t)
	_, other := g.start(false)
	urls := []string{g.url, other}
	rnd := rand.New(rand.NewPCG(3, 4))
	type run struct{ id, whole string }
	var over []run
	for i, word := range []string{"scenario:text", "scenario:reasoning", `RUN_TOOL talk {"n":9}`, "RUN_TOOL fail", "RUN_TOOL ask", "RUN_TOOL where", strings.Repeat("a long message ", 20)} {
		id := find(g.say(fmt.Sprint("over-", i), word), "data-run-info")["data"].(map[string]any)["runId"].(string)
		status, whole := g.get(g.url, "/v1/ai-sdk/runs/"+id+"/stream", "")
		if status != 200 {
			t.Fatalf("%d: %s", status, whole)
		}
		over = append(over, run{id, whole})
	}
	for i := range cuts() / 3 {
		r := over[rnd.IntN(len(over))]
		live := make(chan string, 1)
		if i%5 == 0 {
			resp, err := http.Post(g.url+"/v1/ai-sdk/chat", "application/json", strings.NewReader(`{"agentId":"slow","messages":[{"role":"user","content":"go"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			r = run{id: resp.Header.Get("X-Run-Id")}
			go func() {
				defer resp.Body.Close()
				live <- readAll(resp)
			}()
		}
		received, id := "", ""
		for n, ended := 0, false; !ended; n++ {
			var got string
			got, ended = g.piece(urls[rnd.IntN(2)]+"/v1/ai-sdk/runs/"+r.id+"/stream", id, rnd.IntN(3000)+1, n > 20)
			newID, have := lastID(got)
			if newID != "" {
				id = newID
			}
			if ended {
				have = got
			}
			received += have
		}
		if r.whole == "" {
			r.whole = <-live
		}
		if received != r.whole {
			t.Fatalf("run %s:\n%s\nwant\n%s", r.id, received, r.whole)
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

// piece reads so many bytes of a stream, or all, and hangs up.
func (g *rig) piece(url, lastEventID string, bytes int, all bool) (got string, ended bool) {
	g.tb.Helper()
	req, err := http.NewRequestWithContext(g.tb.Context(), http.MethodGet, url, nil)
	if err != nil {
		g.tb.Fatal(err)
	}
	if lastEventID != "" {
		req.Header.Set("Last-Event-ID", lastEventID)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.tb.Fatal(err)
	}
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
