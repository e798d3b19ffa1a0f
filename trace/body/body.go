// Package body keeps what models were asked and what they answered, word for word, for the runs that a policy selects.
//
// The log of a run has its conversation, and the version of its agent has its prompt and tools. What was sent to the model is
// made of them, and of what plugins, a context window and retries made of them. To see that itself, a [Writer] is the tap of
// an engine:
//
//	w := body.NewWriter(body.Config{Policy: body.Errors, Store: func(tenant string) body.Store { return body.Of(db.Store(tenant)) }})
//	rt, err := engine.New(engine.Config{Tap: w, ...})
//	go w.Serve(ctx)
//
// Bodies are those of the runtime, not of a provider's protocol: they hold no credentials of providers, and files are
// references. What looks like a credential in a conversation is replaced; see [Redact]. They are deleted with their
// thread, so a pin of a run keeps them too.
//
// Runs do not wait for bodies to be stored. A process that is killed loses the bodies of its last moments, and a store that cannot keep up
// loses some; the writer counts them.
package body

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/awaken-go/awaken/llm"
)

// Policy says which requests are kept.
type Policy string

// The policies.
const (
	Off    Policy = "off"
	Errors Policy = "errors" // those that failed, or were answered in part
	Sample Policy = "sample" // all of a share of the runs, and those that failed
	All    Policy = "all"
)

// Record is one request to a model and what came of it.
type Record struct {
	ID   string `json:"id"`   // sorts by time
	Step int    `json:"step"` // from 0
	// EndedAtMS is when the answer ended, Unix ms.
	EndedAtMS int64 `json:"ended_at_ms"`
	// Digest is the SHA-256 of the request, as it is here: equal requests have equal ones.
	Digest  string  `json:"request_digest"`
	Request Request `json:"request"`
	// Response is the model's answer, as far as it arrived.
	Response *llm.Message     `json:"response,omitempty"`
	Finish   llm.FinishReason `json:"finish_reason,omitempty"`
	Usage    *llm.Usage       `json:"usage,omitempty"`
	Error    string           `json:"error,omitempty"`
}

// Request is a request to a model.
type Request struct {
	Model           string          `json:"model"`
	Temperature     *float64        `json:"temperature,omitempty"`
	TopP            *float64        `json:"top_p,omitempty"`
	MaxTokens       *int            `json:"max_tokens,omitempty"`
	ReasoningEffort *llm.Effort     `json:"reasoning_effort,omitempty"`
	StopSequences   []string        `json:"stop_sequences,omitempty"`
	Seed            *int64          `json:"seed,omitempty"`
	ToolChoice      string          `json:"tool_choice,omitempty"`
	OutputSchema    json.RawMessage `json:"output_schema,omitempty"`
	System          []llm.Block     `json:"system,omitempty"`
	Tools           []llm.Tool      `json:"tools,omitempty"`
	// Omitted is how many messages at the beginning were left out, because the whole was too large.
	Omitted  int            `json:"omitted_messages,omitempty"`
	Messages []*llm.Message `json:"messages"`
}

// Stored is a record as a store keeps it.
type Stored struct {
	ThreadID, RunID string
	ID              string
	Data            []byte // compressed JSON
}

// Record returns the record.
func (s *Stored) Record() (*Record, error) {
	r := flate.NewReader(bytes.NewReader(s.Data))
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, 1<<30))
	if err == nil {
		rec := new(Record)
		if err = json.Unmarshal(data, rec); err == nil {
			return rec, nil
		}
	}
	return nil, fmt.Errorf("body %s of run %s: %w", s.ID, s.RunID, err)
}

// step returns the step of the record, which is at its beginning, without reading the rest.
func (s *Stored) step() (int, error) {
	r := flate.NewReader(bytes.NewReader(s.Data))
	defer r.Close()
	dec := json.NewDecoder(r)
	if _, err := dec.Token(); err != nil { // {
		return 0, fmt.Errorf("body %s of run %s: %w", s.ID, s.RunID, err)
	}
	for {
		name, err := dec.Token()
		if err != nil {
			return 0, fmt.Errorf("body %s of run %s: %w", s.ID, s.RunID, err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return 0, fmt.Errorf("body %s of run %s: %w", s.ID, s.RunID, err)
		}
		if name == "step" {
			return strconv.Atoi(string(value))
		}
	}
}

// Store keeps the bodies of one tenant. Implementations are safe for concurrent use.
type Store interface {
	// AddBodies stores bodies whose threads exist, and returns the others. One that is stored already is not stored again.
	AddBodies(ctx context.Context, list []Stored) (homeless []Stored, err error)
	// Bodies returns the bodies of a run, ordered by ID.
	Bodies(ctx context.Context, threadID, runID string) ([]Stored, error)
}

// Keeper is implemented by stores that keep bodies beside threads, and delete them with their thread.
type Keeper interface {
	Bodies() Store
}

// Of returns the bodies of a store, or nil if it keeps none.
func Of(store any) Store {
	if k, ok := store.(Keeper); ok {
		return k.Bodies()
	}
	return nil
}

// Read returns the records of a run, in order. It returns none if the store keeps none.
func Read(ctx context.Context, store any, threadID, runID string) ([]*Record, error) {
	list, err := stored(ctx, store, threadID, runID)
	if err != nil {
		return nil, err
	}
	return records(list)
}

func stored(ctx context.Context, store any, threadID, runID string) ([]Stored, error) {
	s := Of(store)
	if s == nil {
		return nil, nil
	}
	return s.Bodies(ctx, threadID, runID)
}

func records(list []Stored) ([]*Record, error) {
	out := make([]*Record, 0, len(list))
	for i := range list {
		rec, err := list[i].Record()
		if err != nil {
			return nil, err
		}
		out = append(out, rec)
	}
	return out, nil
}

// Steps has the records of a run, compressed: those of a long one would take much memory.
type Steps map[int][]Stored // by step, in order

// ReadSteps returns the records of a run. It returns none if the store keeps none.
func ReadSteps(ctx context.Context, store any, threadID, runID string) (Steps, error) {
	list, err := stored(ctx, store, threadID, runID)
	if err != nil {
		return nil, err
	}
	out := Steps{}
	for i := range list {
		n, err := list[i].step()
		if err != nil {
			return nil, err
		}
		out[n] = append(out[n], list[i])
	}
	return out, nil
}

// Of returns the records of a step.
func (s Steps) Of(step int) ([]*Record, error) { return records(s[step]) }
