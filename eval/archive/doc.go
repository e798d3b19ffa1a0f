// Package archive keeps the datasets and the runs of evaluations of a tenant in its profile, which every store has.
//
//	a := archive.New(profile)
//	d, err := a.Create(ctx, "support", &eval.Dataset{Fixtures: fixtures}, "alice")
//	d, err = a.Change(ctx, "support", d.Meta.Revision, "alice", func(spec *eval.Dataset) error { … })
//
// A dataset is a document with a revision. A [Run] of an evaluation is a header and an item for each cell, each an entry of its own,
// so that a cell that is done is stored at once, whatever becomes of the process. An entry is written by comparing it with what it
// was, so two processes never overwrite each other; a run belongs to the process that holds its lease.
package archive
