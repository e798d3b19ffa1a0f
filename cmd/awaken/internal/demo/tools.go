package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// tools returns the demo tools that need no plugin; plugin provides the others.
func tools() []awaken.Tool {
	return append(showTools(),
		reading("get_weather", "Tells the weather at a place.", getWeather),
		reading("get_stock_price", "Tells the price of a share.", getStockPrice),
		reading("serverInfo", "Tells what this program is.", serverInfo),
		reading("failingTool", "Always fails.", fail),
		reading("fail_tool", "Always fails.", fail),
		reading("progress_demo", "Works for a moment and reports how far it is.", progressDemo),
		awaken.NewTool(awaken.ToolSpec{ID: "delete_file", Description: "Deletes a file, if a person allows it."}, deleteFile),
		reading("finish", "Ends the run.", finish),
		reading("emit_activity", "Shows an activity and changes it.", emitActivity),
		reading("emit_data", "Shows data beside the conversation.", emitData),
		reading("emit_media", "Shows a picture, a link and a document.", emitMedia),
		reading("emit_messages", "Answers with a message.", emitMessages),

		// The client runs these.
		awaken.FrontendTool(awaken.ToolSpec{ID: "get_user_location", Description: "Asks the client where the user is.",
			Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}),
		awaken.FrontendTool(awaken.ToolSpec{ID: "askUserQuestion", Description: "Asks the user a question.",
			Parameters: json.RawMessage(`{"type":"object","properties":{` +
				`"question":{"type":"string","description":"what to ask"},` +
				`"options":{"type":"array","items":{"type":"string"},"description":"answers to choose from"}},` +
				`"additionalProperties":false}`)}),
		awaken.FrontendTool(awaken.ToolSpec{ID: "set_background_color", Description: "Changes the background of the client's page.",
			Parameters: json.RawMessage(`{"type":"object","properties":{` +
				`"color":{"type":"string","description":"a CSS colour"}},` +
				`"required":["color"],"additionalProperties":false}`)}),
	)
}

// reading returns a read-only tool.
func reading[In, Out any](id, description string, fn func(context.Context, *awaken.ToolCall, In) (Out, error)) awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: id, Description: description, Effect: awaken.ReadOnly, Egress: awaken.Egress{None: true}}, fn)
}

// either returns the first text that is not blank, for an argument with several names.
func either(name string, texts ...string) (string, error) {
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			return text, nil
		}
	}
	return "", errors.New(name + " is empty")
}

type nothing struct{}

type weatherQuery struct {
	Location string `json:"location,omitempty" jsonschema:"a place, for example Tokyo"`
	City     string `json:"city,omitempty" jsonschema:"the same as location"`
}

type weather struct {
	Location     string `json:"location"`
	TemperatureF int    `json:"temperature_f"`
	TemperatureC int    `json:"temperature_c,omitempty"`
	Condition    string `json:"condition"`
	HumidityPct  int    `json:"humidity_pct"`
}

func getWeather(_ context.Context, _ *awaken.ToolCall, q weatherQuery) (weather, error) {
	place, err := either("location", q.Location, q.City)
	if err != nil {
		return weather{}, err
	}
	w := weather{Location: place, TemperatureF: 70, Condition: "Sunny", HumidityPct: 45}
	if place == "Paris" {
		w.TemperatureC = 21
	}
	return w, nil
}

type stockQuery struct {
	Symbol string `json:"symbol" jsonschema:"for example AAPL"`
}

type stockPrice struct {
	Symbol   string  `json:"symbol"`
	PriceUSD float64 `json:"price_usd"`
	Source   string  `json:"source"`
}

func getStockPrice(_ context.Context, _ *awaken.ToolCall, q stockQuery) (stockPrice, error) {
	prices := map[string]float64{"AAPL": 188.42, "MSFT": 421.10, "NVDA": 131.75}
	return stockPrice{Symbol: q.Symbol, PriceUSD: cmp.Or(prices[q.Symbol], 99.99), Source: "starter-demo"}, nil
}

func serverInfo(_ context.Context, call *awaken.ToolCall, _ nothing) (map[string]string, error) {
	return map[string]string{"name": "awaken", "agent": call.Run.AgentID, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}, nil
}

func fail(_ context.Context, call *awaken.ToolCall, _ nothing) (nothing, error) {
	return nothing{}, fmt.Errorf("%s always fails", call.Tool)
}

type progressQuery struct {
	Steps   int `json:"steps,omitempty" jsonschema:"how many reports, 1 to 100; 5 if left out"`
	DelayMS int `json:"delay_ms,omitempty" jsonschema:"milliseconds between two reports, 1 to 10000; 50 if left out"`
}

func progressDemo(ctx context.Context, call *awaken.ToolCall, q progressQuery) (map[string]int, error) {
	q.Steps, q.DelayMS = cmp.Or(q.Steps, 5), cmp.Or(q.DelayMS, 50)
	if q.Steps < 1 || q.Steps > 100 {
		return nil, fmt.Errorf("steps is %d, want 1 to 100", q.Steps)
	}
	if q.DelayMS < 1 || q.DelayMS > 10_000 {
		return nil, fmt.Errorf("delay_ms is %d, want 1 to 10000", q.DelayMS)
	}
	tick := time.NewTicker(time.Duration(q.DelayMS) * time.Millisecond)
	defer tick.Stop()
	for i := 1; i <= q.Steps; i++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		share := float64(i) / float64(q.Steps)
		p := awaken.Progress{Progress: &share, Message: fmt.Sprintf("step %d of %d", i, q.Steps)}
		if i == q.Steps {
			p.Status = "done"
		}
		call.Progress(p)
	}
	return map[string]int{"steps": q.Steps}, nil
}

type fileQuery struct {
	Path string `json:"path" jsonschema:"the file to delete"`
}

// deleteFile waits for approval and then reports success. It never touches a file: it only
// shows how approval works.
func deleteFile(_ context.Context, call *awaken.ToolCall, q fileQuery) (map[string]string, error) {
	if call.Resume == nil {
		return nil, awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{
			Action:     "tool:delete_file",
			Message:    "Delete " + q.Path + "?",
			Parameters: call.Args,
		}})
	}
	return map[string]string{"path": q.Path, "status": "deleted"}, nil
}

type summary struct {
	Summary string `json:"summary,omitempty" jsonschema:"what came out"`
}

func finish(_ context.Context, call *awaken.ToolCall, s summary) (map[string]string, error) {
	call.End()
	out := map[string]string{"status": "finished"}
	if s.Summary != "" {
		out["summary"] = s.Summary
	}
	return out, nil
}

// stepsActivity is the type of the activity that emit_activity shows.
const stepsActivity = "demo-steps"

func emitActivity(_ context.Context, call *awaken.ToolCall, _ nothing) (map[string][]string, error) {
	if err := call.Activity(stepsActivity, map[string][]string{"steps": {"a"}}); err != nil {
		return nil, err
	}
	call.ActivityDelta(stepsActivity, awaken.PatchOp{Op: "add", Path: "/steps/-", Value: json.RawMessage(`"b"`)})
	return map[string][]string{"steps": {"a", "b"}}, nil
}

// The types of the activities that emit_data shows. The runtime has no event for custom data,
// so they are activities: a later one of the same type replaces the first.
const (
	dataActivity      = "demo-data"
	transientActivity = "demo-data-transient"
)

func emitData(_ context.Context, call *awaken.ToolCall, _ nothing) (map[string]any, error) {
	last := map[string]any{"id": "demo-1", "status": "done", "value": 2}
	for _, a := range []struct {
		kind    string
		content any
	}{
		{dataActivity, map[string]any{"id": "demo-1", "status": "loading", "value": 1}},
		{transientActivity, map[string]any{"text": "nearly there"}},
		{dataActivity, last},
	} {
		if err := call.Activity(a.kind, a.content); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// dot is an image of one pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// emitMedia shows sources beside the conversation, and returns an image.
func emitMedia(_ context.Context, call *awaken.ToolCall, _ nothing) (*awaken.ToolResult, error) {
	for _, a := range []struct{ kind, content string }{
		{"source-url", `{"sourceId":"s1","url":"https://example.com/","title":"Example"}`},
		{"source-document", `{"sourceId":"s2","mediaType":"application/pdf","title":"Report","filename":"report.pdf"}`},
	} {
		if err := call.Activity(a.kind, json.RawMessage(a.content)); err != nil {
			return nil, err
		}
	}
	return &awaken.ToolResult{Message: "a picture", Data: json.RawMessage(`{"pictures":1}`), Content: []llm.Block{llm.Text("a picture"),
		{Type: llm.ImageBlock, Source: &llm.Source{Type: "base64", MediaType: "image/png", Data: dot}}}}, nil
}

// emitMessages asks for a snapshot of the conversation when the run ends, and returns the message that
// it will end with.
func emitMessages(_ context.Context, call *awaken.ToolCall, _ nothing) (map[string]string, error) {
	if err := call.Activity("messages-snapshot", struct{}{}); err != nil {
		return nil, err
	}
	return map[string]string{"role": "assistant", "content": "from snapshot"}, nil
}
