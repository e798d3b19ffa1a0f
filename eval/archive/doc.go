// Package archive stores the datasets and evaluation runs of a tenant in its profile, which every store has.
//
//	a := archive.New(profile)
//	d, err := a.Create(ctx, "support", &eval.Dataset{Fixtures: fixtures}, "alice")
//	d, err = a.Change(ctx, "support", d.Meta.Revision, "alice", func(spec *eval.Dataset) error { … })
//
// A dataset is a document with a revision. A [Run] of an evaluation is a header and an item for each cell. Each is an entry of its own, so
// that a finished cell is stored immediately and survives the process. Entries are written by compare-and-set, so two processes never
// overwrite each other; a run belongs to the process that holds its lease.
package archive
