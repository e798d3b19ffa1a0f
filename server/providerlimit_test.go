package server_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server/servertest"
)

// answering is a model that answers at once.
type answering struct{}

func (answering) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

func TestProviderLimits_AreListedWithTheirSourceAndUse(t *testing.T) {
	t.Parallel()
	store := &limit.Memory{}
	open := func() *limit.Limiter {
		l := limit.New(limit.Config{Store: store})
		t.Cleanup(l.Close)
		l.Set("p", &llm.RateLimits{Rate: llm.Rate{RequestsPerMinute: 1}, Models: map[string]llm.Rate{"large": {TokensPerMinute: 9000}}})
		return l
	}
	here, there := open(), open()
	g := newRig(t, func(c *servertest.Config) { c.Plane.Limiter = here })
	g.says(200, `{"items":[{"provider_id":"p","requests":{"per_minute":1,"source":"configured","used_share":0},"paused_ms":0,"waiting":0},`+
		`{"provider_id":"p","model":"large","tokens":{"per_minute":9000,"source":"configured","used_share":0},"paused_ms":0,"waiting":0}],"total":2,"has_more":false}`, "GET", "/v1/providers/limits", "")
	g.says(200, `"model":"large"`, "GET", "/v1/providers/limits?offset=1", "")
	g.says(200, `"has_more":true`, "GET", "/v1/providers/limits?limit=1", "")
	if _, err := llm.Generate(t.Context(), there.Model("p", answering{}), &llm.Request{Model: "m"}); err != nil {
		t.Fatal(err)
	}
	out := g.want(200, "GET", "/v1/providers/limits?limit=1", "", admin...)
	requests, _ := out["items"].([]any)[0].(map[string]any)["requests"].(map[string]any)
	if used, _ := requests["used_share"].(float64); used < 0.5 {
		t.Errorf("another process has used the limit, and %v is shown", out)
	}
	if status, _ := g.ask("GET", "/v1/providers/limits", ""); status != 401 {
		t.Errorf("without a key: status %d", status)
	}
}

// An operator makes the fleet forget what was learned about a provider.
func TestProviderLimits_AreReset(t *testing.T) {
	t.Parallel()
	l := limit.New(limit.Config{})
	t.Cleanup(l.Close)
	g := newRig(t, func(c *servertest.Config) { c.Plane.Limiter = l })
	refusing := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
		return func(yield func(llm.Delta, error) bool) {
			yield(llm.Delta{}, &llm.Error{Kind: llm.RateLimited, Status: 429, RetryAfter: time.Hour})
		}
	})
	if _, err := llm.Generate(t.Context(), l.Model("p", refusing), &llm.Request{Model: "m"}); llm.KindOf(err) != llm.RateLimited {
		t.Fatalf("the refusal is %v", err)
	}
	paused := func() bool {
		out := g.want(200, "GET", "/v1/providers/limits", "", admin...)
		return len(out["items"].([]any)) == 1
	}
	g.eventually("the pause to be shown", paused)
	g.want(400, "DELETE", "/v1/providers/limits", "", admin...)
	g.want(204, "DELETE", "/v1/providers/limits?provider_id=p&model=other", "", admin...)
	if !paused() {
		t.Error("the reset of another model ended the pause")
	}
	g.want(204, "DELETE", "/v1/providers/limits?provider_id=p", "", admin...)
	if paused() {
		t.Error("the pause is still there after the reset")
	}
	if _, err := llm.Generate(t.Context(), l.Model("p", answering{}), &llm.Request{Model: "m"}); err != nil {
		t.Errorf("after the reset a request fails: %v", err)
	}
	if status, _ := g.ask("DELETE", "/v1/providers/limits?provider_id=p", ""); status != 401 {
		t.Errorf("without a key: status %d", status)
	}
}

// A run that no user waits for has a lower priority than others.
func TestRuns_InTheBackground(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for i, tt := range []struct{ path, body string }{
		{"/v1/runs", `{"agent_id":"default","thread_id":"THREAD","stream":false,"messages":[{"role":"user","content":"x"}],"priority":"PRIORITY"}`},
		{"/v1/threads/THREAD/messages", `{"messages":[{"role":"user","content":"x"}],"priority":"PRIORITY"}`},
		{"/v1/threads/THREAD/mailbox", `{"payload":{"text":"x"},"priority":"PRIORITY"}`},
	} {
		for priority, want := range map[string]int{"background": mailbox.BackgroundPriority, "interactive": mailbox.DefaultPriority} {
			thread := fmt.Sprint(priority, i)
			g.want(201, "POST", "/v1/threads/"+thread+"/mailbox", `{"payload":{"text":"it exists"}}`)
			as := strings.NewReplacer("THREAD", thread, "PRIORITY", priority)
			if status, text := g.ask("POST", as.Replace(tt.path), as.Replace(tt.body)); status > 202 {
				t.Fatalf("%s: %d %s", tt.path, status, text)
			}
			_, list := g.ask("GET", "/v1/threads/"+thread+"/mailbox", "")
			if n := strings.Count(list, fmt.Sprintf(`"priority":%d,`, want)); n != 1 && priority == "background" || n == 0 {
				t.Errorf("%s: the dispatches are %s, want one with priority %d", tt.path, list, want)
			}
		}
		as := strings.NewReplacer("THREAD", "background0", "PRIORITY", "urgent")
		if status, text := g.ask("POST", as.Replace(tt.path), as.Replace(tt.body)); status != 400 || !strings.Contains(text, `priority is \"urgent\", want interactive or background`) {
			t.Errorf("%s with a priority that does not exist: %d %s", tt.path, status, text)
		}
	}
}
