package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/storetest"
)

// A shortcut stores exactly what the function stores.
func TestShortcuts_StoreWhatTheFunctionStores(t *testing.T) {
	play := func(db *postgres.DB) []string {
		ids, now := 0, time.Unix(1_700_000_000, 0)
		look := awaken.NewTool(awaken.ToolSpec{ID: "look", Effect: awaken.ReadOnly},
			func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return "seen", nil })
		asks := func(name string) llmtest.Turn {
			return llmtest.Turn{Text: llmtest.Text{"So. "}, ToolCalls: []llmtest.Call{{ID: "c", Name: name}}}
		}
		rt, err := engine.New(engine.Config{
			Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
			Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
			Providers: map[string]llm.Model{"p": llmtest.NewScript(
				asks("look"), asks("look"), llmtest.Say("one"), // a run on a new thread
				llmtest.Say("two"),               // another run on that thread
				asks("ask"), llmtest.Say("four"), // a run that parks and is resumed
				asks("ask"), // a run that parks and is cancelled
				asks("look"), llmtest.Say("five"))},
			Tools: []awaken.Tool{look, awaken.FrontendTool(awaken.ToolSpec{ID: "ask"})},
			Store: storetest.Waited{Store: db.Store("")},
			Now:   func() time.Time { now = now.Add(time.Millisecond); return now },
			NewID: func() string { ids++; return fmt.Sprint("id-", ids) },
		})
		if err != nil {
			t.Fatal(err)
		}
		run := func(req awaken.RunRequest) *awaken.RunResult {
			t.Helper()
			if req.Continue == "" {
				req.Messages = []*llm.Message{llm.UserText("go")}
			}
			res, err := rt.Run(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		run(awaken.RunRequest{ThreadID: "a"})
		run(awaken.RunRequest{ThreadID: "a"})
		res := run(awaken.RunRequest{ThreadID: "b", ParentThreadID: "a"})
		run(awaken.RunRequest{Continue: res.RunID, Decisions: []awaken.Decision{{Target: "c", Action: awaken.ActionResume, Result: []byte("1")}}})
		res = run(awaken.RunRequest{ThreadID: "b"})
		if err := rt.Cancel(t.Context(), res.RunID); err != nil {
			t.Fatal(err)
		}
		run(awaken.RunRequest{ThreadID: "b", RunID: "mine"})
		prefix, _, _ := strings.Cut(strings.SplitAfter(db.StepCommit(), "UPDATE ")[1], "_threads")
		var out []string
		for _, table := range []string{"threads", "commits", "runs", "run_marks", "state", "inbox"} {
			rows, err := witness(t).Query(t.Context(), fmt.Sprintf("SELECT t::text FROM %s_%s t ORDER BY 1", prefix, table))
			if err != nil {
				t.Fatal(err)
			}
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range lines {
				out = append(out, table+" "+strings.ReplaceAll(line, rt.Registry().ID(), "registry"))
			}
		}
		return out
	}
	quick, long := play(open(t)), play(open(t).WithoutShortcuts())
	if len(quick) < 15 {
		t.Errorf("only %d rows", len(quick))
	}
	if diff := cmp.Diff(long, quick); diff != "" {
		t.Errorf("(-function +shortcut)\n%s", diff)
	}
}

// The handles of the queue are pipelined stores.
func TestHandle_IsPipelined(t *testing.T) {
	if p, ok := open(t).Handle("tenant").(awaken.Pipelined); !ok || !p.Pipelined() {
		t.Error("it is not")
	}
}
