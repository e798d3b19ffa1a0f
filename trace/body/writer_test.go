package body_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace"
	"github.com/awaken-go/awaken/trace/body"
)

func pay() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: "pay", Description: "pays"}, func(context.Context, *awaken.ToolCall, struct {
		Password string `json:"password"`
	}) (string, error) {
		return "paid with sk-live-0123456789abcdefgh", nil
	})
}

// A run whose requests are kept can be read word for word, with its parameters, and without credentials.
func TestWriter_KeepsWhatModelsWereAsked(t *testing.T) {
	t.Parallel()
	store := memory.New()
	w := body.NewWriter(body.Config{Policy: body.All, Store: func(string) body.Store { return body.Of(store) }})
	h := awakentest.New(t, engine.Config{Tap: w, Store: store, Agents: []*awaken.AgentSpec{{ID: "default", SystemPrompt: "Be kind."}}, Tools: []awaken.Tool{pay()}},
		llmtest.Use("pay", `{"password":"hunter2 \"x"}`), llmtest.Say("Paid."))
	run := h.Run(awaken.RunRequest{Messages: []*llm.Message{llm.UserText("Pay, please")}, Overrides: &awaken.InferenceOverride{Temperature: new(0.25), MaxTokens: new(99)}})
	w.Flush(t.Context())
	rec, err := (&trace.Recorder{Source: store, Bodies: true}).Record(t.Context(), run.Result.RunID)
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Requests) != 2 || rec.Requests[0].Step != 0 || rec.Requests[1].Step != 1 || w.Lost() != 0 {
		t.Fatalf("%d requests are kept, %d lost", len(rec.Requests), w.Lost())
	}
	first, second := rec.Requests[0], rec.Requests[1]
	if q := first.Request; q.System[0].Text != "Be kind." || len(q.Messages) != 1 || q.Messages[0].Text() != "Pay, please" || *q.Temperature != 0.25 || *q.MaxTokens != 99 || len(q.Tools) != 1 || q.Tools[0].Name != "pay" {
		t.Errorf("the first request is %+v", q)
	}
	if first.Response == nil || len(first.Response.ToolCalls) != 1 || first.Finish != llm.ToolUse || second.Response.Text() != "Paid." {
		t.Errorf("the answers are %+v and %+v", first.Response, second.Response)
	}
	if len(first.Digest) != 64 || first.Digest == second.Digest {
		t.Errorf("the digests are %s and %s", first.Digest, second.Digest)
	}
	lines, err := json.Marshal(rec.Lines(true)[0])
	if err != nil || !strings.Contains(string(lines), `"requests":[{"id":`) || !strings.Contains(string(lines), `"temperature":0.25,"max_tokens":99`) {
		t.Errorf("the trace has %s, %v", lines, err)
	}
	all, err := json.Marshal(rec.Requests)
	if err != nil || strings.Contains(string(all), "hunter2") || strings.Contains(string(all), "sk-live") || !strings.Contains(string(all), `"password":"REMOVED"`) {
		t.Errorf("a credential was kept: %s, %v", all, err)
	}
}

func TestWriter_KeepsWhatThePolicySays(t *testing.T) {
	t.Parallel()
	if body.NewWriter(body.Config{Policy: body.Off}) != nil || body.NewWriter(body.Config{}) != nil {
		t.Error("a writer that keeps nothing is not nil")
	}
	broken := &llm.Error{Kind: llm.InvalidRequest, Message: "no"}
	for _, tt := range []struct {
		policy body.Policy
		share  float64
		err    error
		want   int
	}{
		{body.All, 0, nil, 1000},
		{body.Errors, 0, nil, 0},
		{body.Errors, 0, broken, 1000},
		{body.Errors, 0, context.Canceled, 0},
		{body.Errors, 0, &llm.Error{Kind: llm.Cancelled}, 0},
		{body.Sample, 0, nil, 0},
		{body.Sample, 1, nil, 1000},
		{body.Sample, 0, broken, 1000},
		{body.Sample, 0.1, nil, -1},
	} {
		store := &counting{}
		w := body.NewWriter(body.Config{Policy: tt.policy, Share: tt.share, Store: func(string) body.Store { return store }})
		for i := range 1000 {
			w.Inferred(0, exchange(fmt.Sprintf("0198f2a4-0000-7000-8000-%012d", i), "hi", tt.err))
		}
		w.Flush(t.Context())
		got := len(store.list)
		if tt.want >= 0 && got != tt.want || tt.want < 0 && (got < 50 || got > 150) {
			t.Errorf("%s of share %g, after %v: kept %d, want %d", tt.policy, tt.share, tt.err, got, tt.want)
		}
	}
}

// counting is a store that refuses bodies for a while.
type counting struct {
	mu      sync.Mutex
	list    []body.Stored
	without int // how often threads do not exist
	err     error
}

func (c *counting) AddBodies(_ context.Context, list []body.Stored) ([]body.Stored, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	if c.without > 0 {
		c.without--
		return list, nil
	}
	c.list = append(c.list, list...)
	return nil, nil
}

func (c *counting) Bodies(context.Context, string, string) ([]body.Stored, error) { return c.list, nil }

func exchange(runID, text string, err error) *llm.Exchange {
	req := &llm.Request{Model: "m", Messages: llm.NewMessages(llm.UserText("first"), llm.UserText(text)), Routing: llm.Routing{ThreadID: "t", RunID: runID}}
	return &llm.Exchange{Request: req, Reply: func() *llm.Message { return &llm.Message{Role: llm.Assistant, Content: []llm.Block{llm.Text("ok")}} }, Finish: llm.EndTurn, Err: err, Ended: time.UnixMilli(1)}
}

// The thread of a child may begin after its first request: its bodies wait for it, and not for ever.
func TestWriter_WaitsForTheThread(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		store := &counting{without: 20}
		w := body.NewWriter(body.Config{Policy: body.All, Store: func(string) body.Store { return store }})
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); w.Serve(ctx) }()
		w.Inferred(0, exchange("r", "hi", nil))
		time.Sleep(10 * time.Second)
		store.mu.Lock()
		if len(store.list) != 1 || w.Lost() != 0 {
			t.Errorf("kept %d, lost %d", len(store.list), w.Lost())
		}
		store.without = 1 << 30
		store.mu.Unlock()
		w.Inferred(0, exchange("r", "hi", nil))
		time.Sleep(time.Minute)
		store.mu.Lock()
		if w.Lost() != 1 || store.without < 1<<30-200 {
			t.Errorf("lost %d after %d attempts", w.Lost(), 1<<30-store.without)
		}
		store.without = 0
		store.mu.Unlock()
		w.Inferred(0, exchange("last", "hi", nil)) // what has arrived when it stops is stored
		cancel()
		<-over
		if len(store.list) != 2 || store.list[1].RunID != "last" {
			t.Errorf("kept %d", len(store.list))
		}
	})
}

// Too much is left out, and not more of it than needed; what a store does not take is counted.
func TestWriter_BoundsWhatItKeeps(t *testing.T) {
	t.Parallel()
	store := &counting{}
	w := body.NewWriter(body.Config{Policy: body.All, MaxBytes: 4096, Store: func(string) body.Store { return store }})
	w.Inferred(0, exchange("r", strings.Repeat("x", 3000), nil))
	x := exchange("r", "short", nil)
	x.Request.Messages = llm.NewMessages(llm.UserText(strings.Repeat("x", 5000)), llm.UserText("short"))
	w.Inferred(1, x)
	x = exchange("r", strings.Repeat("x", 5000), nil)
	x.Request.System = []llm.Block{llm.Text(strings.Repeat("y", 5000))}
	w.Inferred(2, x)
	w.Flush(t.Context())
	var got []string
	for i := range store.list {
		rec, err := store.list[i].Record()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(rec.Request.Omitted, len(rec.Request.Messages), len(rec.Request.System)))
	}
	if s := strings.Join(got, ", "); s != "0 2 0, 1 1 0, 2 0 0" {
		t.Errorf("omitted, kept and instructions: %s", s)
	}
	store.err = errors.New("no room")
	w.Inferred(3, exchange("r", "hi", nil))
	w.Flush(t.Context())
	if w.Lost() != 1 {
		t.Errorf("lost %d, want 1", w.Lost())
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"text":"use sk-proj-abcdefghijklmnop1234 now"}`:                             `{"text":"use REMOVED now"}`,
		`{"text":"Authorization: Bearer abcdefghijklmnopqrst"}`:                       `{"text":"Authorization: REMOVED"}`,
		`{"a":"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.c2lnbmF0dXJl"}`:              `{"a":"REMOVED"}`,
		`{"db_password" : "a\"b","user":"ann"}`:                                       `{"db_password":"REMOVED","user":"ann"}`,
		`{"arguments":"{\"api_key\":\"zzz\",\"q\":\"x\"}"}`:                           `{"arguments":"{\"api_key\":\"REMOVED\",\"q\":\"x\"}"}`,
		`{"properties":{"password":{"type":"string"}}}`:                               `{"properties":{"password":{"type":"string"}}}`,
		`{"text":"the password is a secret, and the token too","max_tokens":5}`:       `{"text":"the password is a secret, and the token too","max_tokens":5}`,
		`{"k":"-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----"}`: `{"k":"REMOVED"}`,
		`{"text":"risk-free tasks"}`:                                                  `{"text":"risk-free tasks"}`,
	} {
		got := string(body.Redact([]byte(in)))
		if got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s\nbecame %s\nwant   %s", in, got, want)
		}
	}
}
