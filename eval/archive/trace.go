package archive

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
)

const tracesNamespace = "eval_traces"

// MaxTrace is the size of a trace that is kept, in bytes.
const MaxTrace = 1 << 20

// Trace is the trace of a cell, under the ID of its last run.
type Trace struct {
	EvalRunID string            `json:"eval_run_id"`
	Lines     []json.RawMessage `json:"lines"` // one event each
}

// AddTrace stores the trace of a cell. It returns awaken.ErrInvalid if it is too large.
func (a *Archive) AddTrace(ctx context.Context, runID string, t *Trace) error {
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if len(data) > MaxTrace {
		return fmt.Errorf("%w: the trace has %d bytes, want at most %d", awaken.ErrInvalid, len(data), MaxTrace)
	}
	return a.values.Set(ctx, tracesNamespace, runID, data)
}

// Trace returns the trace of a cell, or awaken.ErrNotFound.
func (a *Archive) Trace(ctx context.Context, runID string) (*Trace, error) {
	t, _, err := get[Trace](ctx, a, tracesNamespace, "trace of run", runID)
	return t, err
}
