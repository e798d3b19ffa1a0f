package agui_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// A suspended call is made only if a person approves it explicitly. Any other answer is
// refused and decides nothing, and the question stays open.
func TestResume_OnlyApprovedIsApproval(t *testing.T) {
	g := newRig(t)
	id := interrupts(t, g.say("t", `RUN_TOOL ask {"path":"a"}`))[0]["id"]
	for payload, want := range map[string]string{
		`false`:               `resume[0].payload is false, want an object with \"approved\": true or false`,
		`true`:                `resume[0].payload is true, want an object with \"approved\": true or false`,
		`"no"`:                `resume[0].payload is \"no\", want an object with \"approved\": true or false`,
		`null`:                `resume[0].payload is missing, want an object with \"approved\": true or false`,
		`{}`:                  `resume[0].payload.approved is missing, want true or false`,
		`{"answer":"no"}`:     `resume[0].payload.approved is missing, want true or false`,
		`{"approved":null}`:   `resume[0].payload.approved is null, want true or false`,
		`{"approved":"no"}`:   `resume[0].payload.approved is \"no\", want true or false`,
		`{"approved":1}`:      `resume[0].payload.approved is 1, want true or false`,
		`{"Approved":true}`:   `resume[0].payload.approved is missing, want true or false`,
		`{"approved":[true]}`: `resume[0].payload.approved is [true], want true or false`,
	} {
		for _, run := range []string{"", `"runId":"again",`} {
			status, body := g.post(g.URL, "/run", fmt.Sprintf(`{"threadId":"t",%s"resume":[{"interruptId":%q,"status":"resolved","payload":%s}]}`, run, id, payload))
			if status != http.StatusBadRequest || !strings.Contains(body, want) {
				t.Errorf("%s: %d %s, want %s", payload, status, body, want)
			}
		}
	}
	if status, body := g.post(g.URL, "/run", `{"threadId":"t","resume":[{"interruptId":"unknown","status":"resolved","payload":"no"}]}`); status != http.StatusNotFound {
		t.Errorf("an unknown interrupt: %d %s", status, body)
	}
	list := g.ask(fmt.Sprintf(`{"threadId":"t","resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":false,"reason":"not now"}}]}`, id))
	if got := find(t, list, "TOOL_CALL_RESULT")["content"].(string); strings.Contains(got, "did") || !strings.Contains(got, "not now") {
		t.Errorf("after a denial: %s", got)
	}
}

// A repeated answer is the same decision, even when the run no longer waits: it is read by the
// rules of its question.
func TestResume_RepeatedAnswerIsTheSameDecision(t *testing.T) {
	g := newRig(t)
	id := interrupts(t, g.say("t", `RUN_TOOL ask {"mode":"use_decision_as_tool_result"}`))[0]["id"]
	body := fmt.Sprintf(`{"threadId":"t","runId":"r2","resume":[{"interruptId":%q,"status":"resolved","payload":"as you like"}]}`, id)
	first, second := g.ask(body), g.ask(body)
	if !slices.Equal(kinds(first), kinds(second)) || find(t, second, "TOOL_CALL_RESULT")["content"] != "as you like" {
		t.Errorf("got %v, and then %v", kinds(first), kinds(second))
	}
}

// The announced schema requires approved, even if the question has a schema of its own, like
// those of the permission plugin.
func TestInterrupt_SchemaRequiresApproved(t *testing.T) {
	for own, want := range map[string]string{
		``: `{"type":"object","properties":{"approved":{"type":"boolean"},"reason":{"type":"string"},"editedArgs":{"type":"object"}},"required":["approved"]}`,
		`{"properties":{"remember":{"enum":["run"]}}}`: `{"properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"},"reason":{"type":"string"},"remember":{"enum":["run"]}},` +
			`"required":["approved"],"type":"object"}`,
		`{"properties":{"reason":{"minLength":3},"approved":{}},"required":["reason"]}`: `{"properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"},"reason":{"minLength":3}},` +
			`"required":["reason","approved"],"type":"object"}`,
	} {
		ticket := awaken.WaitingTicket{TicketID: "i", ToolCallID: "c", ResumeMode: awaken.ReplayToolCall, Suspension: &awaken.Suspension{ResponseSchema: json.RawMessage(own)}}
		var f protocol.Frames
		enc := agui.NewEncoder(agui.Options{Current: true})
		for i, ev := range []awaken.Event{&awaken.RunStart{ThreadID: "t", RunID: "r"}, &awaken.RunFinish{ThreadID: "t", RunID: "r", Termination: awaken.Termination{Type: awaken.Suspended},
			Result: &awaken.RunOutput{Waiting: &awaken.Waiting{Tickets: []awaken.WaitingTicket{ticket}}}}} {
			at := awaken.Cursor{Epoch: 1, Seq: uint64(i + 1)}
			f.Entry(at, 0)
			if err := enc.Encode(&f, &awaken.Entry{Cursor: at, Event: ev}); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(f.Bytes()); !strings.Contains(got, `"responseSchema":`+want) {
			t.Errorf("%s: %s\nwant %s", own, got, want)
		}
	}
}

// Models reuse call ids. A result that precedes the call is not its result.
func TestRun_OldResultsAnswerNothing(t *testing.T) {
	g := newRig(t)
	g.Model.Model = llmtest.NewRules(llmtest.Rule{Turn: func(req *llm.Request) llmtest.Turn {
		if last := req.Messages.At(req.Messages.Len() - 1); last.Role == llm.User && last.Text() == "where" {
			return llmtest.Turn{ToolCalls: []llmtest.Call{{ID: "c", Name: "where"}}}
		}
		return llmtest.Turn{Text: llmtest.Text{"fine"}}
	}})
	g.say("t", "where")
	g.ask(`{"threadId":"t","messages":[{"id":"r1","role":"tool","toolCallId":"c","content":"at home"}]}`)
	g.say("t", "where")
	said := func(more string) string {
		_, stored := g.history("t")
		all, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"threadId":"t","messages":%s,%s]}`, strings.TrimSuffix(string(all), "]"), more)
	}
	list := g.ask(said(`{"id":"r2","role":"tool","toolCallId":"c~2","content":"at work"}`))
	if got := find(t, list, "TOOL_CALL_RESULT")["content"]; got != "at work" {
		t.Errorf("the result is %v", got)
	}
	g.say("t", "where")
	g.ask(said(`{"id":"u","role":"user","content":"never mind"}`))
	var results []string
	_, stored := g.history("t")
	for _, m := range stored {
		if m["role"] == "tool" {
			results = append(results, m["content"].(string))
		}
	}
	if len(results) < 2 || !slices.Equal(results[:2], []string{"at home", "at work"}) || slices.Contains(results[2:], "at home") || slices.Contains(results[2:], "at work") {
		t.Errorf("results are %q", results)
	}
}

// Messages are returned byte for byte.
func TestMessages_AreReturnedByteForByte(t *testing.T) {
	g := newRig(t)
	const text = `const [, set] = useState([,"a"])`
	g.say("t", text)
	if _, msgs := g.history("t"); msgs[0]["content"] != text {
		t.Errorf("it says %q", msgs[0]["content"])
	}
}

// A made-up position in a request that creates a thread is treated as lost: the client gets
// the run from its beginning.
func TestRun_MadeUpPositionIsLost(t *testing.T) {
	g := newRig(t)
	const body = `{"runId":"r","messages":[{"id":"m","role":"user","content":"hello"}]}`
	g.ask(body)
	resp := g.send(http.MethodPost, g.URL+"/v1/ag-ui/run", body, "0-5.1")
	defer resp.Body.Close()
	list := eventsIn(t, protocoltest.ReadAll(resp))
	if k := kinds(list); resp.StatusCode != 200 || len(k) == 0 || k[0] != "RUN_STARTED" || k[len(k)-1] != "RUN_FINISHED" {
		t.Errorf("%s: %v", resp.Status, k)
	}
}

// Requests whose concatenated ids are equal are still different requests.
func TestRun_IDsWithColonsDoNotCollide(t *testing.T) {
	g := newRig(t)
	for _, ids := range [][2]string{{"a:b", "c"}, {"a", "b:c"}} {
		list := g.ask(fmt.Sprintf(`{"threadId":%q,"runId":%q,"messages":[{"id":"m","role":"user","content":"hello"}]}`, ids[0], ids[1]))
		if start := find(t, list, "RUN_STARTED"); start["threadId"] != ids[0] || start["runId"] != ids[1] {
			t.Errorf("%q was answered with %v", ids, start)
		}
	}
}

// endless is an endless stream of text.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A stream that waits for its run does not keep the request that it answers.
func TestStream_ReleasesItsRequestBody(t *testing.T) {
	const streams, size = 3, 4 << 20
	g := newRig(t)
	for i := range streams {
		g.say(fmt.Sprint("t", i), "hello")
	}
	g.Model.Asked = make(chan *llm.Request) // never read, so the runs block
	defer func() {
		for range streams {
			<-g.Model.Asked
		}
	}()
	heap := func() uint64 {
		var m runtime.MemStats
		for range 3 { // pools are emptied by the second
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range streams {
		// The client generates the body, so that it does not retain it either.
		body := io.MultiReader(strings.NewReader(fmt.Sprintf(`{"threadId":"t%d","messages":[{"role":"tool","toolCallId":"old","content":"`, i)),
			io.LimitReader(endless{}, size), strings.NewReader(`"},{"role":"user","content":"go"}]}`))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/v1/ag-ui/run", body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Fatal(resp.Status)
		}
	}
	if after := heap(); after > before+size {
		t.Errorf("%d streams keep %d bytes of requests of %d", streams, after-before, size)
	}
}

// The result of an earlier call is not that of a later call with the same id, even if the
// client does not know of the later call yet, whether in another run or in the same.
func TestClientTool_IgnoresStaleResults(t *testing.T) {
	for name, times := range map[string]int{"another run": 1, "the same run": 2} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			g.Model.Model = llmtest.NewRules(llmtest.Rule{Turn: protocoltest.Calls("where", times)})
			send := func(run string, messages ...string) (int, string) {
				return g.post(g.URL, "/run", fmt.Sprintf(`{"threadId":"t","runId":%q,"protocolVersion":"1.0","messages":[%s]}`, run, strings.Join(messages, ",")))
			}
			called := func(body string) string {
				start := find(t, eventsIn(t, body), "TOOL_CALL_START")
				return fmt.Sprintf(`{"id":%q,"role":"assistant","toolCalls":[{"id":%q,"type":"function","function":{"name":"where","arguments":"{}"}}]}`, start["parentMessageId"], start["toolCallId"])
			}
			const one, two = `{"id":"m1","role":"user","content":"one"}`, `{"id":"m2","role":"user","content":"two"}`
			const here, there = `{"id":"r1","role":"tool","toolCallId":"call_0","content":"here"}`, `{"id":"r2","role":"tool","toolCallId":"call_0~2","content":"there"}`
			_, body := send("run1", one)
			first := called(body)
			if _, body = send("run2", one, first, here); times == 1 {
				_, body = send("run3", one, first, here, two)
			}
			second := called(body)
			waits := func(what string, messages ...string) {
				t.Helper()
				status, body := send("run-"+what, messages...)
				if run := g.Open("t"); run == nil || run.Status != awaken.RunWaiting {
					t.Fatalf("%s: %d %s, the run is %+v, want it to wait", what, status, body, run)
				}
			}
			waits("stale", one, first, here)
			waits("stale-again", first, here)
			if times == 1 {
				waits("stale-before-what-was-said", one, here, two, `{"id":"x","role":"activity","activityType":"note","content":{}}`)
			}
			status, body := send("run9", one, first, here, second, there)
			if status != 200 || g.Open("t") != nil || !strings.Contains(body, "there") {
				t.Errorf("the result itself: %d %s", status, body)
			}
		})
	}
}
