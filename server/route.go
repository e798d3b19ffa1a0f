package server

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// route is one thing that a client can ask for. From the table of routes come the
// handlers and the OpenAPI document.
type route struct {
	method, path string
	access       access
	handle       func(c *call) error
	summary      string
	query        []param
	ids          []string    // parts of the path that are ids
	body         any         // an example of the type of the request's body, or nil
	replies      map[int]any // the types of the answers; nil is an answer without a body
	failures     []int       // statuses of errors, beside those that every route can have
	stream       bool        // it can take as long as it likes
	events       string      // the answer of 200 is a stream of these
	headers      []param
	foreign      bool // of a protocol: events is words
	// Global routes are about the whole server: they need a key that belongs to no tenant.
	global bool
	own    bool // it works with the server's own threads
	// control routes need [Config.Control], hidden ones are left out with [Config.HideConfig].
	control, hidden bool
}

// param is a parameter. Its kind is string, integer, boolean, or the values it can have,
// as in "asc|desc".
type param struct{ name, kind, doc string }

var (
	pageParams    = []param{{"offset", "integer", "how many to leave out; default 0"}, {"limit", "integer", "how many at most; default 50, 1 to 200"}}
	threadFilters = append([]param{{"cursor", "string", "next_cursor of the page before"}, {"resource_id", "string", "only threads of that resource"}, {"resourceId", "string", "the same"},
		{"parent_thread_id", "string", "only children of that thread"}, {"parentThreadId", "string", "the same"}, {"root", "boolean", "only threads without a parent"}}, pageParams...)
	statusParam = param{"status", "created|running|waiting|done", "only runs of that status"}
	lastEventID = []param{{"Last-Event-ID", "string", "go on after this event"}}
	onceOnly    = []param{{"Idempotency-Key", "string", "the same request sent again with the same key does nothing, and is answered as the first"}}
	tenantParam = param{"tenant", "string", "of another tenant; only for an admin key that belongs to none"}
	cursorParam = param{"cursor", "string", "go on after this event; Last-Event-ID does the same"}

	configPage   = []param{{"offset", "integer", "how many to leave out; default 0"}, {"limit", "integer", "how many at most; default 100, 1 to 1000"}}
	matchHeaders = []param{{"If-Match", "string", "the ETag that the record has to have"}, {"If-None-Match", "string", "*: there must be no record yet"}, {"X-Awaken-Actor", "string", "who does it, for the audit log"}}
	publishParam = param{"publish", "true|false", "false keeps the document as a draft; default true"}
	windowParam  = param{"window", "string", "how far back: 600, 10m, 6h, 1d; default a day, which is all that is kept"}
)

// routes are all there are. (It is filled in by init, because the OpenAPI document is
// made of it.)
var routes []route

func init() {
	routes = []route{
		{method: "GET", path: "/health", handle: (*call).health, summary: "Whether the server can work", replies: map[int]any{200: healthBody{}, 503: healthBody{}}},
		{method: "GET", path: "/health/live", handle: (*call).alive, summary: "Whether the process lives", replies: map[int]any{200: nil}},
		{method: "GET", path: "/metrics", handle: (*call).showMetrics, summary: "Metrics for Prometheus", replies: map[int]any{200: text("")}},
		{method: "GET", path: "/openapi.json", handle: (*call).openAPI, summary: "This document", replies: map[int]any{200: object{}}},
		{method: "GET", path: "/v1/system/info", access: admins, handle: (*call).systemInfo, summary: "What this server is", replies: map[int]any{200: systemInfo{}}},
		{method: "GET", path: "/v1/system/modules", access: admins, handle: (*call).systemModules, summary: "What this server can do", replies: map[int]any{200: moduleList{}}},

		{method: "GET", path: "/v1/threads", access: readers, handle: (*call).listThreads, summary: "List threads, the most recently updated first", query: threadFilters, replies: map[int]any{200: threadIDs{}}, failures: []int{400}},
		{method: "GET", path: "/v1/threads/summaries", access: readers, handle: (*call).summarizeThreads, summary: "List threads with their titles", query: threadFilters, replies: map[int]any{200: threadSummaries{}}, failures: []int{400}},
		{method: "POST", path: "/v1/threads", access: runners, handle: (*call).createThread, summary: "Make a thread", body: newThread{}, replies: map[int]any{201: threadView{}}, failures: []int{400}},
		{method: "GET", path: "/v1/threads/{thread_id}", access: readers, handle: (*call).getThread, summary: "A thread", ids: []string{"thread_id"}, replies: map[int]any{200: threadView{}}, failures: []int{404}},
		{method: "PATCH", path: "/v1/threads/{thread_id}", access: runners, handle: (*call).patchThread, summary: "Change what people attached to a thread", ids: []string{"thread_id"}, body: threadPatch{}, replies: map[int]any{200: threadView{}}, failures: []int{400, 404}},
		{method: "PATCH", path: "/v1/threads/{thread_id}/metadata", access: runners, handle: (*call).patchThread, summary: "The same", ids: []string{"thread_id"}, body: threadPatch{}, replies: map[int]any{200: threadView{}}, failures: []int{400, 404}},
		{method: "DELETE", path: "/v1/threads/{thread_id}", access: runners, handle: (*call).deleteThread, summary: "Delete a thread", ids: []string{"thread_id"}, query: []param{{"child_strategy", "detach|reject|cascade", "what becomes of its children; default detach"}, {"childStrategy", "detach|reject|cascade", "the same"}}, replies: map[int]any{204: nil}, failures: []int{400, 404, 409}},
		{method: "POST", path: "/v1/threads/{thread_id}/cancel", access: runners, handle: (*call).cancelThread, summary: "End the thread's run", ids: []string{"thread_id"}, replies: map[int]any{202: threadAccepted{}}, failures: []int{404}},
		{method: "POST", path: "/v1/threads/{thread_id}/interrupt", access: runners, handle: (*call).interruptThread, summary: "End what runs, waits and is queued", ids: []string{"thread_id"}, replies: map[int]any{202: threadAccepted{}}, failures: []int{404}},
		{method: "POST", path: "/v1/threads/{thread_id}/decision", access: runners, handle: (*call).decideThread, summary: "Decide on a call that waits", ids: []string{"thread_id"}, body: decisionBody{}, replies: map[int]any{202: threadAccepted{}}, failures: []int{400, 404, 409}},
		{method: "GET", path: "/v1/threads/{thread_id}/messages", access: readers, handle: (*call).listMessages, summary: "The conversation", ids: []string{"thread_id"}, query: append([]param{{"cursor", "string", "next_cursor of the page before"}, {"visibility", "external|internal|all", "default external"}, {"order", "asc|desc", "default asc"}, {"after", "integer", "only after this record of the log"}, {"before", "integer", "only before it"}, {"run_id", "string", "only what that run produced"}, {"runId", "string", "the same"}}, pageParams...), replies: map[int]any{200: messageList{}}, failures: []int{400, 404}},
		{method: "POST", path: "/v1/threads/{thread_id}/messages", access: runners, handle: (*call).postMessages, summary: "Send messages, without waiting for an answer", ids: []string{"thread_id"}, body: postMessages{}, replies: map[int]any{202: messagesAccepted{}}, failures: []int{400, 404, 409}, headers: onceOnly},
		{method: "POST", path: "/v1/threads/{thread_id}/mailbox", access: runners, handle: (*call).postMailbox, summary: "Queue a run for a payload", ids: []string{"thread_id"}, body: mailboxItem{}, replies: map[int]any{201: mailboxAccepted{}}, failures: []int{400, 409}, headers: onceOnly},
		{method: "GET", path: "/v1/threads/{thread_id}/mailbox", access: readers, handle: (*call).listMailbox, summary: "The thread's dispatches", ids: []string{"thread_id"}, query: pageParams, replies: map[int]any{200: dispatchList{}}, failures: []int{400}},
		{method: "GET", path: "/v1/threads/{thread_id}/runs", access: readers, handle: (*call).listRuns, summary: "The thread's runs, the newest first", ids: []string{"thread_id"}, query: append([]param{statusParam}, pageParams...), replies: map[int]any{200: runList{}}, failures: []int{400, 404}},
		{method: "GET", path: "/v1/threads/{thread_id}/runs/latest", access: readers, handle: (*call).latestRun, summary: "The thread's latest run", ids: []string{"thread_id"}, replies: map[int]any{200: awaken.Run{}}, failures: []int{404}},
		{method: "GET", path: "/v1/threads/{thread_id}/runs/active", access: readers, handle: (*call).activeRun, summary: "The thread's run that is running or waits", ids: []string{"thread_id"}, replies: map[int]any{200: activeRunBody{}}, failures: []int{404}},
		{method: "GET", path: "/v1/threads/{thread_id}/events", access: readers, handle: (*call).listEvents, summary: "The thread's events", ids: []string{"thread_id"}, query: []param{cursorParam, pageParams[1]}, replies: map[int]any{200: eventList{}}, failures: []int{400, 404, 410}, headers: lastEventID},
		{method: "GET", path: "/v1/threads/{thread_id}/events/stream", access: readers, handle: (*call).streamEvents, summary: "Follow the thread's events", ids: []string{"thread_id"}, query: []param{cursorParam}, replies: map[int]any{200: nil}, failures: []int{400, 404, 410}, stream: true, events: "CanonicalEvent", headers: lastEventID},
		{method: "GET", path: "/v1/threads/{thread_id}/pending", access: readers, handle: (*call).listPending, summary: "Input that no run has taken in yet", ids: []string{"thread_id"}, replies: map[int]any{200: mailbox.PendingList{}}, failures: []int{404}},
		{method: "POST", path: "/v1/threads/{thread_id}/pending/reorder", access: runners, handle: (*call).reorderPending, summary: "Put queued input into another order", ids: []string{"thread_id"}, body: pendingOrder{}, replies: map[int]any{200: mailbox.PendingList{}}, failures: []int{400, 404, 409}},
		{method: "PATCH", path: "/v1/threads/{thread_id}/pending/{pending_id}", access: runners, handle: (*call).editPending, summary: "Change queued input", ids: []string{"thread_id", "pending_id"}, body: pendingEdit{}, replies: map[int]any{200: mailbox.PendingList{}}, failures: []int{400, 404, 409}},
		{method: "DELETE", path: "/v1/threads/{thread_id}/pending/{pending_id}", access: runners, handle: (*call).retractPending, summary: "Withdraw queued input", ids: []string{"thread_id", "pending_id"}, query: []param{{"revision", "integer", "of the input"}}, replies: map[int]any{204: nil}, failures: []int{400, 404, 409}},

		{method: "GET", path: "/v1/runs", access: readers, handle: (*call).listRuns, summary: "List runs, the newest first", query: append([]param{statusParam}, pageParams...), replies: map[int]any{200: runList{}}, failures: []int{400}},
		{method: "POST", path: "/v1/runs", access: runners, handle: (*call).startRun, summary: "Run an agent, and stream what happens or wait for the end", body: newRun{}, replies: map[int]any{200: runResult{}}, failures: []int{400, 409, 504}, stream: true, events: "Event", headers: onceOnly},
		{method: "GET", path: "/v1/runs/summary", access: admins, handle: (*call).summarizeRuns, summary: "How many runs there are", replies: map[int]any{200: runCounts{}}, hidden: true},
		{method: "GET", path: "/v1/runs/{run_id}", access: readers, handle: (*call).getRun, summary: "A run", ids: []string{"run_id"}, replies: map[int]any{200: awaken.Run{}}, failures: []int{404}},
		{method: "POST", path: "/v1/runs/{run_id}/inputs", access: runners, handle: (*call).addInputs, summary: "Send messages to a run", ids: []string{"run_id"}, body: runInputs{}, replies: map[int]any{202: runAccepted{}}, failures: []int{400, 404, 409}, headers: onceOnly},
		{method: "POST", path: "/v1/runs/{run_id}/cancel", access: runners, handle: (*call).cancelRun, summary: "End a run", ids: []string{"run_id"}, replies: map[int]any{202: runAccepted{}}, failures: []int{404}},
		{method: "POST", path: "/v1/runs/{run_id}/continue", access: runners, handle: (*call).continueRun, summary: "Go on with a run that waits for money, or for its version", ids: []string{"run_id"}, replies: map[int]any{202: runAccepted{}}, failures: []int{404, 409}},
		{method: "POST", path: "/v1/runs/{run_id}/decision", access: runners, handle: (*call).decideRun, summary: "Decide on a call that waits", ids: []string{"run_id"}, body: decisionBody{}, replies: map[int]any{202: runAccepted{}}, failures: []int{400, 404, 409}},
		{method: "GET", path: "/v1/runs/{run_id}/events", access: readers, handle: (*call).listEvents, summary: "The run's events", ids: []string{"run_id"}, query: []param{cursorParam, pageParams[1]}, replies: map[int]any{200: eventList{}}, failures: []int{400, 404, 410}, headers: lastEventID},
		{method: "GET", path: "/v1/runs/{run_id}/events/stream", access: readers, handle: (*call).streamEvents, summary: "Follow the run's events", ids: []string{"run_id"}, query: []param{cursorParam}, replies: map[int]any{200: nil}, failures: []int{400, 404, 410}, stream: true, events: "CanonicalEvent", headers: lastEventID},

		{method: "GET", path: "/v1/approvals", access: readers, handle: (*call).listApprovals, summary: "Calls that wait for people, on all threads", query: pageParams, replies: map[int]any{200: approvalList{}}, failures: []int{400}},
		{method: "POST", path: "/v1/approvals/{run_id}/{ticket_id}", access: runners, handle: (*call).decideApproval, summary: "Decide on one of them", ids: []string{"run_id", "ticket_id"}, body: decisionBody{}, replies: map[int]any{202: runAccepted{}}, failures: []int{400, 404, 409}},

		{method: "GET", path: "/v1/usage", access: readers, handle: (*call).usage, summary: "What runs have used and cost, by agent", query: []param{{"thread_id", "string", "only runs on that thread"}, {"agent_id", "string", "only runs of that agent"}}, replies: map[int]any{200: usageBody{}}, failures: []int{400}},
		{method: "GET", path: "/v1/budget", access: readers, handle: (*call).getBudget, summary: "What the tenant has spent, and may", query: []param{tenantParam}, replies: map[int]any{200: balance{}}, failures: []int{400}},
		{method: "PUT", path: "/v1/budget", access: admins, handle: (*call).putBudget, summary: "Limit what the tenant may spend", query: []param{tenantParam}, body: budgetBody{}, replies: map[int]any{200: balance{}}, failures: []int{400}},
		{method: "GET", path: "/v1/agents/{agent_id}/budget", access: readers, handle: (*call).getBudget, summary: "What an agent has spent, and may", ids: []string{"agent_id"}, replies: map[int]any{200: balance{}}, failures: []int{404}},
		{method: "PUT", path: "/v1/agents/{agent_id}/budget", access: admins, handle: (*call).putBudget, summary: "Limit what an agent may spend", ids: []string{"agent_id"}, body: budgetBody{}, replies: map[int]any{200: balance{}}, failures: []int{400, 404}},
		{method: "GET", path: "/v1/threads/{thread_id}/budget", access: readers, handle: (*call).getBudget, summary: "What a thread has spent, and may", ids: []string{"thread_id"}, replies: map[int]any{200: balance{}}, failures: []int{404}},
		{method: "PUT", path: "/v1/threads/{thread_id}/budget", access: admins, handle: (*call).putBudget, summary: "Limit what a thread may spend", ids: []string{"thread_id"}, body: budgetBody{}, replies: map[int]any{200: balance{}}, failures: []int{400, 404}},
		{method: "GET", path: "/v1/runs/{run_id}/budget", access: readers, handle: (*call).getBudget, summary: "What a run has spent, and may", ids: []string{"run_id"}, replies: map[int]any{200: balance{}}, failures: []int{404}},
		{method: "PUT", path: "/v1/runs/{run_id}/budget", access: admins, handle: (*call).putBudget, summary: "Limit what a run may spend", ids: []string{"run_id"}, body: budgetBody{}, replies: map[int]any{200: balance{}}, failures: []int{400, 404}},

		{method: "GET", path: "/v1/dead-letters", access: admins, handle: (*call).listDeadLetters, summary: "Dispatches that were given up, the newest first", query: pageParams, replies: map[int]any{200: dispatchList{}}, failures: []int{400}},
		{method: "DELETE", path: "/v1/dead-letters", access: admins, handle: (*call).purgeDeadLetters, summary: "Remove them all", replies: map[int]any{200: purged{}}},
		{method: "POST", path: "/v1/dead-letters/{dispatch_id}/retry", access: admins, handle: (*call).retryDeadLetter, summary: "Try one again, as a new run", ids: []string{"dispatch_id"}, replies: map[int]any{202: mailboxAccepted{}}, failures: []int{404, 409}},
		{method: "DELETE", path: "/v1/dead-letters/{dispatch_id}", access: admins, handle: (*call).dropDeadLetter, summary: "Remove one", ids: []string{"dispatch_id"}, replies: map[int]any{204: nil}, failures: []int{404, 409}},

		{method: "GET", path: "/v1/keys", access: admins, handle: (*call).listKeys, summary: "The keys, without their secrets", replies: map[int]any{200: keyList{}}},
		{method: "POST", path: "/v1/keys", access: admins, handle: (*call).makeKey, summary: "Make a key", body: keyBody{}, replies: map[int]any{201: keyMade{}}, failures: []int{400}},
		{method: "DELETE", path: "/v1/keys/{id}", access: admins, handle: (*call).revokeKey, summary: "Revoke a key", ids: []string{"id"}, replies: map[int]any{204: nil}, failures: []int{404, 409}},
	}
	routes = append(routes, controlRoutes()...)
}

// mounted is the route of a protocol as one of ours.
func mounted(p protocol.Route) route {
	r := route{method: p.Method, path: p.Path, access: access(p.Access), handle: func(c *call) error { return p.Handle(c) }, summary: p.Summary,
		body: p.Body, replies: p.Replies, failures: p.Failures, stream: p.Stream, events: p.Events, foreign: true, own: p.Own,
		global: p.Own || p.Control, control: p.Control, hidden: p.Control}
	for _, m := range pathParams.FindAllStringSubmatch(p.Path, -1) {
		r.ids = append(r.ids, m[1])
	}
	for _, q := range p.Query {
		r.query = append(r.query, param{q.Name, q.Kind, q.Doc})
	}
	for _, h := range p.Headers {
		r.headers = append(r.headers, param{h.Name, h.Kind, h.Doc})
	}
	return r
}

// text is an answer that is not JSON.
type text string
