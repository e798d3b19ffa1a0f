package awakentest_test

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
)

// test replaces the *testing.T of a real test.
type test struct{}

func (test) Helper()                           {}
func (test) Error(args ...any)                 { fmt.Println(args...) }
func (test) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (test) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (test) Context() context.Context          { return context.Background() }
func (test) Output() io.Writer                 { return os.Stdout }

func Example() {
	var t test // in a real test, func TestWeather(t *testing.T)

	weather := awaken.NewTool(awaken.ToolSpec{ID: "get_weather", Description: "The weather in a city.", Effect: awaken.ReadOnly},
		func(_ context.Context, _ *awaken.ToolCall, in struct {
			City string `json:"city"`
		}) (map[string]int, error) {
			return map[string]int{"celsius": 21}, nil
		})

	h := awakentest.New(t, engine.Config{Tools: []awaken.Tool{weather}}, awakentest.Turns(t, `
		{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]}
		{"text": "It is 21 degrees in Paris.", "expect": {"last": "21"}}
	`)...)
	run := h.Say("How warm is it in Paris?")
	if run.Err != nil {
		t.Fatal(run.Err)
	}
	awakentest.WantOrder(t, run.Entries, "tool_call_ready", "tool_call_done", "text_delta", "run_finish")

	for _, done := range awakentest.All[*awaken.ToolCallDone](run.Entries) {
		fmt.Println(done.ID, done.Outcome, string(done.Result.Data))
	}
	fmt.Println(run.Result.Response)
	fmt.Println(len(h.Requests()), "requests,", len(h.Messages(run.Result.ThreadID)), "messages")
	// Output:
	// call_get_weather_1 succeeded {"celsius":21}
	// It is 21 degrees in Paris.
	// 2 requests, 4 messages
}
