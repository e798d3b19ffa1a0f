// Package config is the control plane: it stores the documents that define agents, models,
// providers and servers, and turns every change of them into a registry that runs use.
//
// [Open] returns a [Manager] for a [Store], which is in memory, in files, or in a database. The Manager is the registry.Versions of the
// runtime, so that runs use its publications:
//
//	m, err := config.Open(ctx, config.Options{Store: db.Config(), Vault: vault, Provider: open})
//	…
//	defer m.Close()
//	go m.Work(ctx) // follows other processes, and more
//	rt, err := engine.New(engine.Config{Versions: m, Store: db.Store("")})
//	…
//	key := config.Key{Namespace: config.Agents, ID: "helper"}
//	_, err = m.Put(ctx, key, spec, false, config.Condition{}, config.Actor{ID: "ada"})
//
// # Concepts
//
// A [Record] is an editable document of a namespace, such as an agent or a provider. Writes
// go through the [Manager]. It validates the document, compiles a candidate registry, and
// hands the [Store] one [Change] with the record, its secrets, a new [Publication] and an
// [AuditEvent]; all of it becomes durable, or none. Then it swaps the registry. A process
// that dies in between has done all of that or nothing, and a client that writes with the
// [Condition] of a revision cannot overwrite one that it has not seen.
//
// A Publication is an immutable version of all documents: it lists, by hash, which of them
// are live. A run is pinned to the publication that it started on (its resolution_id), even
// across restarts; see [Manager.Pinned]. A rollback publishes old documents as a new version.
// A [Canary] is a version that gets a share of the new threads.
//
// Operators edit records; runs use publications. Most writes change both. A draft, or a
// document restored from the audit log, changes only the record, and goes live when an
// operator publishes it. Writing another record does not publish it.
//
// Operators write user documents; the program brings builtin ones ([Manager.Seed]). Operators
// change a builtin document by overrides, a patch that survives an update of the program
// ([Manager.Override]). The effective document is a document with its overrides applied; runs
// and clients see only that. Documents that are defined in code, in Options.Code, are read-only.
//
// Documents never contain secrets. The Manager replaces each secret by a reference before it
// stores a document, and the [Vault] encrypts the value. Versions, audit events, exports and
// responses therefore cannot leak one. Every version uses the current value of a secret.
//
// Tools, plugins, provider factories and backends are code. The program passes them to the
// Manager in [Options], and documents refer to them by name.
//
// # How a write works
//
// [Manager.Put] refuses documents that are defined in code (code.go) and hands the write to
// the publisher (publish.go). The publisher takes the lock and applies what other processes
// have published (follow.go). Then it builds a plan (plan.go): sealing (seal.go) decodes the
// document, validates it by the table of namespaces (namespace.go) and takes its secrets out;
// the plan collects records, encrypted secrets, documents that become live, and audit events.
// The compiler (compile.go, build.go) derives a candidate registry from the live one. If that
// fails, the write is refused, and the audit log says so. Otherwise the store gets everything
// as one [Change]. If another process was faster, the publisher plans again. Finally the
// follower compiles the canary, if there is one, and swaps the state of this process
// (state.go).
//
// # Parts
//
// The Manager reads and writes records. Each other task has its own type:
//
//   - [Versions] lists publications, rolls back, and previews agents. The catalogue
//     (catalogue.go) reconstructs the documents of a version, and the pins (pins.go) keep the
//     versions compiled that runs are pinned to.
//   - [Drafts] lists and publishes records that are not live, and restores documents from the
//     audit log.
//   - [Rollout] begins the canary, counts its runs, and promotes or drops it.
//   - [AuditLog] lists who did what.
//   - [Connections] reaches the MCP servers, A2A servers and providers of the live documents.
//     All versions share these connections (server.go, provider.go).
//   - [Assistant] holds the settings of the admin assistant.
//
// [Manager.Work] runs in the background: it follows other processes, updates the tools of MCP
// servers, evaluates the canary and removes old data.
//
// [Store] documents what an implementation must do; [Notifier] and [Turner] are optional. The methods of [Change], [RecordChange] and
// [AuditQuery] implement the rules that all stores share, and package configtest tests implementations.
package config
