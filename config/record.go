package config

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/awaken-go/awaken"
)

// Namespace is a kind of document.
type Namespace string

const (
	Agents     Namespace = "agents"
	Models     Namespace = "models"
	Pools      Namespace = "model-pools"
	Providers  Namespace = "providers"
	MCPServers Namespace = "mcp-servers"
	A2AServers Namespace = "a2a-servers"
	Skills     Namespace = "skills"
	Tools      Namespace = "tools" // of the code; only their overrides are stored
)

// Namespaces are all there are, in the order in which documents depend on each other.
var Namespaces = []Namespace{Providers, Models, Pools, MCPServers, A2AServers, Tools, Skills, Agents}

// Key names a document.
type Key struct {
	Namespace Namespace `json:"namespace"`
	ID        string    `json:"id"`
}

func (k Key) String() string { return string(k.Namespace) + "/" + k.ID }

// Record is a document as it is stored. Its secrets are references.
type Record struct {
	Spec json.RawMessage `json:"spec"`
	Meta Meta            `json:"meta"`
}

// Meta is what is known about a document.
type Meta struct {
	Source Source `json:"source"`
	// Hidden keeps the document out of what is published; it is still listed.
	Hidden bool `json:"hidden"`
	// UserOverrides is a patch that people put over a builtin document.
	UserOverrides json.RawMessage `json:"user_overrides,omitempty"`
	CreatedAt     int64           `json:"created_at"` // unix ms
	UpdatedAt     int64           `json:"updated_at"`
	// Revision counts the writes. It is the ETag of the record.
	Revision int64 `json:"revision"`
}

// Source says where a document comes from.
type Source struct {
	Kind          string `json:"kind"` // user or builtin
	BinaryVersion string `json:"binary_version,omitempty"`
}

const (
	User    = "user"
	Builtin = "builtin"
)

// Errors that callers look for. Unknown records are awaken.ErrNotFound, mistakes in
// documents awaken.ErrInvalid.
var (
	// ErrConflict means that a record, or what is published, has changed meanwhile.
	ErrConflict = errors.New("it has changed meanwhile")
	// ErrStale means that a write expected a revision that the record does not have.
	ErrStale = errors.New("it has another revision")
	// ErrExists means that a record that was to be made is there.
	ErrExists = errors.New("it exists already")
	// ErrNotOverridable means that overrides were given for a document that people own.
	ErrNotOverridable = errors.New("only builtin documents have overrides")
	// ErrNoConnector means that this program connects to no server of the kind.
	ErrNoConnector = errors.New("this program does not connect to servers of that kind")
	// ErrReadOnly means that the namespace cannot be written.
	ErrReadOnly = errors.New("it cannot be written")
)

// recordReader is the part of a [Store] that has one record at a time.
type recordReader interface {
	Record(ctx context.Context, key Key) (*Record, error)
}

// records goes through the records of a store.
type records struct {
	store interface {
		Records(ctx context.Context, ns Namespace, after string, limit int) ([]Stored, error)
	}
	tools *toolbox
}

// list goes through the records of a namespace, and the tools that have none.
func (r *records) list(ctx context.Context, ns Namespace) iter.Seq2[Stored, error] {
	if ns == Tools {
		return r.listTools(ctx)
	}
	return r.stored(ctx, ns)
}

// stored goes through the records of a namespace by id. It ends with the first error.
func (r *records) stored(ctx context.Context, ns Namespace) iter.Seq2[Stored, error] {
	const page = 256
	return func(yield func(Stored, error) bool) {
		after := ""
		for {
			list, err := r.store.Records(ctx, ns, after, page)
			if err != nil {
				yield(Stored{}, err)
				return
			}
			for _, s := range list {
				if !yield(s, nil) {
					return
				}
				after = s.ID
			}
			if len(list) < page {
				return
			}
		}
	}
}

// listTools goes through all tools. Those that are overridden have a record.
func (r *records) listTools(ctx context.Context) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		tools := r.tools.all()
		show := func(t awaken.ToolSpec) bool { return yield(Stored{ID: t.ID, Record: *toolRecord(t)}, nil) }
		for s, err := range r.stored(ctx, Tools) {
			for err == nil && len(tools) > 0 && tools[0].ID <= s.ID {
				if tools[0].ID < s.ID && !show(tools[0]) {
					return
				}
				tools = tools[1:]
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
		for _, t := range tools {
			if !show(t) {
				return
			}
		}
	}
}

// document returns the effective document of a record.
func (r *Record) document(key Key) (*document, error) {
	doc, err := r.effective(key)
	if err != nil {
		return nil, err
	}
	return newDocument(key, doc, r.Meta.Revision), nil
}

// effective returns the effective document of a record, sealed; nil if there is no record,
// and the document without its overrides if they cannot be put over it.
func effective(key Key, rec *Record) json.RawMessage {
	if rec == nil {
		return nil
	}
	if doc, err := rec.effective(key); err == nil {
		return doc
	}
	return rec.Spec
}
