//go:build unix

package publishtest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
)

var server *testenv.Postgres

func TestMain(m *testing.M) { os.Exit(testenv.WithJobs(m, work, &server)) }

var me = config.Actor{ID: "key", Label: "test"}

// options returns the options of every manager here.
func options(store config.Store) (config.Options, error) {
	vault, err := config.NewVault(strings.Repeat("42", 32))
	if err != nil {
		return config.Options{}, err
	}
	look := awaken.NewTool(awaken.ToolSpec{ID: "look", Effect: awaken.ReadOnly},
		func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return "seen", nil })
	return config.Options{Store: store, Vault: vault, Provider: provider, Code: registry.Config{Tools: []awaken.Tool{look}}}, nil
}

func provider(_ context.Context, spec *awaken.ProviderSpec) (llm.Model, error) {
	return witness{spec.Adapter, spec.APIKey.Expose()}, nil
}

// witness is a model that reports in two steps what it sees, the system prompt and its own
// name, with a tool call in between. Both steps must see the same.
type witness struct{ adapter, key string }

func (w witness) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		sees := fmt.Sprintf("%s %s", systemOf(req), req.Model)
		for _, m := range req.Messages.All() {
			if m.Role == llm.Assistant {
				_ = yield(llm.Delta{Kind: llm.TextDelta, Text: m.Text() + "|" + sees}, nil) &&
					yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
				return
			}
		}
		_ = yield(llm.Delta{Kind: llm.TextDelta, Text: sees}, nil) &&
			yield(llm.Delta{Kind: llm.ToolCallStart, ID: "call", Name: "look"}, nil) &&
			yield(llm.Delta{Kind: llm.ToolCallDelta, ID: "call", Text: "{}"}, nil) &&
			yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse}, nil)
	}
}

func systemOf(req *llm.Request) string {
	var sb strings.Builder
	for _, b := range req.System {
		sb.WriteString(b.Text)
	}
	return sb.String()
}

func key(name string) config.Key {
	ns, id, _ := strings.Cut(name, "/")
	return config.Key{Namespace: config.Namespace(ns), ID: id}
}

// document returns a document with an id and further fields.
func document(name, fields string, args ...any) config.Document {
	k := key(name)
	return config.Document{Key: k, Spec: json.RawMessage(fmt.Sprintf(`{"id":%q,%s}`, k.ID, fmt.Sprintf(fields, args...)))}
}

// put writes a document unconditionally.
func put(ctx context.Context, m *config.Manager, d config.Document) error {
	_, err := m.Put(ctx, d.Key, d.Spec, false, config.Condition{}, me)
	return err
}

// pair returns a model and an agent that belong to the same write.
func pair(n int, age any) []config.Document {
	return []config.Document{
		document(fmt.Sprintf("models/pair-%d", n), `"provider_id":"p","upstream_model":"%v"`, age),
		document(fmt.Sprintf("agents/pair-%d", n), `"model_id":"pair-%d","system_prompt":"%v"`, n, age),
	}
}
