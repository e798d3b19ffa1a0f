package openai_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// kinds returns the types of events.
func kinds(list []object) (out []string) {
	for _, e := range list {
		out = append(out, e.text("type"))
	}
	return out
}

// A response has the agent's answer, streamed or not, and can be read again.
func TestResponses_Answers(t *testing.T) {
	g := newRig(t)
	whole := g.must("/responses", `{"model":"slow","input":"hi"}`)
	if whole.text("status") != "completed" || whole.text("output", 0, "content", 0, "text") != slowText || whole.text("model") != "slow" || whole.text("object") != "response" {
		t.Errorf("%v", whole)
	}
	_, again := g.Ask(http.MethodGet, g.URL+"/openai/v1/responses/"+whole.text("id"), "")
	if diff := difference(whole, parse(t, again)); diff != "" {
		t.Errorf("read again, it differs: %s", diff)
	}
	_, body := g.ask("/responses", `{"model":"slow","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}],"stream":true}`)
	list := frames(t, body)
	said := ""
	for _, e := range list {
		if e.text("type") == "response.output_text.delta" {
			said += e.text("delta")
		}
	}
	last := list[len(list)-1]
	if said != slowText || last.text("type") != "response.completed" || last.text("response", "output", 0, "content", 0, "text") != slowText {
		t.Errorf("%s", body)
	}
	if got := strings.Join(kinds(list)[:4], " "); got != "response.created response.in_progress response.output_item.added response.content_part.added" {
		t.Errorf("it begins with %s", got)
	}
	if !strings.Contains(body, "event: response.output_text.delta\ndata: ") {
		t.Errorf("events have no names: %.300s", body)
	}
}

func difference(a, b object) string {
	x, y := fmt.Sprint(map[string]any(a)), fmt.Sprint(map[string]any(b))
	if x == y {
		return ""
	}
	return x + "\n" + y
}

// The calls of the agent's own tools are items of the response.
func TestResponses_ShowsToolCalls(t *testing.T) {
	g := newRig(t)
	r := g.must("/responses", `{"model":"default","input":"RUN_TOOL talk {\"n\":1}"}`)
	if r.text("output", 0, "type") != "mcp_call" || r.text("output", 0, "name") != "talk" || r.text("output", 0, "arguments") != `{"n":1}` || r.text("output", 0, "output") != "said it all" || r.text("output", 1, "type") != "message" {
		t.Errorf("%v", r["output"])
	}
	r = g.must("/responses", `{"model":"default","input":"RUN_TOOL fail"}`)
	if r.text("output", 0, "status") != "failed" || r.text("output", 0, "error") == "" {
		t.Errorf("%v", r["output"])
	}
}

// A stream that is read again is asked for by the query, or by the body, as the package for Go does.
func TestResponses_StreamedAgain(t *testing.T) {
	g := newRig(t)
	_, whole := g.ask("/responses", `{"model":"slow","input":"hi","stream":true}`)
	list := frames(t, whole)
	url := g.URL + "/openai/v1/responses/" + list[0].text("response", "id")
	for _, tt := range []struct {
		query, body string
		streamed    bool
	}{{"?stream=true", "", true}, {"", `{"stream":true}`, true}, {"?stream=false", `{"stream":true}`, false}, {"", `{"stream":false}`, false}, {"", "", false}, {"", "nonsense", false}} {
		if status, body := g.Ask(http.MethodGet, url+tt.query, tt.body); status != 200 || (body == whole) != tt.streamed {
			t.Errorf("%+v: %d %.300s", tt, status, body)
		}
	}
	if _, body := g.Ask(http.MethodGet, url+"?starting_after=0", `{"stream":true}`); len(frames(t, body)) != len(list)-1 {
		t.Errorf("after the first: %s", body)
	}
}

// A call that the client executes ends the response. Its output makes the next one, by the previous
// response or by nothing but the call.
func TestResponses_ClientExecutesTools(t *testing.T) {
	for _, by := range []string{"previous_response_id", "call_id"} {
		g := newRig(t)
		first := g.must("/responses", `{"model":"default","input":"RUN_TOOL lookup","tools":[{"type":"function","name":"lookup","parameters":{"type":"object"}}]}`)
		call := first.text("output", 0, "call_id")
		if first.text("status") != "completed" || first.text("output", 0, "type") != "function_call" || first.text("output", 0, "name") != "lookup" || call == "" {
			t.Fatalf("%v", first)
		}
		body := fmt.Sprintf(`{"model":"default","input":[{"type":"function_call_output","call_id":%q,"output":"forty-two"}]}`, call)
		if by == "previous_response_id" {
			body = strings.Replace(body, `"input"`, fmt.Sprintf(`"previous_response_id":%q,"input"`, first.text("id")), 1)
		} else { // the whole conversation
			body = strings.Replace(body, `[{`, fmt.Sprintf(`[{"role":"user","content":"go"},{"type":"function_call","call_id":%q,"name":"lookup","arguments":"{}"},{`, call), 1)
		}
		second := g.must("/responses", body)
		if second.text("id") != first.text("id")+"~2" || second.text("previous_response_id") != first.text("id") || !strings.Contains(second.text("output", 0, "content", 0, "text"), "forty-two") {
			t.Errorf("by %s: %v", by, second)
		}
		if again := g.must("/responses", body); difference(second, again) != "" {
			t.Errorf("sent again: %s", difference(second, again))
		}
		for _, r := range []object{first, second} {
			if _, got := g.Ask(http.MethodGet, g.URL+"/openai/v1/responses/"+r.text("id"), ""); difference(r, parse(t, got)) != "" {
				t.Errorf("read again: %s", difference(r, parse(t, got)))
			}
		}
	}
}

// A call that needs approval is an approval request; its answer continues the run.
func TestResponses_Approvals(t *testing.T) {
	g := newRig(t)
	for _, tt := range []struct{ approve, want string }{{`true`, "told"}, {`false,"reason":"too risky"`, "too risky"}} {
		first := g.must("/responses", `{"model":"default","input":"RUN_TOOL ask {\"path\":\"/x\"}"}`)
		request := first.text("output", 0, "id")
		if first.text("output", 0, "type") != "mcp_approval_request" || first.text("output", 0, "name") != "ask" || first.text("output", 0, "arguments") != `{"path":"/x"}` {
			t.Fatalf("%v", first)
		}
		second := g.must("/responses", fmt.Sprintf(`{"model":"default","previous_response_id":%q,"input":[{"type":"mcp_approval_response","approval_request_id":%q,"approve":%s}]}`, first.text("id"), request, tt.approve))
		if second.text("output", 0, "type") != "mcp_call" || second.text("output", 0, "approval_request_id") != request || !strings.Contains(fmt.Sprint(second["output"]), tt.want) {
			t.Errorf("%s: %v", tt.approve, second)
		}
	}
}

// previous_response_id continues the conversation; an earlier response begins a branch, and what was
// said since stays as it is.
func TestResponses_Continue(t *testing.T) {
	g := newRig(t)
	next := func(previous, text string) object {
		return g.must("/responses", fmt.Sprintf(`{"model":"default","previous_response_id":%q,"input":%q}`, previous, text))
	}
	count := func(r object) int {
		th, err := g.Box.Tenant("").Store.Thread(t.Context(), r.text("conversation", "id"))
		if err != nil {
			t.Fatal(err)
		}
		return th.MessageCount
	}
	first := g.must("/responses", `{"model":"default","input":"one"}`)
	second := next(first.text("id"), "two")
	branch := next(first.text("id"), "other")
	third := next(second.text("id"), "three")
	if second.text("conversation", "id") != first.text("conversation", "id") || third.text("conversation", "id") != first.text("conversation", "id") || branch.text("conversation", "id") == first.text("conversation", "id") {
		t.Errorf("%v\n%v\n%v\n%v", first, second, branch, third)
	}
	if count(first) != 6 || count(branch) != 4 {
		t.Errorf("%d messages, and %d in the branch", count(first), count(branch))
	}
}

// A response in the background is read when it is ready, and cancelled when it is not.
func TestResponses_BackgroundAndCancel(t *testing.T) {
	hold := make(chan struct{})
	g := newRigWith(t, hold)
	r := g.must("/responses", `{"model":"slow","input":"hi","background":true}`)
	if s := r.text("status"); s != "queued" && s != "in_progress" {
		t.Fatalf("%v", r)
	}
	if got := g.must("/responses/"+r.text("id")+"/cancel", ""); got.text("status") != "cancelled" {
		t.Errorf("%v", got)
	}
	_, body := g.Ask(http.MethodGet, g.URL+"/openai/v1/responses/"+r.text("id")+"?stream=true", "") // ends with the run
	list := frames(t, body)
	if last := list[len(list)-1]; last.text("response", "status") != "cancelled" {
		t.Errorf("%s", body)
	}
	close(hold)
	r = g.must("/responses", `{"model":"slow","input":"hi","background":true}`)
	_, body = g.Ask(http.MethodGet, g.URL+"/openai/v1/responses/"+r.text("id")+"?stream=true", "")
	list = frames(t, body)
	if last := list[len(list)-1]; last.text("response", "status") != "completed" {
		t.Errorf("%s", body)
	}
	if got := g.must("/responses/"+r.text("id")+"/cancel", ""); got.text("status") != "completed" {
		t.Errorf("cancelled when it was over: %v", got)
	}
}

// A response that is alone in its conversation can be deleted.
func TestResponses_Delete(t *testing.T) {
	g := newRig(t)
	url := g.URL + "/openai/v1/responses/"
	first := g.must("/responses", `{"model":"default","input":"one"}`)
	if status, body := g.Ask(http.MethodDelete, url+first.text("id"), ""); status != 200 || parse(t, body)["deleted"] != true {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := g.Ask(http.MethodGet, url+first.text("id"), ""); status != 404 {
		t.Errorf("after it was deleted: %d", status)
	}
	first = g.must("/responses", `{"model":"default","input":"one"}`)
	g.must("/responses", fmt.Sprintf(`{"model":"default","previous_response_id":%q,"input":"two"}`, first.text("id")))
	if status, body := g.Ask(http.MethodDelete, url+first.text("id"), ""); status != 409 || !strings.Contains(body, "/v1/threads/") {
		t.Errorf("%d %s", status, body)
	}
}

// A client that was cut off gets the rest with starting_after from any replica, while the run is in
// progress and when it is over.
func TestStartingAfter_Replicas(t *testing.T) {
	g := newRig(t)
	_, other := g.Start(false)
	urls := []string{g.URL, other}
	rnd := rand.New(rand.NewPCG(7, 8))
	for i := range cuts() / 100 {
		resp := g.Send(http.MethodPost, urls[i%2]+"/openai/v1/responses", `{"model":"slow","input":"go","stream":true}`)
		path := "/openai/v1/responses/resp_" + resp.Header.Get("X-Run-Id") + "?stream=true"
		whole := make(chan string, 1)
		go func() {
			defer resp.Body.Close()
			whole <- protocoltest.ReadAll(resp)
		}()
		received, n := "", -1
		for cut := 0; ; cut++ {
			query := ""
			if n >= 0 {
				query = fmt.Sprint("&starting_after=", n)
			}
			part := g.Send(http.MethodGet, urls[rnd.IntN(2)]+path+query, "")
			buf := make([]byte, 1+rnd.IntN(4000))
			got, ended := 0, false
			for got < len(buf) && !ended {
				m, err := part.Body.Read(buf[got:])
				got, ended = got+m, err != nil
			}
			if cut > 20 {
				buf, got, ended = append(buf[:got], protocoltest.ReadAll(part)...), 0, true
				got = len(buf)
			}
			part.Body.Close()
			have := string(buf[:got])
			if have = have[:strings.LastIndex(have, "\n\n")+1]; have != "" {
				have += "\n"
			}
			if list := frames(t, have); len(list) > 0 {
				n = int(list[len(list)-1].at("sequence_number").(float64))
			}
			received += have
			if ended && (strings.HasSuffix(received, "\n\n") && strings.Contains(have, "response.completed") || have == "") {
				break
			}
		}
		if want := <-whole; received != want {
			t.Fatalf("%s\nwant\n%s", received, want)
		}
	}
}

// Another server, after a restart, continues what the first one was told: an approval is answered there.
func TestResponses_AnotherReplica(t *testing.T) {
	g := newRig(t)
	first := g.must("/responses", `{"model":"default","input":"RUN_TOOL ask"}`)
	_, g.URL = g.Start(true)
	second := g.must("/responses", fmt.Sprintf(`{"input":[{"type":"mcp_approval_response","approval_request_id":%q,"approve":true}]}`, first.text("output", 0, "id")))
	if second.text("status") != "completed" || second.text("output", 0, "type") != "mcp_call" {
		t.Errorf("%v", second)
	}
	if run, err := g.Box.Tenant("").Store.LoadRun(t.Context(), strings.TrimPrefix(first.text("id"), "resp_")); err != nil || run.Status != awaken.RunDone {
		t.Errorf("%+v, %v", run, err)
	}
}
