package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// lines is a log, by line.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// Every line of the log about a run names the run, its thread and its trace.
func TestLog_NamesRunThreadAndTrace(t *testing.T) { bubbletest.Test(t, testLog) }

func testLog(t *testing.T) {
	log := new(lines)
	rt, err := engine.New(engine.Config{
		Logger: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m", Sections: map[string]json.RawMessage{"retry": json.RawMessage(`{"max_retries":1,"backoff_base_ms":0}`)}}},
		Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(llmtest.Turn{Error: &llmtest.Failure{Kind: llm.Overloaded}}, llmtest.Use("panics", `{}`),
			llmtest.Turn{Error: &llmtest.Failure{Kind: llm.Unauthorized}})},
		Tools: []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "panics"}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) { panic("oh") })},
	})
	if err != nil {
		t.Fatal(err)
	}
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	res, err := rt.Run(t.Context(), awaken.RunRequest{ThreadID: "t", Trace: "00-" + traceID + "-b7ad6b7169203331-01", Messages: []*llm.Message{llm.UserText("go")}}, nil)
	if err == nil {
		t.Fatal("the run did not fail")
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(log.b.Bytes()) {
		var e map[string]any
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		seen[e["msg"].(string)] = true
		if e["run"] != res.RunID || e["thread"] != "t" || e["trace"] != traceID || bytes.Count(line, []byte(`"run":`)) != 1 {
			t.Errorf("the log has %s", line)
		}
	}
	for _, want := range []string{"retrying a model call", "tool panicked"} {
		if !seen[want] {
			t.Errorf("the log has %v, and not %q", seen, want)
		}
	}
}
