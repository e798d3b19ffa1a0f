package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/state/profile"
)

const (
	runsNamespace  = "eval_runs"
	casesNamespace = "eval_run_cases"
	itemsNamespace = "eval_items." // and the id of the run and the number of the page
)

// Status is the state of a run.
type Status string

// The states.
const (
	Running   Status = "running"
	Done      Status = "done"
	Cancelled Status = "cancelled"
)

// Run is a run over a dataset. It is written once, except for its state.
type Run struct {
	ID              string      `json:"id"`
	DatasetID       string      `json:"dataset_id"`
	DatasetRevision int64       `json:"dataset_revision"`
	ExecutionMode   string      `json:"execution_mode"` // scripted or live
	Items           []eval.Item `json:"items"`
	StartedAtSecs   int64       `json:"started_at_secs"`
	EndedAtSecs     int64       `json:"ended_at_secs"` // 0 until it has ended
	Status          Status      `json:"status"`
	CellCount       int         `json:"cell_count"`
	Samples         int         `json:"samples,omitempty"`
	BaselineRunID   string      `json:"baseline_run_id,omitempty"` // the run that it is compared with
	// AgentID is the agent that was tried, and Version the version of the configuration that has it.
	AgentID string `json:"agent_id,omitempty"`
	Version string `json:"version,omitempty"`
	// AgentDigest identifies the agent with its model and whatever else its documents need: runs of the same agent have the same. It is
	// empty if the agent had overrides.
	AgentDigest string `json:"agent_digest,omitempty"`
	// InDoubtCount is the number of cells without a report because the process that ran them died. They may have been paid for, so they are
	// repeated only on a client's request. InDoubt lists the first hundred. Statistics do not count them.
	InDoubtCount int     `json:"in_doubt_count,omitempty"`
	InDoubt      []Doubt `json:"in_doubt,omitempty"`
}

// Doubt is a cell with an unknown outcome.
type Doubt struct {
	FixtureID   string     `json:"fixture_id"`
	Cell        *eval.Cell `json:"cell,omitempty"`
	SampleIndex *int       `json:"sample_index,omitempty"`
}

// Header is the stored part of a run without its items.
type Header struct {
	Run
	Passed  int             `json:"passed"`
	Failed  int             `json:"failed"`
	Request json.RawMessage `json:"request"`          // what makes a plan of the cases
	Tenant  string          `json:"tenant,omitempty"` // that pays
	// ResolutionID is the version of the registry with the agents.
	ResolutionID string `json:"resolution_id,omitempty"`
	// Owner is the process that runs it, until the time Until in Unix ms unless it renews the lease.
	Owner  string `json:"owner,omitempty"`
	Until  int64  `json:"until,omitempty"`
	Cancel bool   `json:"cancel,omitempty"` // a client wants it to end
	// Started is the number of the first cell that no process has begun. It is stored before a cell costs anything.
	Started int  `json:"started,omitempty"`
	Retry   bool `json:"retry,omitempty"` // a client wants the cells in doubt to be run again, once
	// EvidenceOf lists the agents that were published on the evidence of the run, alone or as a baseline.
	EvidenceOf []string `json:"evidence_of,omitempty"`
}

// ErrLost reports that another process holds the run.
var ErrLost = errors.New("another process has the run")

// Begin stores a new run with its cases.
func (a *Archive) Begin(ctx context.Context, h *Header, cases []eval.Fixture) error {
	data, err := json.Marshal(cases)
	if err != nil {
		return err
	}
	if err := a.values.Set(ctx, casesNamespace, h.ID, data); err != nil {
		return err
	}
	if data, err = encodeHeader(h); err != nil {
		return err
	}
	ok, err := a.values.CompareAndSet(ctx, runsNamespace, h.ID, nil, data)
	if err == nil && !ok {
		err = fmt.Errorf("eval run %q: %w: it already exists", h.ID, awaken.ErrConflict)
	}
	return err
}

func encodeHeader(h *Header) ([]byte, error) {
	kept := *h
	kept.Items = nil
	return json.Marshal(kept)
}

// Cases returns the cases of a run as they were when it began.
func (a *Archive) Cases(ctx context.Context, id string) ([]eval.Fixture, error) {
	cases, _, err := get[[]eval.Fixture](ctx, a, casesNamespace, "cases of eval run", id)
	if err != nil {
		return nil, err
	}
	return *cases, nil
}

// Header returns the header of a run, or awaken.ErrNotFound.
func (a *Archive) Header(ctx context.Context, id string) (*Header, error) {
	h, _, err := a.header(ctx, id)
	return h, err
}

func (a *Archive) header(ctx context.Context, id string) (*Header, json.RawMessage, error) {
	return get[Header](ctx, a, runsNamespace, "eval run", id)
}

// Update changes the header of a run. It calls change again if another process comes between. If change returns an error, nothing
// is written.
func (a *Archive) Update(ctx context.Context, id string, change func(*Header) error) (*Header, error) {
	for {
		h, old, err := a.header(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := change(h); err != nil {
			return h, err
		}
		data, err := encodeHeader(h)
		if err != nil || bytes.Equal(data, old) {
			return h, err
		}
		if ok, err := a.values.CompareAndSet(ctx, runsNamespace, id, old, data); ok || err != nil {
			return h, err
		}
	}
}

// Runs returns the headers of the runs before one, the newest first; "" means all. It holds only some of them in memory.
func (a *Archive) Runs(ctx context.Context, before string) iter.Seq2[*Header, error] {
	return func(yield func(*Header, error) bool) {
		for e, err := range a.pages(ctx, runsNamespace, profile.Page{After: before, Descending: true, Limit: atOnce}) { // ids begin with the time
			h := new(Header)
			if err == nil {
				if err = json.Unmarshal(e.Value, h); err != nil {
					err = fmt.Errorf("eval run %q: %w", e.Key, err)
				}
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

// page is how many cells share a namespace, so that items can be read in pages.
const page = 500

// itemPlace returns the namespace and the key of a cell's item.
func itemPlace(id string, n int) (namespace, key string) {
	return fmt.Sprintf("%s%s.%d", itemsNamespace, id, n/page), fmt.Sprintf("%08d", n)
}

// Add stores the item of a cell, unless there already is one.
func (a *Archive) Add(ctx context.Context, id string, n int, item *eval.Item) error {
	data, err := json.Marshal(item)
	if err != nil {
		return err
	}
	namespace, key := itemPlace(id, n)
	_, err = a.values.CompareAndSet(ctx, namespace, key, nil, data)
	return err
}

// Item returns the item of a cell, or nil if there is none.
func (a *Archive) Item(ctx context.Context, id string, n int) (*eval.Item, error) {
	namespace, key := itemPlace(id, n)
	e, err := a.values.Get(ctx, namespace, key)
	if e == nil || err != nil {
		return nil, err
	}
	it := new(eval.Item)
	return it, json.Unmarshal(e.Value, it)
}

// Each calls fn with the items of a run that are stored, in the order of their cells, until it returns an error. It holds only some of them
// in memory. Cells is the number of cells that the run has.
func (a *Archive) Each(ctx context.Context, id string, cells int, fn func(n int, it *eval.Item) error) error {
	for from := 0; from < cells; from += page {
		namespace, _ := itemPlace(id, from)
		entries, err := a.values.List(ctx, namespace)
		if err != nil {
			return err
		}
		for _, e := range entries {
			n, it := 0, new(eval.Item)
			if _, err := fmt.Sscanf(e.Key, "%d", &n); err != nil {
				return fmt.Errorf("eval run %q: item %q: %w", id, e.Key, err)
			}
			if json.Unmarshal(e.Value, it) != nil {
				return fmt.Errorf("eval run %q: item %q cannot be read", id, e.Key)
			}
			if err := fn(n, it); err != nil {
				return err
			}
		}
	}
	return nil
}

// Run returns a run with its items, or awaken.ErrNotFound.
func (a *Archive) Run(ctx context.Context, id string) (*Run, error) {
	h, _, err := a.header(ctx, id)
	if err != nil {
		return nil, err
	}
	err = a.Each(ctx, id, h.CellCount, func(_ int, it *eval.Item) error {
		h.Items = append(h.Items, *it)
		return nil
	})
	return &h.Run, err
}

// Remove deletes a run.
func (a *Archive) Remove(ctx context.Context, id string) error {
	h, _, err := a.header(ctx, id)
	if err != nil {
		return err
	}
	err = a.Each(ctx, id, h.CellCount, func(n int, it *eval.Item) error {
		if it.TraceRunID != "" {
			if err := a.values.Delete(ctx, tracesNamespace, it.TraceRunID); err != nil {
				return err
			}
		}
		namespace, key := itemPlace(id, n)
		return a.values.Delete(ctx, namespace, key)
	})
	if err != nil {
		return err
	}
	return errors.Join(a.values.Delete(ctx, casesNamespace, id), a.values.Delete(ctx, runsNamespace, id))
}
