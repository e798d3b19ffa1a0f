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
// goes live when an operator publishes it: the write of another record does not take it
// along.
//
// Secrets are not in documents. They are taken out before a document is stored, encrypted
// by the [Vault], and referred to; so versions, audit events, exports and answers cannot
// hold one. A secret is always the current one, whatever version a run is pinned to.
//
// Beside documents there is code: tools, plugins, provider factories and backends, which a
// program gives to the Manager in [Options]. Documents name them.
//
// # How a write travels
//
// [Manager.Put] refuses documents that are the program's (code.go) and hands the write to the
// publisher (publish.go), which takes the lock and takes in what other processes have
// published (follow.go). Then it plans: [Seal] (seal.go) decodes the document, validates it
// as the table of namespaces says (namespace.go), and takes its secrets out; the plan
// (plan.go) collects records, secrets that the [Vault] encrypted, documents that become live,
// and audit events. The compiler (compile.go, build.go) derives a candidate registry from
// the live one; what it cannot compile is refused, and the refusal is in the audit log. The
// store gets everything as one [Change]; if another process was faster, the publisher plans
// anew. At last the follower settles: it compiles the canary, if there is one, and swaps
// what runs in this process (state.go).
//
// # The parts
//
// The Manager reads and writes records. What else there is has a type of its own:
//
//   - [Versions] lists the publications, rolls back to one, and previews agents. The
//     catalogue (catalogue.go) knows what each version consists of, and the pins (pins.go)
//     keep those that runs are pinned to.
//   - [Drafts] lists the records that are not live, publishes them, and restores documents
//     from the audit log.
//   - [Rollout] begins the canary, counts its runs, and promotes or drops it.
//   - [AuditLog] lists what was done, and by whom.
//   - [Connections] are the MCP servers, A2A servers and providers of the live documents.
//     The connections of all versions are shared (server.go, provider.go).
//   - [Assistant] keeps the settings of the server's own agent.
//
// [Manager.Work] keeps a process up to date: it follows what other processes publish,
// takes in the tools of servers, judges the canary and removes what is old.
package config
