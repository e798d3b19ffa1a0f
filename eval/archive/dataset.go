package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/profile"
)

// Archive keeps datasets and runs in a profile. It is safe for concurrent use.
type Archive struct {
	values profile.Store
	now    func() time.Time
}

// New returns the archive in a profile.
func New(values profile.Store) *Archive { return &Archive{values: values, now: time.Now} }

const datasetsNamespace = "eval_datasets"

// MaxDataset is the size of a dataset, in bytes of JSON.
const MaxDataset = 20 << 20

// Dataset is a dataset as it is stored.
type Dataset struct {
	Spec eval.Dataset `json:"spec"`
	Meta Meta         `json:"meta"`
}

// Meta is the metadata of a dataset.
type Meta struct {
	Source    Source `json:"source"`
	Hidden    bool   `json:"hidden"`
	CreatedAt int64  `json:"created_at"` // Unix ms
	UpdatedAt int64  `json:"updated_at"` // Unix ms
	UpdatedBy string `json:"updated_by,omitempty"`
	Revision  int64  `json:"revision"` // counts the writes
}

// Source says where a dataset comes from. All come from users.
type Source struct {
	Kind string `json:"kind"`
}

// Summary is a dataset in a list.
type Summary struct {
	ID          string
	Description string
	Fixtures    int
	Meta        Meta
}

// Datasets returns all datasets, by id.
func (a *Archive) Datasets(ctx context.Context) ([]Summary, error) {
	entries, err := a.values.List(ctx, datasetsNamespace)
	if err != nil {
		return nil, err
	}
	out := make([]Summary, len(entries))
	for i := range entries {
		var d struct { // not a Dataset: many large ones would take much memory
			Spec struct {
				Description string     `json:"description"`
				Fixtures    []struct{} `json:"fixtures"`
			} `json:"spec"`
			Meta Meta `json:"meta"`
		}
		if err := json.Unmarshal(entries[i].Value, &d); err != nil {
			return nil, fmt.Errorf("dataset %q: %w", entries[i].Key, err)
		}
		out[i] = Summary{entries[i].Key, d.Spec.Description, len(d.Spec.Fixtures), d.Meta}
		entries[i].Value = nil
	}
	return out, nil
}

// Dataset returns a dataset, or awaken.ErrNotFound.
func (a *Archive) Dataset(ctx context.Context, id string) (*Dataset, error) {
	d, _, err := a.dataset(ctx, id)
	return d, err
}

// dataset returns a dataset, and its entry to compare with.
func (a *Archive) dataset(ctx context.Context, id string) (*Dataset, json.RawMessage, error) {
	e, err := a.values.Get(ctx, datasetsNamespace, id)
	if err != nil {
		return nil, nil, err
	}
	if e == nil {
		return nil, nil, fmt.Errorf("dataset %q: %w", id, awaken.ErrNotFound)
	}
	d := &Dataset{}
	if err := json.Unmarshal(e.Value, d); err != nil {
		return nil, nil, fmt.Errorf("dataset %q: %w", id, err)
	}
	return d, e.Value, nil
}

// Create stores a new dataset. It returns awaken.ErrConflict if there is one with that id, and awaken.ErrInvalid if it is larger than [MaxDataset].
func (a *Archive) Create(ctx context.Context, id string, spec *eval.Dataset, by string) (*Dataset, error) {
	now := a.now().UnixMilli()
	d := &Dataset{Spec: *spec, Meta: Meta{Source: Source{"user"}, CreatedAt: now, UpdatedAt: now, UpdatedBy: by, Revision: 1}}
	if err := a.set(ctx, id, nil, d); err != nil {
		return nil, err
	}
	return d, nil
}

func (a *Archive) set(ctx context.Context, id string, old json.RawMessage, d *Dataset) error {
	if d.Spec.Fixtures == nil {
		d.Spec.Fixtures = []eval.Fixture{}
	}
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if len(data) > MaxDataset {
		return fmt.Errorf("dataset %q: %w: it would have %d bytes; want at most %d: put some of its fixtures into another dataset", id, awaken.ErrInvalid, len(data), MaxDataset)
	}
	return a.swap(ctx, id, old, data)
}

// swap replaces what is stored of a dataset; nil means nothing.
func (a *Archive) swap(ctx context.Context, id string, old, data json.RawMessage) error {
	ok, err := a.values.CompareAndSet(ctx, datasetsNamespace, id, old, data)
	switch {
	case err != nil:
		return err
	case !ok && old == nil:
		return fmt.Errorf("dataset %q: %w: there is one with that id", id, awaken.ErrConflict)
	case !ok:
		return fmt.Errorf("dataset %q: %w: it was changed at the same time", id, awaken.ErrConflict)
	}
	return nil
}

// ErrUnchanged says that a change of a dataset changes nothing.
var ErrUnchanged = errors.New("nothing is changed")

// Change replaces a dataset that has the expected revision with the result of change; -1 takes any. It returns awaken.ErrNotFound, or
// awaken.ErrConflict if the revision is another one, or awaken.ErrInvalid if it is larger than [MaxDataset]. If change fails or returns
// [ErrUnchanged], nothing is written; after ErrUnchanged, Change returns the dataset.
func (a *Archive) Change(ctx context.Context, id string, expected int64, by string, change func(*eval.Dataset) error) (*Dataset, error) {
	d, old, err := a.dataset(ctx, id)
	if err != nil {
		return nil, err
	}
	if expected >= 0 && d.Meta.Revision != expected {
		return nil, stale(id, d.Meta.Revision, expected)
	}
	switch err := change(&d.Spec); {
	case errors.Is(err, ErrUnchanged):
		return d, nil
	case err != nil:
		return nil, err
	}
	d.Meta.Revision++
	d.Meta.UpdatedAt, d.Meta.UpdatedBy = a.now().UnixMilli(), by
	return d, a.set(ctx, id, old, d)
}

// Delete deletes a dataset that has the expected revision, and returns it; -1 takes any. It returns awaken.ErrNotFound, or awaken.ErrConflict if
// the revision is another one or the dataset is changed at the same time.
func (a *Archive) Delete(ctx context.Context, id string, expected int64) (*Dataset, error) {
	d, old, err := a.dataset(ctx, id)
	if err != nil {
		return nil, err
	}
	if expected >= 0 && d.Meta.Revision != expected {
		return nil, stale(id, d.Meta.Revision, expected)
	}
	return d, a.swap(ctx, id, old, nil)
}

func stale(id string, revision, expected int64) error {
	return fmt.Errorf("dataset %q: %w: its revision is %d, not %d", id, awaken.ErrConflict, revision, expected)
}
