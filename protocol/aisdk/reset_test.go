package aisdk_test

import (
	"bufio"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// shown returns what a page shows, given that a data-stream-reset voids the parts of its step. A start changes nothing in the
// ai package; only a client that resumes gets one right after a data-stream-reset, and then all that it has is void.
func shown(list []chunk) string {
	var done, step strings.Builder
	reset := false
	for _, c := range list {
		switch c.kind() {
		case "start":
			if reset {
				done.Reset()
			}
		case "start-step":
			done.WriteString(step.String())
			step.Reset()
		case "data-stream-reset":
			step.Reset()
		case "text-delta":
			step.WriteString(c["delta"].(string))
		}
		reset = c.kind() == "data-stream-reset"
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

// A run starts again in the middle of a stream for many reasons. Its message starts once for the client, unless the
// run had parked, and shows each answer once.
func TestReset_RunStartsAgain(t *testing.T) {
	start := &awaken.RunStart{ThreadID: "t", RunID: "r"}
	said := []awaken.Event{&awaken.StepStart{MessageID: "r-0"}, &awaken.TextDelta{Delta: "First. "}, &awaken.InferenceComplete{}, &awaken.StepEnd{}}
	half := []awaken.Event{&awaken.StepStart{MessageID: "r-1"}, &awaken.TextDelta{Delta: "half an "}} // the answer is long, and stored in part
	whole := []awaken.Event{&awaken.StepStart{MessageID: "r-1"}, &awaken.TextDelta{Delta: "whole"}, &awaken.InferenceComplete{}, &awaken.StepEnd{}}
	parked := &awaken.RunFinish{ThreadID: "t", RunID: "r", Termination: awaken.Termination{Type: awaken.Suspended}}
	end := &awaken.RunFinish{ThreadID: "t", RunID: "r", Termination: awaken.Termination{Type: awaken.NaturalEnd}}
	for _, test := range []struct {
		name   string
		events [][]awaken.Event
		starts int
	}{
		{"before the first step", [][]awaken.Event{{start, start}, said, whole, {end}}, 1},
		{"in the first step", [][]awaken.Event{{start}, {said[0], said[1], start}, said, whole, {end}}, 1},
		{"between steps", [][]awaken.Event{{start}, said, {start}, whole, {end}}, 1},
		{"in a step", [][]awaken.Event{{start}, said, half, {start}, whole, {end}}, 1},
		{"twice in a step", [][]awaken.Event{{start}, said, half, {start}, half, {start}, whole, {end}}, 1},
		{"after it parked", [][]awaken.Event{{start}, said, {parked, start}, whole, {end}}, 2},
		{"after it parked twice without a step", [][]awaken.Event{{start}, said, {parked, start, parked, start}, whole, {end}}, 3},
		{"after it parked, and once more", [][]awaken.Event{{start}, said, {parked, start, start}, whole, {end}}, 2},
		{"to be parked in a step", [][]awaken.Event{{start}, said, half, {start, parked, start}, whole, {end}}, 2},
		{"to end", [][]awaken.Event{{start}, said, {start, end}}, 1},
		{"after it was cancelled while parked", [][]awaken.Event{{start}, said, {parked, end}}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			list, text := encodeEvents(t, slices.Concat(test.events...))
			starts := 0
			for _, c := range list {
				if c.kind() == "start" {
					starts++
				}
			}
			if starts != test.starts {
				t.Errorf("%d starts, want %d: %s", starts, test.starts, text)
			}
			want := "First. whole"
			if len(test.events[len(test.events)-1]) > 1 {
				want = "First. "
			}
			if got := shown(list); got != want {
				t.Errorf("the page shows %q, want %q: %s", got, want, text)
			}
		})
	}
}

// A step may be stored in part when its owner dies: its answer was long. What the next owner
// streams takes the place of that part, also if a call has the same ID.
func TestReset_StepIsBegunAgain(t *testing.T) {
	call := []awaken.Event{&awaken.ToolCallStart{ID: "call_0", Name: "echo"}, &awaken.ToolCallDelta{ID: "call_0", ArgsDelta: "{}"}}
	for name, again := range map[string][]awaken.Event{
		"by another owner": {&awaken.RunStart{ThreadID: "t", RunID: "r"}, &awaken.StepStart{MessageID: "r-0"}},
		"by its model":     {&awaken.StreamReset{Reason: "busy"}},
	} {
		t.Run(name, func(t *testing.T) {
			list, text := encodeEvents(t, slices.Concat(
				[]awaken.Event{&awaken.RunStart{ThreadID: "t", RunID: "r"}, &awaken.StepStart{MessageID: "r-0"}, &awaken.TextDelta{Delta: "half an "}}, call,
				again, []awaken.Event{&awaken.TextDelta{Delta: "whole"}}, call,
				[]awaken.Event{&awaken.ToolCallReady{ID: "call_0", Name: "echo"}, &awaken.InferenceComplete{}, &awaken.StepEnd{}}))
			if got := shown(list); got != "whole" {
				t.Errorf("the page shows %q: %s", got, text)
			}
			reset := slices.IndexFunc(list, func(c chunk) bool { return c.kind() == "data-stream-reset" })
			step := slices.IndexFunc(list[max(reset, 0):], func(c chunk) bool { return c.kind() == "start-step" })
			ready := find(list, "tool-input-available")
			if reset < 0 || step < 0 || ready == nil || ready["toolCallId"] != "call_0" {
				t.Errorf("the call is not in a step of its own, or not as in the history: %s", text)
			}
		})
	}
}

// encodeEvents returns the chunks of a run that is stored, and their text.
func encodeEvents(t *testing.T, events []awaken.Event) (list []chunk, text string) {
	t.Helper()
	var enc aisdk.Encoder
	var out protocol.Frames
	for i, ev := range events {
		if err := enc.Encode(&out, &awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: uint64(i + 1)}, Event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	enc.End(&out, nil)
	text = string(out.Bytes())
	list = chunksOf(t, text)
	checkOpen(t, list)
	return list, text
}
