//go:build unix

package upgradetest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// world is everything outside the database: the model, the tools, and what they have done.
type world struct {
	// hang makes the tool ship and the answer to "ponder" block, since the process is about
	// to be killed. Each reports that it blocks in hanging.
	hang    bool
	hanging chan string

	mu   sync.Mutex
	did  map[string]int // calls of each tool
	keys map[string]bool
}

func newWorld(hang bool) *world {
	return &world{hang: hang, hanging: make(chan string), did: map[string]int{}, keys: map[string]bool{}}
}

func (w *world) done(tool string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.did[tool]
}

func (w *world) hasKey(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.keys[key]
}

type note struct {
	Note string `json:"note"`
}

// tools are a read-only tool, one that needs approval, and one that the kill interrupts.
func (w *world) tools() []awaken.Tool {
	tool := func(id string, class awaken.EffectClass) awaken.Tool {
		return awaken.NewTool(awaken.ToolSpec{ID: id, Description: "does " + id, Effect: class, Timeout: time.Hour}, func(_ context.Context, call *awaken.ToolCall, in note) (string, error) {
			call.Output("working on " + in.Note)
			if id == "ship" && w.hang {
				w.hanging <- id
				select {}
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.did[id]++
			return id + " did " + in.Note, nil
		})
	}
	return []awaken.Tool{tool("look", awaken.ReadOnly), tool("wire", awaken.Effectful), tool("ship", awaken.Effectful)}
}

// provider returns the model and records the key that it got.
func (w *world) provider(_ context.Context, spec *awaken.ProviderSpec) (llm.Model, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keys[spec.APIKey.Expose()] = true
	return llm.ModelFunc(w.answer), nil
}

// answer follows the last user message: "use TOOL", "give AGENT WORK", "ponder", which calls
// a tool and then answers at length, "fail", "report", which answers in JSON, and
// "say WORDS". Answers begin with the system prompt, which distinguishes versions.
func (w *world) answer(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	var asked string
	var results []string
	for _, m := range req.Messages.All() {
		switch m.Role {
		case llm.User:
			asked, results = m.Text(), nil
		case llm.ToolRole:
			results = append(results, m.Text())
		}
	}
	verb, rest, _ := strings.Cut(asked, " ")
	var system string
	if len(req.System) > 0 {
		system = req.System[0].Text
	}
	return func(yield func(llm.Delta, error) bool) {
		s := &speaker{yield: yield, call: fmt.Sprintf("call-%d", req.Messages.Len())}
		switch {
		case verb == "fail":
			yield(llm.Delta{}, &llm.Error{Kind: llm.InvalidRequest, Message: "as asked"})
		case verb == "report":
			s.end(`{"city": "Oslo", `, `"degrees": 7}`)
		case verb == "use" && results == nil:
			s.use(rest, note{asked})
		case verb == "give" && results == nil:
			agent, work, _ := strings.Cut(rest, " ")
			s.use("agent_run_"+agent, map[string]string{"prompt": work})
		case verb == "ponder" && results == nil:
			s.use("look", note{asked})
		case verb == "ponder":
			s.delta(llm.Delta{Kind: llm.ReasoningDelta, Text: "Let me think."})
			s.delta(llm.Delta{Kind: llm.TextDelta, Text: system + ": half an "})
			if w.hang {
				w.hanging <- verb
				select {}
			}
			s.end("answer")
		case results != nil:
			s.end(system+": ", strings.Join(results, ", "))
		default:
			s.end(system+": ", rest)
		}
	}
}

// speaker is an answer in flight.
type speaker struct {
	yield func(llm.Delta, error) bool
	call  string // id of a call
	over  bool
}

func (s *speaker) delta(ds ...llm.Delta) {
	for _, d := range ds {
		s.over = s.over || !s.yield(d, nil)
		if s.over {
			return
		}
	}
}

func (s *speaker) end(texts ...string) {
	for _, text := range texts {
		s.delta(llm.Delta{Kind: llm.TextDelta, Text: text})
	}
	s.finish(llm.EndTurn)
}

func (s *speaker) use(tool string, args any) {
	text, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	s.delta(llm.Delta{Kind: llm.ToolCallStart, ID: s.call, Name: tool}, llm.Delta{Kind: llm.ToolCallDelta, ID: s.call, Text: string(text[:2])},
		llm.Delta{Kind: llm.ToolCallDelta, ID: s.call, Text: string(text[2:])})
	s.finish(llm.ToolUse)
}

func (s *speaker) finish(why llm.FinishReason) {
	s.delta(llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{PromptTokens: 100, CompletionTokens: 20}}, llm.Delta{Kind: llm.FinishDelta, Finish: why})
}
