package providertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// plain is an adapter for a provider that does not exist. It sends an Asked and receives deltas:
// nothing has to be converted, so it is the minimal adapter.
type plain struct{ api *provider.API }

func newPlain(t testing.TB, c provider.Config) *plain {
	api, err := provider.Open(plainName, c, http.Header{"Authorization": {"Bearer " + c.APIKey}})
	if err != nil {
		t.Fatal(err)
	}
	return &plain{api}
}

const plainName = "plain"

// plainEvent is an event of the provider: a delta, or an error.
type plainEvent struct {
	Kind           llm.DeltaKind
	ID, Name, Text string
	Finish         string
	Usage          *llm.Usage
	Opaque         *llm.Opaque
	Error          json.RawMessage `json:",omitempty"`
}

func plainDelta(d llm.Delta) plainEvent {
	return plainEvent{Kind: d.Kind, ID: d.ID, Name: d.Name, Text: d.Text, Finish: string(d.Finish), Usage: d.Usage, Opaque: d.Opaque}
}

var plainRules = provider.Rules{Provider: plainName, LateSystem: true, CallID: provider.SafeID(64), Media: func(b *llm.Block, _ llm.Role) bool {
	return b.Type == llm.ImageBlock || b.Source.MediaType == "application/pdf" || b.Source.MediaType == "audio/wav"
}}

func (p *plain) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return p.api.Stream(ctx, req, func(ctx context.Context, req *llm.Request, emit provider.Emit) error {
		names := provider.NewNames(req, provider.SafeName(64))
		ids, own := provider.CallIDs{}, map[string]string{}
		return p.api.PostEvents(ctx, "ask", p.ask(req, names), func(ev provider.Event) (bool, error) {
			var d plainEvent
			if err := json.Unmarshal(ev.Data, &d); err != nil {
				return false, err
			}
			switch {
			case d.Error != nil:
				return false, provider.StreamError(plainName, ev.Data)
			case d.Kind == llm.FinishDelta && d.Finish == "":
				return false, &llm.Error{Kind: llm.ContentFiltered, Provider: plainName}
			case d.Kind == llm.ToolCallStart:
				given := d.ID
				d.ID, d.Name = ids.Take(given), names.In(d.Name)
				own[given] = d.ID
			case d.Kind == llm.ToolCallDelta:
				d.ID = own[d.ID]
			}
			emit(llm.Delta{Kind: d.Kind, ID: d.ID, Name: d.Name, Text: d.Text, Finish: llm.FinishReason(d.Finish), Usage: d.Usage, Opaque: d.Opaque})
			return false, nil
		})
	})
}

// ask converts a request.
func (p *plain) ask(req *llm.Request, names provider.Names) *Asked {
	q := &Asked{Model: req.Model, Stream: true, Temperature: req.Temperature, TopP: req.TopP, MaxTokens: req.MaxTokens, Stop: req.StopSequences, Seed: req.Seed}
	if req.CachePrompt {
		q.CacheKey = req.Routing.ThreadID
	}
	if e := req.ReasoningEffort; e != nil {
		q.Effort = fmt.Sprint(e.Level, e.Budget)
	}
	if req.Output != nil {
		q.Output = req.Output.Schema
	}
	for _, t := range req.Tools {
		if t.Parameters == nil {
			t.Parameters = json.RawMessage("{}")
		}
		q.Tools = append(q.Tools, Tool{Name: names.Out(t.Name), Description: t.Description, Schema: t.Parameters})
	}
	if c := req.ToolChoice; c != nil && len(req.Tools) > 0 {
		if q.Choice = c.Mode; c.Mode == "tool" {
			q.Choice = names.Out(c.Name)
		}
	}
	if len(req.Tools) > 0 {
		q.Parallel = req.ParallelTools
	}
	system, msgs := provider.History(req, plainRules)
	q.System = plainText(system)
	for _, m := range msgs {
		t := Turn{Role: m.Role, Text: plainText(m.Content), CallID: m.ToolCallID}
		for _, b := range m.Content {
			switch {
			case b.Type == llm.ThinkingBlock && b.Opaque != nil && b.Opaque.Signature != "":
				t.Opaque = append(t.Opaque, b.Opaque.Signature)
			case b.Source != nil:
				t.Media = append(t.Media, b.Source.URL+b.Source.Data)
			}
		}
		for _, c := range m.ToolCalls {
			t.Calls = append(t.Calls, Call{ID: c.ID, Name: names.Out(c.Name), Args: []string{string(c.Arguments)}})
		}
		q.Turns = append(q.Turns, t)
	}
	return q
}

func plainText(blocks []llm.Block) string {
	var texts []string
	for _, b := range blocks {
		if b.Type == llm.TextBlock {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// plainSpeaker is the provider.
type plainSpeaker struct{}

func (plainSpeaker) frame(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, "data: %s\n\n", data)
}

func (s plainSpeaker) Speak(r Reply) (parts, end [][]byte) {
	say := func(d llm.Delta) { parts = append(parts, s.frame(plainDelta(d))) }
	start := func(c *Call) { say(llm.Delta{Kind: llm.ToolCallStart, ID: c.ID, Name: c.Name}) }
	for _, p := range r.Parts {
		for _, t := range p.Reasoning {
			say(llm.Delta{Kind: llm.ReasoningDelta, Text: t})
		}
		if p.Opaque != "" {
			say(llm.Delta{Kind: llm.OpaqueDelta, Opaque: &llm.Opaque{Provider: plainName, Signature: p.Opaque}})
		}
		for _, t := range p.Text {
			say(llm.Delta{Kind: llm.TextDelta, Text: t})
		}
		if c := p.Call; c != nil {
			start(c)
			for _, t := range c.Args {
				say(llm.Delta{Kind: llm.ToolCallDelta, ID: c.ID, Text: t})
			}
		}
		for i := range p.Mixed {
			start(&p.Mixed[i])
		}
		for i := 0; len(p.Mixed) > 0 && i < len(p.Mixed[0].Args); i++ {
			for _, c := range p.Mixed {
				say(llm.Delta{Kind: llm.ToolCallDelta, ID: c.ID, Text: c.Args[i]})
			}
		}
	}
	if r.Usage != nil {
		end = append(end, s.frame(plainDelta(llm.Delta{Kind: llm.UsageDelta, Usage: r.Usage})))
	}
	return parts, append(end, s.frame(plainDelta(llm.Delta{Kind: llm.FinishDelta, Finish: r.Finish})))
}

func (s plainSpeaker) ErrorFrame(f Failure) []byte {
	return s.frame(map[string]any{"error": map[string]any{"code": f.Status, "message": f.Message}})
}

func (plainSpeaker) ErrorBody(f Failure) []byte {
	return fmt.Appendf(nil, `{"error":{"message":%q}}`, f.Message)
}

func (plainSpeaker) Read(r *http.Request, body []byte) (*Asked, error) {
	if !strings.HasSuffix(r.URL.Path, "/ask") {
		return nil, fmt.Errorf("path is %s", r.URL.Path)
	}
	q := new(Asked)
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(q); err != nil {
		return nil, err
	}
	if string(q.Output) == "null" {
		q.Output = nil
	}
	for i, t := range q.Turns {
		if strings.TrimSpace(t.Text) == "" && len(t.Media)+len(t.Calls) == 0 && t.Role != llm.ToolRole {
			return nil, fmt.Errorf("turn %d is empty", i)
		}
	}
	q.Key, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return q, nil
}

func (plainSpeaker) Models(key string) (http.Handler, []llm.ModelInfo) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":[{"id":"m","context_window":1000}]}`)
	}), []llm.ModelInfo{{ID: "m", ContextWindow: 1000}}
}

// ListModels returns the models of the provider.
func (p *plain) ListModels(ctx context.Context) ([]llm.ModelInfo, error) {
	return p.api.Models(ctx, "models")
}

// plainAdapter returns the adapter under test. Wrong turns it into a mutant.
func plainAdapter(wrong func(llm.Model) llm.Model) Adapter {
	return Adapter{
		Open: func(t testing.TB, c provider.Config) llm.Model {
			if wrong == nil {
				return newPlain(t, c)
			}
			c.Timeout, c.IdleTimeout = min(c.Timeout, 2*time.Second), min(c.IdleTimeout, 2*time.Second) // many wait in vain
			return wrong(newPlain(t, c))
		},
		Speaker: plainSpeaker{}, Provider: plainName, Model: "m", Cannot: []Power{CacheMarks},
	}
}

// A correct adapter passes all cases.
func TestPlain_Conformance(t *testing.T) { Test(t, plainAdapter(nil)) }

func TestPlain_Faults(t *testing.T) { Faults(t, plainAdapter(nil)) }
