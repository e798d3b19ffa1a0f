package config

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/awaken-go/awaken"
)

// Namespace is a kind of document.
type Namespace string

// The namespaces, with the structs of their documents.
const (
	Agents     Namespace = "agents"      // awaken.AgentSpec
	Models     Namespace = "models"      // awaken.ModelSpec
	Pools      Namespace = "model-pools" // awaken.ModelPoolSpec
	Providers  Namespace = "providers"   // awaken.ProviderSpec
	MCPServers Namespace = "mcp-servers" // MCPServerSpec
	A2AServers Namespace = "a2a-servers" // A2AServerSpec
	Skills     Namespace = "skills"      // SkillSpec
	Tools      Namespace = "tools"       // ToolSpec; defined in code; only their overrides are stored
)

// Namespaces lists all namespaces in dependency order: documents depend only on documents
// of earlier namespaces, or of their own.
var Namespaces = []Namespace{Providers, Models, Pools, MCPServers, A2AServers, Tools, Skills, Agents}

// Key names a document.
type Key struct {
	Namespace Namespace `json:"namespace"`
	ID        string    `json:"id"`
}

// String returns namespace/id.
func (k Key) String() string { return string(k.Namespace) + "/" + k.ID }

// Record is a stored document. Its secrets are references.
type Record struct {
	Spec json.RawMessage `json:"spec"`
	Meta Meta            `json:"meta"`
}

// Meta is the metadata of a record.
type Meta struct {
	Source Source `json:"source"`
	// Hidden keeps the document out of publications. Lists still show it.
	Hidden bool `json:"hidden"`
	// UserOverrides is the patch that operators put over a builtin document.
	UserOverrides json.RawMessage `json:"user_overrides,omitempty"`
	CreatedAt     int64           `json:"created_at"` // Unix ms
	UpdatedAt     int64           `json:"updated_at"` // Unix ms
	// UpdatedBy is the actor of the latest write, as the audit log shows it.
	UpdatedBy string `json:"updated_by,omitempty"`
	// Revision counts the writes and is the record's ETag.
	Revision int64 `json:"revision"`
	// Replaced is the builtin record that a draft replaced, for [Drafts.Discard]. Clients do not see it.
	Replaced *Replaced `json:"replaced,omitempty"`
}

// Replaced is a builtin record that a draft replaces. Its documents are sealed.
type Replaced struct {
	Source        Source `json:"source"`
	Spec          string `json:"spec"`
	UserOverrides string `json:"user_overrides,omitempty"`
}

// record returns the builtin record.
func (r *Replaced) record() *Record {
	return &Record{Spec: JSON(r.Spec), Meta: Meta{Source: r.Source, UserOverrides: JSON(r.UserOverrides)}}
}

// Source says where a document comes from.
type Source struct {
	Kind          string `json:"kind"`                     // user or builtin
	BinaryVersion string `json:"binary_version,omitempty"` // the version of the program that brought a builtin document
}

// The kinds of a [Source].
const (
	User    = "user"    // an operator wrote the document
	Builtin = "builtin" // the program brought it; see Manager.Seed
)

// Errors that callers test for. An unknown record is awaken.ErrNotFound, an invalid
// document awaken.ErrInvalid.
var (
	// ErrConflict means that a record or the head changed concurrently. Writes through the
	// Manager return it after they have retried for Options.Patience. It is not an
	// awaken.ErrConflict.
	ErrConflict = errors.New("changed concurrently")
	// ErrStale means that the record does not have the revision that a [Condition] requires.
	ErrStale = errors.New("revision mismatch")
	// ErrExists means that the record to be created exists.
	ErrExists = errors.New("already exists")
	// ErrNotOverridable means that the document is not a builtin one, or of a namespace
	// without overrides.
	ErrNotOverridable = errors.New("only builtin documents can be overridden")
	// ErrNoConnector means that the program was built without a connector for this kind of
	// server.
	ErrNoConnector = errors.New("no connector is configured for this kind of server")
	// ErrReadOnly means that the document is defined in code.
	ErrReadOnly = errors.New("read-only")
)

// recordReader is the part of a [Store] that returns single records.
type recordReader interface {
	Record(ctx context.Context, key Key) (*Record, error)
}

// records iterates over the records of a store.
type records struct {
	store interface {
		Records(ctx context.Context, ns Namespace, after string, limit int) ([]Stored, error)
	}
	tools *toolbox
}

// list iterates over the records of a namespace whose ids come after one, including tools without a record.
func (r *records) list(ctx context.Context, ns Namespace, after string) iter.Seq2[Stored, error] {
	if ns == Tools {
		return r.listTools(ctx, after)
	}
	return r.storedAfter(ctx, ns, after)
}

// stored iterates over the stored records of a namespace by id. It ends at the first error.
func (r *records) stored(ctx context.Context, ns Namespace) iter.Seq2[Stored, error] {
	return r.storedAfter(ctx, ns, "")
}

// storedAfter is stored for the records whose ids come after one.
func (r *records) storedAfter(ctx context.Context, ns Namespace, after string) iter.Seq2[Stored, error] {
	const page = 256
	return func(yield func(Stored, error) bool) {
		after := after
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

// listTools iterates over the tools after an id, by id. An overridden tool is listed as its record.
func (r *records) listTools(ctx context.Context, after string) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		tools := slices.DeleteFunc(r.tools.all(), func(t awaken.ToolSpec) bool { return t.ID <= after })
		show := func(t awaken.ToolSpec) bool { return yield(Stored{ID: t.ID, Record: *toolRecord(t)}, nil) }
		for s, err := range r.storedAfter(ctx, Tools, after) {
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

// effective returns the effective document of a record, sealed. It is nil if there is no
// record, and the bare document if the overrides cannot be applied.
func effective(key Key, rec *Record) json.RawMessage {
	if rec == nil {
		return nil
	}
	if doc, err := rec.effective(key); err == nil {
		return doc
	}
	return rec.Spec
}
