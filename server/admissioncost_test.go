package server

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/memory"
)

// permissive has every agent.
type permissive struct{ mailbox.Runtime }

func (permissive) HasAgent(context.Context, *awaken.RunRequest) (bool, error) { return true, nil }

// counted counts the reads of a store that admission makes.
type counted struct {
	mailbox.Handle
	reads int
}

func (c *counted) Thread(ctx context.Context, id string) (*awaken.Thread, error) {
	c.reads++
	return c.Handle.Thread(ctx, id)
}

func (c *counted) LoadRun(ctx context.Context, id string) (*awaken.Run, error) {
	c.reads++
	return c.Handle.LoadRun(ctx, id)
}

func (c *counted) Recent(ctx context.Context, id string, messages int) (*mailbox.Recent, error) {
	c.reads++
	return c.Handle.Recent(ctx, id, messages)
}

func (c *counted) ListRuns(ctx context.Context, q awaken.RunQuery) ([]*awaken.Run, error) {
	c.reads++
	return c.Handle.ListRuns(ctx, q)
}

// admit returns a function that admits a submission to a thread with runs, and the store of the thread.
func admit(t testing.TB, threads, runs int, change func(*awaken.RunRequest)) (func(), *counted) {
	store := &counted{Handle: memory.NewDB().Handle("")}
	for i := range threads * runs {
		d := &mailbox.Dispatch{ID: fmt.Sprint("d", i), ThreadID: fmt.Sprint("t", i%threads), RunID: fmt.Sprint("r", i), Request: &awaken.RunRequest{AgentID: "a"}}
		if left, err := store.Enqueue(t.Context(), mailbox.Terms{}, d); err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
	}
	req := &Request{ctx: t.Context(), tenant: &mailbox.Tenant{Store: store, Runtime: permissive{}}}
	a := newAdmission(t.Context(), &Limits{MessagesPerRun: 100, ToolsPerRun: 100, SchemaBytes: 1 << 20, SchemaParts: 1000})
	s := &mailbox.Submission{Request: awaken.RunRequest{ThreadID: "t0", Messages: []*llm.Message{llm.UserText("hi")}}}
	change(&s.Request)
	return func() {
		if err := a.submission(req, s); err != nil {
			t.Fatal(err)
		}
	}, store
}

func TestAdmission_ReadsAtMostOnceFromTheStore(t *testing.T) {
	for want, agent := range []string{"a", ""} {
		once, store := admit(t, 1, 3, func(q *awaken.RunRequest) { q.AgentID = agent })
		if once(); store.reads != want {
			t.Errorf("a submission for agent %q makes %d reads, want %d", agent, store.reads, want)
		}
	}
}

// BenchmarkAdmission measures what the checks of a submission take, with a store in memory.
func BenchmarkAdmission(b *testing.B) {
	tools := func(n int) func(*awaken.RunRequest) {
		return func(q *awaken.RunRequest) {
			q.AgentID = "a"
			for i := range n {
				q.FrontendTools = append(q.FrontendTools, awaken.ToolSpec{ID: fmt.Sprint("tool", i), Description: "A tool.",
					Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1}},"required":["query"]}`)})
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*awaken.RunRequest)
	}{{"agent", tools(0)}, {"no agent", func(*awaken.RunRequest) {}}, {"1 tool", tools(1)}, {"20 tools", tools(20)}} {
		b.Run(c.name, func(b *testing.B) {
			once, _ := admit(b, 1000, 10, c.change)
			b.ReportAllocs()
			for b.Loop() {
				once()
			}
		})
	}
}
