package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
)

const (
	runsNamespace  = "eval_runs"
	casesNamespace = "eval_run_cases"
	itemsNamespace = "eval_items." // and the id of the run
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
	// AgentID is the agent that was tried, and Version the version of the configuration that has it.
	AgentID string `json:"agent_id,omitempty"`
	Version string `json:"version,omitempty"`
	// AgentDigest identifies the agent with its model and whatever else its documents need: runs of the same agent have the same. It is
	// empty if the agent had overrides.
	AgentDigest string `json:"agent_digest,omitempty"`
}

// Header is what is stored of a run beside its items.
type Header struct {
	Run
	Passed  int             `json:"passed"`
	Failed  int             `json:"failed"`
	Request json.RawMessage `json:"request"` // what makes a plan of the cases
	// ResolutionID is the version of the registry with the agents.
	ResolutionID string `json:"resolution_id,omitempty"`
	// Owner is the process that runs it, until the time Until in Unix ms unless it renews the lease.
	Owner  string `json:"owner,omitempty"`
	Until  int64  `json:"until,omitempty"`
	Cancel bool   `json:"cancel,omitempty"` // a client wants it to end
}

// ErrLost means that another process has the run.
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
		err = fmt.Errorf("eval run %q: %w: there is one with that id", h.ID, awaken.ErrConflict)
	}
	return err
}

func encodeHeader(h *Header) ([]byte, error) {
	kept := *h
	kept.Items = nil
	return json.Marshal(kept)
}

// Cases returns the cases of a run as they were when it began.
func (a *Archive) Cases(ctx context.Context, id string) (cases []eval.Fixture, err error) {
	e, err := a.values.Get(ctx, casesNamespace, id)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, fmt.Errorf("cases of eval run %q: %w", id, awaken.ErrNotFound)
	}
	return cases, json.Unmarshal(e.Value, &cases)
}

// Header returns the header of a run, or awaken.ErrNotFound.
func (a *Archive) Header(ctx context.Context, id string) (*Header, error) {
	h, _, err := a.header(ctx, id)
	return h, err
}

func (a *Archive) header(ctx context.Context, id string) (*Header, json.RawMessage, error) {
	e, err := a.values.Get(ctx, runsNamespace, id)
	if err != nil {
		return nil, nil, err
	}
	if e == nil {
		return nil, nil, fmt.Errorf("eval run %q: %w", id, awaken.ErrNotFound)
	}
	h := &Header{}
	if err := json.Unmarshal(e.Value, h); err != nil {
		return nil, nil, fmt.Errorf("eval run %q: %w", id, err)
	}
	return h, e.Value, nil
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

// Runs returns the headers of all runs, the newest first.
func (a *Archive) Runs(ctx context.Context) ([]Header, error) {
	entries, err := a.values.List(ctx, runsNamespace)
	if err != nil {
		return nil, err
	}
	out := make([]Header, len(entries))
	for i, e := range entries {
		if err := json.Unmarshal(e.Value, &out[i]); err != nil {
			return nil, fmt.Errorf("eval run %q: %w", e.Key, err)
		}
	}
	slices.SortStableFunc(out, func(a, b Header) int { return strings.Compare(b.ID, a.ID) }) // ids begin with the time
	return out, nil
}

func itemKey(n int) string { return fmt.Sprintf("%08d", n) }

// Add stores the item of a cell. If there is one, it stays.
func (a *Archive) Add(ctx context.Context, id string, n int, item *eval.Item) error {
	data, err := json.Marshal(item)
	if err != nil {
		return err
	}
	_, err = a.values.CompareAndSet(ctx, itemsNamespace+id, itemKey(n), nil, data)
	return err
}

// Items returns the items of a run that are stored, in the order of their cells, and the numbers of these.
func (a *Archive) Items(ctx context.Context, id string) (items []eval.Item, cells map[int]bool, err error) {
	entries, err := a.values.List(ctx, itemsNamespace+id)
	if err != nil {
		return nil, nil, err
	}
	items, cells = make([]eval.Item, len(entries)), make(map[int]bool, len(entries))
	for i, e := range entries {
		n := 0
		if _, err := fmt.Sscanf(e.Key, "%d", &n); err != nil {
			return nil, nil, fmt.Errorf("eval run %q: item %q: %w", id, e.Key, err)
		}
		if cells[n] = true; json.Unmarshal(e.Value, &items[i]) != nil {
			return nil, nil, fmt.Errorf("eval run %q: item %q cannot be read", id, e.Key)
		}
	}
	return items, cells, nil
}

// Run returns a run with its items, or awaken.ErrNotFound.
func (a *Archive) Run(ctx context.Context, id string) (*Run, error) {
	h, _, err := a.header(ctx, id)
	if err != nil {
		return nil, err
	}
	h.Items, _, err = a.Items(ctx, id)
	return &h.Run, err
}

// Remove deletes a run.
func (a *Archive) Remove(ctx context.Context, id string) error {
	entries, err := a.values.List(ctx, itemsNamespace+id)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := a.values.Delete(ctx, itemsNamespace+id, e.Key); err != nil {
			return err
		}
	}
	return errors.Join(a.values.Delete(ctx, casesNamespace, id), a.values.Delete(ctx, runsNamespace, id))
}
