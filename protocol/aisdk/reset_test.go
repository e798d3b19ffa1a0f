package aisdk_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// shown returns what a page shows, given that a data-stream-reset voids the parts of its step, and that a
// start voids the message, which begins again.
func shown(list []chunk) string {
	var done, step strings.Builder
	for _, c := range list {
		switch c.kind() {
		case "start":
			done.Reset()
			step.Reset()
		case "start-step":
			done.WriteString(step.String())
			step.Reset()
		case "data-stream-reset":
			step.Reset()
		case "text-delta":
			step.WriteString(c["delta"].(string))
		}
	}
	return done.String() + step.String()
}

// checkOpen checks that parts are started before they are appended to.
func checkOpen(t *testing.T, list []chunk) {
	t.Helper()
	open := map[any]bool{}
	for _, c := range list {
		switch c.kind() {
		case "text-start":
			open[c["id"]] = true
		case "text-delta", "text-end":
			if !open[c["id"]] {
				t.Fatalf("%v without a text-start", c)
			}
			if c.kind() == "text-end" {
				delete(open, c["id"])
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("texts that have no end: %v", open)
	}
}

// If the owner of a run dies in the middle of a step, a client that saw part of it is
// notified, and ends up with what really happened.
func TestReset_OwnerDies(t *testing.T) {
	goOn := make(chan struct{})
	g := newRigWith(t, goOn)
	resp, err := http.Post(g.URL+"/v1/ai-sdk/chat", "application/json", strings.NewReader(`{"id":"t","agentId":"slow","messages":[{"role":"user","content":"go"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	var body strings.Builder
	lost, deltas := "", 0
	for {
		line, err := r.ReadString('\n')
		body.WriteString(line)
		if err != nil {
			break
		}
		if strings.Contains(line, `"text-delta"`) {
			deltas++
		}
		if lost == "" && deltas == protocoltest.FirstPieces && line == "\n" {
			_, lost = protocoltest.Whole(body.String())
			if _, err := g.DB.Handle("").Acquire(t.Context(), "t"); err != nil { // another owner takes over
				t.Fatal(err)
			}
			close(goOn)
		}
	}
	if lost == "" {
		t.Fatalf("the text did not come: %s", body.String())
	}
	list := chunksOf(t, body.String())
	checkOpen(t, list)
	if find(list, "data-stream-reset") == nil {
		t.Fatalf("no reset was sent: %s", body.String())
	}
	if got := shown(list); got != protocoltest.SlowText {
		t.Errorf("the page shows %q, want %q", got, protocoltest.SlowText)
	}
	if ids := messageIDs(list); len(ids) != 1 {
		t.Errorf("the answer has the ids %q, want one: a page shows a message for each", ids)
	}

	// A client that reconnects with a position in the lost step starts over.
	run := resp.Header.Get("X-Run-Id")
	_, rest := g.get(g.URL, "/v1/ai-sdk/runs/"+run+"/stream", lost)
	again := chunksOf(t, rest)
	if again[0].kind() != "data-stream-reset" || again[1].kind() != "start" || shown(again) != protocoltest.SlowText {
		t.Errorf("after %s: %s", lost, rest)
	}
	// A client that saw nothing of it is not notified.
	_, whole := g.get(g.URL, "/v1/ai-sdk/runs/"+run+"/stream", "")
	if list := chunksOf(t, whole); find(list, "data-stream-reset") != nil || shown(list) != protocoltest.SlowText {
		t.Errorf("from the beginning: %s", whole)
	}
}

// A client that comes back before the next owner has begun is not cut off when that turns out to have
// written other entries in the place of those that it has.
func TestReset_ClientIsBackBeforeTheNextOwner(t *testing.T) {
	goOn := make(chan struct{})
	g := newRigWith(t, goOn)
	resp, err := http.Post(g.URL+"/v1/ai-sdk/chat", "application/json", strings.NewReader(`{"id":"t","agentId":"slow","messages":[{"role":"user","content":"go"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(resp.Body)
	var body strings.Builder
	for deltas := 0; deltas < protocoltest.FirstPieces; {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if body.WriteString(line); strings.Contains(line, `"text-delta"`) {
			deltas++
		}
	}
	resp.Body.Close()
	has, at := protocoltest.Whole(body.String() + "\n")
	if _, err := g.DB.Handle("").Acquire(t.Context(), "t"); err != nil { // its owner is lost
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL+"/v1/ai-sdk/runs/"+resp.Header.Get("X-Run-Id")+"/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Last-Event-ID", at)
	back, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Body.Close()
	close(goOn)
	rest, err := io.ReadAll(back.Body)
	if err != nil {
		t.Fatalf("after %s the stream was cut off: %v\n%s", at, err, rest)
	}
	if got := shown(chunksOf(t, has+string(rest))); got != protocoltest.SlowText {
		t.Errorf("the client shows %q, want %q", got, protocoltest.SlowText)
	}
}

// A step may be stored in part when its owner dies: its answer was long. What the next owner
// streams takes the place of that part.
func TestReset_StepIsBegunAgain(t *testing.T) {
	var enc aisdk.Encoder
	var out protocol.Frames
	for i, ev := range []awaken.Event{
		&awaken.RunStart{ThreadID: "t", RunID: "r"}, &awaken.StepStart{MessageID: "r-0"}, &awaken.TextDelta{Delta: "half an "},
		&awaken.RunStart{ThreadID: "t", RunID: "r"}, &awaken.StepStart{MessageID: "r-0"}, &awaken.TextDelta{Delta: "whole"}, &awaken.InferenceComplete{}, &awaken.StepEnd{},
	} {
		if err := enc.Encode(&out, &awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: uint64(i + 1)}, Event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	enc.End(&out, nil)
	list := chunksOf(t, string(out.Bytes()))
	checkOpen(t, list)
	if got := shown(list); got != "whole" {
		t.Errorf("the page shows %q: %s", got, out.Bytes())
	}
}
