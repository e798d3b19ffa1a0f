// Package permit is the table of permissions of a server.
//
// A [Permission] is one thing that callers can do, such as to read threads or to publish a configuration. Every route names
// the one that it needs, and a server refuses to start with a route that names none. A caller has a [Set] of permissions: the
// kinds of keys are sets ([Reader], [Runner], [Admin]), an operator's key has one more, and a key that belongs to a tenant
// none of [Server]. Whether a caller may use a route follows from its set and the route's permission, and from nothing else;
// the server decides it in one place. A role is another set.
//
// A permission does not say whose data it is about. A key sees its tenant, and the scope of a route keeps the users of a
// tenant apart. Two permissions widen that, [ActForUsers] and [ActForTenants]; no route needs them.
//
// The package is a leaf, so that protocols, the kernel of the server and its wings can name permissions.
package permit

// Permission is one thing that callers can do. The zero Permission is none.
type Permission uint8

const (
	_ Permission = iota

	Public // needs no key
	SignIn

	ReadThreads
	ReadApprovals
	ReadAgents
	ReadUsage
	ReadConnections

	StartRuns
	CancelRuns
	DecideApprovals
	WriteThreads
	AuthorizeConnections

	ActForUsers
	ReadQueue
	WriteQueue
	ReadTraces
	WriteTraces
	ReadMemories
	WriteMemories
	ReadAutomation
	WriteAutomation
	ReadEvals
	WriteDatasets
	RunEvals
	ReadKeys
	WriteKeys
	WriteBudgets
	ReadSystem

	ActForTenants
	ReadTenants
	ReadServer
	ReadConfig
	WriteConfig
	PublishConfig
	TryConfig
	UseAssistant
	ReadAudit
	ManageConnections
	ResetLimits

	end
)

// entry describes a permission.
type entry struct {
	name   string
	doc    string // completes "may"
	server bool   // concerns the whole server
}

var table = [end]entry{
	Public: {name: "public", doc: "use routes that need no key"},
	SignIn: {name: "session.begin", doc: "sign in with a key and get a session for it"},

	ReadThreads:     {name: "threads.read", doc: "read and search threads, their messages, runs, events, queued input and files"},
	ReadApprovals:   {name: "approvals.read", doc: "read calls that wait for a decision, and decisions"},
	ReadAgents:      {name: "agents.read", doc: "list the agents that a run can have"},
	ReadUsage:       {name: "usage.read", doc: "read usage, spending, limits and counts of runs"},
	ReadConnections: {name: "connections.read", doc: "read whether the caller's user has authorized an MCP server"},

	StartRuns:            {name: "runs.start", doc: "send messages, start, continue and fork runs, and use the endpoints of protocols that start them"},
	CancelRuns:           {name: "runs.cancel", doc: "cancel and interrupt runs"},
	DecideApprovals:      {name: "approvals.decide", doc: "decide on calls that wait"},
	WriteThreads:         {name: "threads.write", doc: "create, change and delete threads and queued input, and upload files"},
	AuthorizeConnections: {name: "connections.authorize", doc: "authorize an MCP server for the caller's user"},

	ActForUsers:     {name: "users.all", doc: "use what belongs to any user of the tenant"},
	ReadQueue:       {name: "queue.read", doc: "read the queue and dead letters, with errors and the names of workers"},
	WriteQueue:      {name: "queue.write", doc: "retry and delete dead letters, and release the runs of a restored database"},
	ReadTraces:      {name: "traces.read", doc: "read traces"},
	WriteTraces:     {name: "traces.write", doc: "pin traces"},
	ReadMemories:    {name: "memories.read", doc: "read memories and remembered approvals"},
	WriteMemories:   {name: "memories.write", doc: "delete memories and remembered approvals"},
	ReadAutomation:  {name: "automation.read", doc: "read schedules, triggers and webhooks, their firings and deliveries"},
	WriteAutomation: {name: "automation.write", doc: "change, run, test and delete schedules, triggers and webhooks"},
	ReadEvals:       {name: "evals.read", doc: "read datasets, evaluations and judgements of production runs"},
	WriteDatasets:   {name: "datasets.write", doc: "change datasets"},
	RunEvals:        {name: "evals.run", doc: "start, cancel, resume and delete evaluations, and retry judgements"},
	ReadKeys:        {name: "keys.read", doc: "list keys"},
	WriteKeys:       {name: "keys.write", doc: "create and revoke keys"},
	WriteBudgets:    {name: "budgets.write", doc: "set spending limits"},
	ReadSystem:      {name: "system.read", doc: "read the version of the server and which parts it has"},

	ActForTenants:     {name: "tenants.all", doc: "act for any tenant, and set its spending limit", server: true},
	ReadTenants:       {name: "tenants.read", doc: "list tenants", server: true},
	ReadServer:        {name: "server.read", doc: "read settings, replicas, figures of all tenants, metrics by model and profiles", server: true},
	ReadConfig:        {name: "config.read", doc: "read and check config documents, drafts, versions and the state of connections", server: true},
	WriteConfig:       {name: "config.write", doc: "change config documents, as drafts or published at once", server: true},
	PublishConfig:     {name: "config.publish", doc: "publish drafts, roll back, and direct canaries", server: true},
	TryConfig:         {name: "config.try", doc: "try agents and providers that are not published, and repeat runs with changes", server: true},
	UseAssistant:      {name: "assistant.use", doc: "talk to the admin assistant", server: true},
	ReadAudit:         {name: "audit.read", doc: "read the audit log", server: true},
	ManageConnections: {name: "connections.manage", doc: "restart, approve and authorize the connections that all tenants share", server: true},
	ResetLimits:       {name: "limits.reset", doc: "forget the rate limits that providers reported", server: true},
}

// The sets of the kinds of keys. A client without a key, where a server is open to such, is a Runner.
var (
	Reader = Of(Public, SignIn, ReadThreads, ReadApprovals, ReadAgents, ReadUsage, ReadConnections)
	Runner = Reader | Of(StartRuns, CancelRuns, DecideApprovals, WriteThreads, AuthorizeConnections)
	Admin  = Of(All()...)
)

// Server has the permissions that concern the whole server. A key that belongs to a tenant has none of them.
var Server = func() (s Set) {
	for _, p := range All() {
		if table[p].server {
			s |= Of(p)
		}
	}
	return s
}()

// Wide has the permissions that no route needs: they widen whose data the others are about.
var Wide = Of(ActForUsers, ActForTenants)

// All returns all permissions, in the order of the table.
func All() []Permission {
	var out []Permission
	for p := Public; p < end; p++ {
		out = append(out, p)
	}
	return out
}

// Valid reports whether the table has the permission.
func (p Permission) Valid() bool { return p > 0 && p < end }

// String returns the name of the permission, such as threads.read.
func (p Permission) String() string {
	if !p.Valid() {
		return "none"
	}
	return table[p].name
}

// Doc completes the sentence "a caller with this permission may …".
func (p Permission) Doc() string {
	if !p.Valid() {
		return "do nothing"
	}
	return table[p].doc
}

// Set is a set of permissions. The union of two is a | b, and a without b is a &^ b.
type Set uint64

// Of returns a set.
func Of(ps ...Permission) Set {
	var s Set
	for _, p := range ps {
		s |= 1 << p
	}
	return s
}

// Has reports whether a permission is in the set. None is in no set.
func (s Set) Has(p Permission) bool { return p.Valid() && s&Of(p) != 0 }

// Includes reports whether all of o are in the set.
func (s Set) Includes(o Set) bool { return o&^s == 0 }
