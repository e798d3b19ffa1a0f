// Package openaigo drives the built server with OpenAI's package for Go. It is a module of its own, so that the package,
// which takes minutes to build, is no dependency of the others.
package openaigo

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// site is a store with the demo's agents, and the processes that serve it.
type site struct {
	t      *testing.T
	folder string
	first  *process
}

type process struct {
	cmd    *exec.Cmd
	client openai.Client
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, folder: t.TempDir()}
	s.first = s.start()
	return s
}

// start starts a process that ends with the test.
func (s *site) start() *process {
	s.t.Helper()
	binary := os.Getenv("AWAKEN_BIN")
	if binary == "" {
		s.t.Skip("AWAKEN_BIN names no program: go build -o awaken ./cmd/awaken")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	cmd := exec.Command(binary, "serve", "--seed", "demo", "--address", address, "--storage-dir", s.folder)
	cmd.Dir, cmd.Env = s.folder, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.folder}
	out, err := cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Stdout = cmd.Stderr
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	p := &process{cmd: cmd, client: openai.NewClient(option.WithBaseURL("http://"+address+"/openai/v1"), option.WithAPIKey("unused"), option.WithHeaderDel("Authorization"), option.WithMaxRetries(0))}
	s.t.Cleanup(p.kill)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "listens on") {
			go func() {
				for lines.Scan() { // so that it can write
				}
			}()
			return p
		}
	}
	s.t.Fatal("the server ended")
	return nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // an error says that it was killed
}

// crash kills the process and starts another.
func (s *site) crash() {
	s.t.Helper()
	s.first.kill()
	s.first = s.start()
}

const model = "scenario"

var location = responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{Name: "get_user_location", Parameters: map[string]any{"type": "object", "properties": map[string]any{}}, Strict: openai.Bool(false)}}

// events reads a stream. Stop, if not nil, is asked after each event whether to cut it off.
func events(t *testing.T, stream interface {
	Next() bool
	Current() responses.ResponseStreamEventUnion
	Err() error
	Close() error
}, stop func(e *responses.ResponseStreamEventUnion) bool) (out []responses.ResponseStreamEventUnion, cut bool) {
	t.Helper()
	defer stream.Close()
	for stream.Next() {
		e := stream.Current()
		if out = append(out, e); stop != nil && stop(&e) {
			return out, true
		}
	}
	if err := stream.Err(); err != nil && stop == nil {
		t.Fatal(err)
	}
	return out, false
}

// ask makes a response, and meets what a way of asking has in store. It returns the last state of the response.
type ask func(s *site, params responses.ResponseNewParams, more ...option.RequestOption) *responses.Response

func final(t *testing.T, list []responses.ResponseStreamEventUnion) *responses.Response {
	t.Helper()
	if len(list) == 0 {
		t.Fatal("there are no events")
	}
	if !slices.IsSortedFunc(list, func(a, b responses.ResponseStreamEventUnion) int { return int(a.SequenceNumber - b.SequenceNumber) }) {
		t.Error("the numbers of events do not grow")
	}
	last := list[len(list)-1]
	return &last.Response
}

// retrieve reads a response by each of the clients.
func retrieve(t *testing.T, id string, clients ...*openai.Client) *responses.Response {
	t.Helper()
	var out *responses.Response
	for _, c := range clients {
		r, err := c.Responses.Get(t.Context(), id, responses.ResponseGetParams{})
		if err != nil {
			t.Fatal(err)
		}
		if out != nil && r.OutputText() != out.OutputText() {
			t.Errorf("two replicas say %q and %q", out.OutputText(), r.OutputText())
		}
		out = r
	}
	return out
}

// plain reads a whole stream.
func plain(s *site, params responses.ResponseNewParams, more ...option.RequestOption) *responses.Response {
	s.t.Helper()
	list, _ := events(s.t, s.first.client.Responses.NewStreaming(s.t.Context(), params, more...), nil)
	return final(s.t, list)
}

// resumed reads the rest of a stream that was cut off, by starting_after.
func resumed(t *testing.T, c *openai.Client, list []responses.ResponseStreamEventUnion) *responses.Response {
	t.Helper()
	last := list[len(list)-1].SequenceNumber
	rest, _ := events(t, c.Responses.GetStreaming(t.Context(), list[0].Response.ID, responses.ResponseGetParams{StartingAfter: openai.Int(last)}), nil)
	return final(t, append(list, rest...))
}

// cut cuts the stream off after some events, and resumes it.
func cut(s *site, params responses.ResponseNewParams, more ...option.RequestOption) *responses.Response {
	s.t.Helper()
	n := 0
	list, _ := events(s.t, s.first.client.Responses.NewStreaming(s.t.Context(), params, more...), func(*responses.ResponseStreamEventUnion) bool { n++; return n == 4 })
	return resumed(s.t, &s.first.client, list)
}

// crashed kills the server in the middle of the answer, or after it if it is short.
func crashed(s *site, params responses.ResponseNewParams, more ...option.RequestOption) *responses.Response {
	s.t.Helper()
	list, _ := events(s.t, s.first.client.Responses.NewStreaming(s.t.Context(), params, more...), func(e *responses.ResponseStreamEventUnion) bool {
		return e.Type == "response.output_text.delta" && strings.Contains(e.Delta, "tick5") || strings.HasPrefix(e.Type, "response.completed") || e.Type == "response.failed"
	})
	s.crash()
	if e := list[len(list)-1]; e.Type == "response.completed" || e.Type == "response.failed" {
		return retrieve(s.t, e.Response.ID, &s.first.client)
	}
	resumed(s.t, &s.first.client, list)
	return retrieve(s.t, list[0].Response.ID, &s.first.client)
}

// elsewhere resumes the stream at another replica, to which the next request goes too.
func elsewhere(s *site, params responses.ResponseNewParams, more ...option.RequestOption) *responses.Response {
	s.t.Helper()
	n, other := 0, s.start()
	list, _ := events(s.t, s.first.client.Responses.NewStreaming(s.t.Context(), params, more...), func(*responses.ResponseStreamEventUnion) bool { n++; return n == 4 })
	out := resumed(s.t, &other.client, list)
	retrieve(s.t, out.ID, &s.first.client, &other.client)
	s.first = other
	return out
}

// item returns the item of a type in the output of a response.
func item(t *testing.T, r *responses.Response, kind string) responses.ResponseOutputItemUnion {
	t.Helper()
	for _, it := range r.Output {
		if it.Type == kind {
			return it
		}
	}
	t.Fatalf("the response has no %s: %s", kind, r.RawJSON())
	panic("unreachable")
}

// The words of the scenario agent, in every way.
func TestResponses(t *testing.T) {
	ticks := ""
	for i := range 20 {
		ticks += fmt.Sprintf("tick%d ", i)
	}
	for name, way := range map[string]ask{"plain": plain, "cut and reconnected": cut, "killed and restarted": crashed, "another replica": elsewhere} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			say := func(text string, more ...option.RequestOption) *responses.Response {
				t.Helper()
				return way(s, responses.ResponseNewParams{Model: model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(text)}, Tools: []responses.ToolUnionParam{location}}, more...)
			}
			answer := func(to *responses.Response, item map[string]any) *responses.Response {
				t.Helper()
				return way(s, responses.ResponseNewParams{Model: model, PreviousResponseID: openai.String(to.ID)}, option.WithJSONSet("input", []map[string]any{item}))
			}
			text := say("scenario:text")
			if len(text.OutputText()) <= 10 || text.Status != "completed" {
				t.Errorf("text: %s", text.RawJSON())
			}
			if r := say("scenario:reasoning", option.WithJSONSet("previous_response_id", text.ID)); len(r.Output) != 2 || r.Output[0].Type != "reasoning" || r.Output[1].Type != "message" {
				t.Errorf("reasoning: %s", r.RawJSON())
			}
			if r := say("scenario:tool"); item(t, r, "mcp_call").Name != "get_weather" || !strings.Contains(r.OutputText(), "21") {
				t.Errorf("tool: %s", r.RawJSON())
			}
			if r := say("scenario:tool-error"); r.Status != "completed" || item(t, r, "mcp_call").Status != "failed" {
				t.Errorf("tool-error: %s", r.RawJSON())
			}
			for _, approve := range []bool{true, false} {
				asked := say("scenario:approval")
				r := answer(asked, map[string]any{"type": "mcp_approval_response", "approval_request_id": item(t, asked, "mcp_approval_request").ID, "approve": approve})
				if strings.Contains(r.OutputText(), "deleted") != approve {
					t.Errorf("approval: %t: %s", approve, r.RawJSON())
				}
			}
			asked := say("scenario:frontend-tool")
			if r := answer(asked, map[string]any{"type": "function_call_output", "call_id": item(t, asked, "function_call").CallID, "output": "Reykjavik"}); !strings.Contains(r.OutputText(), "Reykjavik") {
				t.Errorf("frontend-tool: %s", r.RawJSON())
			}
			if r := say("scenario:slow"); r.OutputText() != ticks {
				t.Errorf("slow: %s", r.RawJSON())
			}
			if r := say("scenario:error"); r.Status != "failed" || !strings.Contains(r.Error.Message, "boom") { // the last: a failure counts in the breaker of the model
				t.Errorf("error: %s", r.RawJSON())
			}
		})
	}
}

// A chat completion cannot be resumed. The same request again, with its key, has no second effect and gets the same answer: after
// a cut, a crash, and at another replica.
func TestChat(t *testing.T) {
	s := newSite(t)
	params := openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("scenario:tool")}}
	for i, happens := range []func(){func() {}, s.crash, func() { s.first = s.start() }} {
		key := option.WithHeader("Idempotency-Key", fmt.Sprint("key-", i))
		ctx, cancel := context.WithCancel(t.Context())
		stream := s.first.client.Chat.Completions.NewStreaming(ctx, params, key)
		stream.Next()
		first := stream.Current().ID
		cancel()
		stream.Close()
		happens()
		again := s.first.client.Chat.Completions.NewStreaming(t.Context(), params, key)
		var all openai.ChatCompletionAccumulator
		for again.Next() {
			all.AddChunk(again.Current())
		}
		if err := again.Err(); err != nil || len(all.Choices) != 1 || !strings.Contains(all.Choices[0].Message.Content, "21") || all.ID != first {
			t.Errorf("%d: %+v, %v", i, all.ChatCompletion, err)
		}
		again.Close()
	}
	models, err := s.first.client.Models.List(t.Context())
	if err != nil || !slices.ContainsFunc(models.Data, func(m openai.Model) bool { return m.ID == model }) {
		t.Errorf("%v, %v", models, err)
	}
}
