package llmtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// ask returns the reply of m to a conversation.
func ask(t *testing.T, m llm.Model, messages ...*llm.Message) *llm.Reply {
	t.Helper()
	reply, err := llm.Generate(t.Context(), m, &llm.Request{Messages: llm.NewMessages(messages...)})
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func checkError(t *testing.T, err error, kind llm.Kind, message string) {
	t.Helper()
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != kind || e.Message != message {
		t.Errorf("error is %v, want one of kind %s that says %q", err, kind, message)
	}
}

func TestScript_PlaysTheNthTurnOnTheNthCall(t *testing.T) {
	t.Parallel()
	m := llmtest.NewScript(llmtest.Say("one"), llmtest.Say("two"))
	for i, want := range []string{"one", "two"} {
		if got := ask(t, m).Message.Text(); got != want {
			t.Errorf("call %d got %q, want %q", i+1, got, want)
		}
	}
	_, err := listen(t, m, &llm.Request{})
	checkError(t, err, llm.InvalidRequest, "script exhausted after 2 turns")
	if got := m.Calls(); got != 3 {
		t.Errorf("calls are %d, want 3", got)
	}
}

func TestScriptLoop_StartsOver(t *testing.T) {
	t.Parallel()
	m := llmtest.NewScript(llmtest.Say("one"), llmtest.Say("two")).Loop()
	var got []string
	for range 5 {
		got = append(got, ask(t, m).Message.Text())
	}
	if diff := cmp.Diff([]string{"one", "two", "one", "two", "one"}, got); diff != "" {
		t.Errorf("replies (-want +got):\n%s", diff)
	}
}

func TestScript_WithoutTurnsIsExhausted(t *testing.T) {
	t.Parallel()
	for _, m := range []llm.Model{llmtest.NewScript(), llmtest.NewScript().Loop()} {
		_, err := listen(t, m, &llm.Request{})
		checkError(t, err, llm.InvalidRequest, "script exhausted after 0 turns")
	}
}

func TestScript_GivesIDsToCallsWithoutOne(t *testing.T) {
	t.Parallel()
	turn := llmtest.Turn{ToolCalls: []llmtest.Call{{Name: "add"}, {ID: "mine", Name: "add"}, {Name: "add"}}}
	m := llmtest.NewScript(turn).Loop()
	var got []string
	for range 2 {
		for _, c := range ask(t, m).Message.ToolCalls {
			got = append(got, c.ID)
		}
	}
	want := []string{"call_add_1", "mine", "call_add_1_2", "call_add_2", "mine", "call_add_2_2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

func TestScript_GivesEachConcurrentCallItsOwnTurn(t *testing.T) {
	t.Parallel()
	const n = 50
	var turns []llmtest.Turn
	for i := range n {
		turns = append(turns, llmtest.Say(fmt.Sprint(i)))
	}
	m := llmtest.NewScript(turns...).Record()
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		seen = make(map[string]int)
	)
	for range n {
		wg.Go(func() {
			reply, err := llm.Generate(t.Context(), m, &llm.Request{Model: "m"})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			seen[reply.Message.Text()]++
		})
	}
	wg.Wait()
	if len(seen) != n || m.Calls() != n || len(m.Requests()) != n {
		t.Errorf("%d calls were answered with %d of %d turns; %d requests recorded", m.Calls(), len(seen), n, len(m.Requests()))
	}
}

func TestScript_UsesNoTurnForAStreamThatNeverStarts(t *testing.T) {
	t.Parallel()
	m := llmtest.NewScript(llmtest.Say("one")).Record()
	m.Stream(t.Context(), &llm.Request{})
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range m.Stream(done, &llm.Request{}) {
		if llm.KindOf(err) != llm.Cancelled || !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v, want cancelled", err)
		}
	}
	if m.Calls() != 0 || len(m.Requests()) != 0 {
		t.Errorf("calls are %d and requests %d, want none", m.Calls(), len(m.Requests()))
	}
	if got := ask(t, m).Message.Text(); got != "one" {
		t.Errorf("reply is %q, want one", got)
	}
}

func TestScript_StopsWithTheLoop(t *testing.T) {
	t.Parallel()
	m := llmtest.NewScript(llmtest.Say("one", "two", "three"))
	n := 0
	for range m.Stream(t.Context(), &llm.Request{}) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("loop ran %d times, want 1", n)
	}
}

func TestScriptRecord_CopiesRequests(t *testing.T) {
	t.Parallel()
	m := llmtest.NewScript(llmtest.Say("one"), llmtest.Say("two")).Record()
	head := []*llm.Message{llm.NewText(llm.System, "And kind."), llm.UserText("Hi")}
	req := &llm.Request{
		Model:       "m",
		System:      []llm.Block{llm.Text("Be brief.")},
		Messages:    llm.NewMessages(head...),
		Tools:       []llm.Tool{{Name: "add"}, {Name: "sub"}},
		Params:      llm.Params{Temperature: new(0.5), TopP: new(0.9), MaxTokens: new(7), ReasoningEffort: &llm.Effort{Level: "low"}},
		CachePrompt: true,
		Routing:     llm.Routing{ThreadID: "t"},
	}
	want := &llmtest.Captured{
		Model: "m", System: "Be brief.\nAnd kind.", Messages: []*llm.Message{head[0], head[1]}, Tools: []string{"add", "sub"},
		Params:      llm.Params{Temperature: new(0.5), TopP: new(0.9), MaxTokens: new(7), ReasoningEffort: &llm.Effort{Level: "low"}},
		CachePrompt: true, Routing: llm.Routing{ThreadID: "t"},
	}
	if _, err := listen(t, m, req); err != nil {
		t.Fatal(err)
	}
	// The caller may reuse the request.
	head[1], req.Tools[0].Name, *req.MaxTokens, *req.Temperature = nil, "mul", 8, 1
	req.ReasoningEffort.Level = "high"
	if diff := cmp.Diff([]*llmtest.Captured{want}, m.Requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if _, err := listen(t, m, &llm.Request{Model: "n"}); err != nil {
		t.Fatal(err)
	}
	if got := m.Requests(); len(got) != 2 || got[1].Model != "n" {
		t.Errorf("second request is missing: %+v", got)
	}
}

func TestScript_RecordsOnlyAfterRecord(t *testing.T) {
	t.Parallel()
	m := llmtest.NewScript(llmtest.Say("one"))
	ask(t, m)
	if got := m.Requests(); len(got) != 0 {
		t.Errorf("recorded %+v", got)
	}
}

func TestScriptStream_AllocatesNothingPerChunk(t *testing.T) {
	stream := func(chunks int) float64 {
		m := llmtest.NewScript(llmtest.Turn{
			Text:      llmtest.Text{strings.Repeat("x", chunks)},
			ToolCalls: []llmtest.Call{{ID: "c1", Name: "add", Raw: new(strings.Repeat("1", chunks))}},
			Chunk:     1,
		}).Loop()
		req, ctx := &llm.Request{}, t.Context()
		return testing.AllocsPerRun(20, func() {
			n := 0
			for _, err := range m.Stream(ctx, req) {
				if err != nil {
					t.Error(err)
				}
				n++
			}
			if n < 2*chunks {
				t.Errorf("streamed %d deltas, want %d and more", n, 2*chunks)
			}
		})
	}
	if few, many := stream(64), stream(6400); few != many || many > 2 {
		t.Errorf("64 chunks take %v allocations and 6400 take %v, want the same and at most 2", few, many)
	}
}

func TestTurnDelay_ComesBeforeEachChunk(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		m := llmtest.NewScript(parse(t, `{"reasoning":"a","text":["b","c"],"tool_calls":[{"id":"c1","name":"d"}],"usage":{},"delay_ms":100}`)...)
		began := time.Now()
		var got []string
		for d, err := range m.Stream(t.Context(), &llm.Request{}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%dms %s%s", time.Since(began).Milliseconds(), d.Name, d.Text))
		}
		want := []string{"100ms a", "200ms b", "300ms c", "300ms d", "400ms {}", "400ms ", "400ms "}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("chunks (-want +got):\n%s", diff)
		}
	})
}

func TestStream_CancelledInTheMiddle(t *testing.T) {
	t.Parallel()
	tired := errors.New("tired of waiting")
	for name, turn := range map[string]string{
		"in a delay":      `{"text":["a","b"],"delay_ms":1000}`,
		"in a hang":       `{"text":"a","hang":true,"delay_ms":1000}`,
		"between chunks":  `{"text":["a","b","c"]}`,
		"before a finish": `{"text":"a"}`,
		"before an error": `{"text":"a","usage":{},"error":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				m := llmtest.NewScript(parse(t, turn)...)
				var got []string
				var last error
				for d, err := range m.Stream(ctx, &llm.Request{}) {
					if last != nil {
						t.Errorf("something came after the error: %+v, %v", d, err)
					}
					if last = err; err == nil {
						got = append(got, d.Text)
						time.AfterFunc(time.Millisecond, func() { cancel(tired) })
						if !strings.Contains(turn, "delay") {
							cancel(tired)
						}
					}
				}
				if diff := cmp.Diff([]string{"a"}, got); diff != "" {
					t.Errorf("chunks (-want +got):\n%s", diff)
				}
				if llm.KindOf(last) != llm.Cancelled || !errors.Is(last, tired) {
					t.Errorf("error is %v, want one of kind cancelled that wraps %v", last, tired)
				}
			})
		})
	}
}

func TestTurnHang_LastsUntilTheDeadline(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		_, err := llm.Generate(ctx, llmtest.NewScript(llmtest.Turn{Hang: true}), &llm.Request{})
		if llm.KindOf(err) != llm.Cancelled || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v, want cancelled by the deadline", err)
		}
		if took := time.Since(began); took != time.Hour {
			t.Errorf("it took %v, want 1h", took)
		}
	})
}

func TestTurnCut_IsInterrupted(t *testing.T) {
	t.Parallel()
	_, err := llm.Generate(t.Context(), llmtest.NewScript(llmtest.Turn{Text: llmtest.Text{"Hel"}, Cut: true}), &llm.Request{})
	if llm.KindOf(err) != llm.Interrupted {
		t.Errorf("error is %v, want interrupted", err)
	}
}

func BenchmarkScript(b *testing.B) {
	m := llmtest.NewScript(llmtest.Turn{Text: llmtest.Text{strings.Repeat("word ", 1000)}, Chunk: 5}).Loop()
	req := &llm.Request{}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range m.Stream(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
