// Package config is the control plane: the documents that say how agents behave, and how
// a change of one of them becomes what runs.
//
// # The story
//
// A [Record] is a document of a namespace: an agent, a model, a provider. A write goes
// through the [Manager]: it checks the document, compiles a candidate registry, and hands
// the [Store] one [Change] that holds the record, its secrets, a new [Publication] and an
// [AuditEvent]: all become durable, or none. Then the registry is swapped. A process that
// dies in between has done all of it or nothing; a client that asked with If-Match cannot
// overwrite what it has not seen.
//
// A Publication is a version of everything: it says which documents, by hash, are live. It
// is never changed. A run is pinned to the one that it started on (its resolution_id), also
// after a restart: see [Manager.Pinned]. Rolling back publishes old documents as a new
// version. A canary is a version that gets a share of the new threads; see [Canary].
//
// The record is what people edit, the publication is what runs. Most writes change both at
// once. A draft, and what is restored from the audit log, changes the record alone, and
// goes live when somebody publishes it: the write of another record does not take it along.
//
// Secrets are not in documents. They are taken out before a document is stored, encrypted
// by the [Vault], and referred to; so versions, audit events, exports and answers cannot
// hold one. A secret is always the current one, whatever version a run is pinned to.
//
// Beside documents there is code: tools, plugins, provider factories and backends, which a
// program gives to the Manager in [Options]. Documents name them.
package config
