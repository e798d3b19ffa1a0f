package config

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/awaken-go/awaken"
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
