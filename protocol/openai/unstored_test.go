package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol/openai"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// threads returns how many threads there are.
func (g *rig) threads() int {
	g.TB.Helper()
	n, err := g.Box.Tenant("").Store.CountThreads(g.TB.Context(), awaken.ThreadQuery{})
	if err != nil {
		g.TB.Fatal(err)
	}
	return n
}

// unknown asserts that a response, or what continues it, cannot be found.
func (g *rig) unknown(id, conversation string) {
	g.TB.Helper()
	for _, id := range []string{id, strings.Replace(id, "unstored_", "", 1)} {
		for _, path := range []string{"", "?stream=true"} {
			if status, body := g.Ask(http.MethodGet, g.URL+"/openai/v1/responses/"+id+path, ""); status != 404 {
				g.TB.Errorf("GET %s%s: %d %s", id, path, status, body)
			}
		}
		if status, body := g.ask("/responses/"+id+"/cancel", ""); status != 404 {
			g.TB.Errorf("cancel %s: %d %s", id, status, body)
		}
		if status, body := g.ask("/responses", fmt.Sprintf(`{"model":"default","input":"x","previous_response_id":%q}`, id)); status != 404 || parse(g.TB, body).text("error", "code") != "previous_response_not_found" {
			g.TB.Errorf("previous_response_id %s: %d %s", id, status, body)
		}
	}
	if status, body := g.ask("/responses", fmt.Sprintf(`{"model":"default","input":"x","conversation":%q}`, conversation)); status != 404 {
		g.TB.Errorf("conversation %s: %d %s", conversation, status, body)
	}
}

// A response that is not stored cannot be read, continued or cancelled, whatever the spelling of its ID, and nothing of it is left
// when it is over.
func TestUnstored_NothingIsLeft(t *testing.T) {
	g := newRig(t)
	r := g.must("/responses", `{"model":"default","input":"hi","store":false}`)
	if r["store"] != false || r.text("status") != "completed" {
		t.Errorf("%v", r)
	}
	g.unknown(r.text("id"), r.text("conversation", "id"))
	if n := g.threads(); n != 0 {
		t.Errorf("%d threads are left", n)
	}
	_, body := g.ask("/responses", `{"model":"slow","input":"hi","store":false,"stream":true}`)
	list := frames(t, body)
	last := list[len(list)-1]
	if last.text("response", "status") != "completed" || last.at("response", "store") != false {
		t.Errorf("%v", last)
	}
	for g.threads() > 0 { // the stream ends first
		time.Sleep(time.Millisecond)
	}
}

// A call of a response that is not stored can be answered, and then nothing is left. While it waits, it cannot be found
// either.
func TestUnstored_CallsAreAnswered(t *testing.T) {
	g := newRig(t)
	first := g.must("/responses", `{"model":"default","input":"RUN_TOOL lookup","store":false,"tools":[{"type":"function","name":"lookup","parameters":{"type":"object"}}]}`)
	call := first.text("output", 0, "call_id")
	g.unknown(first.text("id"), first.text("conversation", "id"))
	second := g.must("/responses", fmt.Sprintf(`{"model":"default","store":false,"input":[{"type":"function_call_output","call_id":%q,"output":"forty-two"}]}`, call))
	if !strings.Contains(second.text("output", 0, "content", 0, "text"), "forty-two") || second["store"] != false {
		t.Errorf("%v", second)
	}
	if n := g.threads(); n != 0 {
		t.Errorf("%d threads are left", n)
	}
}

// A response that is not stored may continue one that is, which stays as it was.
func TestUnstored_ContinuesWhatIsStored(t *testing.T) {
	g := newRig(t)
	first := g.must("/responses", `{"model":"default","input":"one"}`)
	aside := g.must("/responses", fmt.Sprintf(`{"model":"default","input":"two","store":false,"previous_response_id":%q}`, first.text("id")))
	if aside.text("conversation", "id") == first.text("conversation", "id") {
		t.Errorf("%v", aside)
	}
	if n := g.threads(); n != 1 {
		t.Errorf("there are %d threads", n)
	}
	th, err := g.Box.Tenant("").Store.Thread(t.Context(), first.text("conversation", "id"))
	if err != nil || th.MessageCount != 2 {
		t.Errorf("%+v, %v", th, err)
	}
	waiting := g.must("/responses", `{"model":"default","input":"RUN_TOOL ask"}`)
	for body, says := range map[string]string{
		fmt.Sprintf(`{"store":false,"input":[{"type":"mcp_approval_response","approval_request_id":%q,"approve":true}]}`, waiting.text("output", 0, "id")): "the response that asked is stored",
		fmt.Sprintf(`{"model":"default","store":false,"input":"x","conversation":%q}`, first.text("conversation", "id")):                                   "part of a conversation that is stored",
	} {
		if status, got := g.ask("/responses", body); status != 400 || parse(t, got).text("error", "param") != "store" || !strings.Contains(got, says) {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
}

// What is kept of a response that is not stored, because it waits or for a repeated request, is swept after a time.
func TestUnstored_IsSwept(t *testing.T) {
	g := newRig(t)
	g.must("/responses", `{"model":"default","input":"stays"}`)
	g.must("/responses", `{"model":"default","input":"RUN_TOOL ask","store":false}`)
	once := g.must("/responses", `{"model":"default","input":"hi","store":false}`, "Idempotency-Key", "k")
	if again := g.must("/responses", `{"model":"default","input":"hi","store":false}`, "Idempotency-Key", "k"); difference(once, again) != "" {
		t.Errorf("sent again: %s", difference(once, again))
	}
	store := g.Box.Tenant("").Store.(openai.Store)
	if n, err := openai.Sweep(t.Context(), store, time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("%d were swept too early, %v", n, err)
	}
	if n, err := openai.Sweep(t.Context(), store, time.Now().Add(time.Hour)); n != 2 || err != nil || g.threads() != 1 {
		t.Errorf("%d were swept, %v, and %d are left", n, err, g.threads())
	}
}

// A request that is refused leaves no branch of the conversation behind.
func TestBranch_NoneOfARefusedRequest(t *testing.T) {
	g := newRig(t)
	first := g.must("/responses", `{"model":"default","input":"one"}`)
	g.must("/responses", fmt.Sprintf(`{"model":"default","previous_response_id":%q,"input":"two"}`, first.text("id")))
	for _, with := range []string{``, `"store":false,`} {
		status, body := g.ask("/responses", fmt.Sprintf(`{"model":"default",%s"previous_response_id":%q,"input":"other","tools":[{"type":"function","name":"bad","parameters":{"type":"nonsense"}}]}`, with, first.text("id")))
		if status != 400 || !strings.Contains(body, "tools[0]") || g.threads() != 1 {
			t.Errorf("%d %s, and %d threads", status, body, g.threads())
		}
	}
}

// All that watch a response get the same bytes.
func TestWatchers_GetTheSameBytes(t *testing.T) {
	hold := make(chan struct{})
	g := newRigWith(t, hold) // it says the first pieces, and the rest once all are there
	resp := g.Send(http.MethodPost, g.URL+"/openai/v1/responses", `{"model":"slow","input":"go","stream":true}`)
	bodies := make(chan string, 4)
	read := func(resp *http.Response) {
		defer resp.Body.Close()
		bodies <- protocoltest.ReadAll(resp)
	}
	go read(resp)
	for range 3 {
		go read(g.Send(http.MethodGet, g.URL+"/openai/v1/responses/resp_"+resp.Header.Get("X-Run-Id")+"?stream=true", ""))
	}
	close(hold)
	want := <-bodies
	for range 3 {
		if got := <-bodies; got != want || !strings.Contains(got, "response.completed") {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}
