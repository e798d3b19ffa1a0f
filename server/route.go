package server

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// own adapts a handler of the server itself, which sees the whole call and not only what a
// protocol may.
func own(handle func(c *call) error) func(protocol.Call) error {
	return func(c protocol.Call) error { return handle(c.(*call)) }
}

func param(name, kind, doc string) protocol.Param {
	return protocol.Param{Name: name, Kind: kind, Doc: doc}
}

var (
	pageParams    = []protocol.Param{param("offset", "integer", "how many to leave out; default 0"), param("limit", "integer", "how many at most; default 50, 1 to 200")}
	threadFilters = append([]protocol.Param{param("cursor", "string", "next_cursor of the page before"), param("resource_id", "string", "only threads of that resource"), param("resourceId", "string", "the same"),
		param("parent_thread_id", "string", "only children of that thread"), param("parentThreadId", "string", "the same"), param("root", "boolean", "only threads without a parent")}, pageParams...)
	statusParam = param("status", "created|running|waiting|done", "only runs of that status")
	lastEventID = []protocol.Param{param("Last-Event-ID", "string", "go on after this event")}
	onceOnly    = []protocol.Param{param("Idempotency-Key", "string", "the same request sent again with the same key does nothing, and is answered as the first")}
	tenantParam = param("tenant", "string", "of another tenant; only for an admin key that belongs to none")
	cursorParam = param("cursor", "string", "go on after this event; Last-Event-ID does the same")

	configPage   = []protocol.Param{param("offset", "integer", "how many to leave out; default 0"), param("limit", "integer", "how many at most; default 100, 1 to 1000")}
	matchHeaders = []protocol.Param{param("If-Match", "string", "the ETag that the record has to have"), param("If-None-Match", "string", "*: there must be no record yet"), param("X-Awaken-Actor", "string", "who does it, for the audit log")}
	publishParam = param("publish", "true|false", "false keeps the document as a draft; default true")
	windowParam  = param("window", "string", "how far back: 600, 10m, 6h, 1d; default a day, which is all that is kept")
)

// table returns the routes of a server: its own, as far as it has what they need, and those
// of protocols.
func table(cfg *Config) []protocol.Route {
	all := commonRoutes()
	if cfg.Keys != nil {
		all = append(all, keyRoutes()...)
	}
	if cfg.Mailbox.Tenant("").Runtime.Budget() != nil { // else they would promise what is not kept
		all = append(all, budgetRoutes()...)
	}
	if !cfg.HideConfig {
		all = append(all, activityRoutes()...)
	}
	if cfg.Control != nil && !cfg.HideConfig {
		all = append(all, controlRoutes()...)
	}
	if cfg.Control != nil {
		all = append(all, capabilityRoutes()...)
	}
	for _, r := range cfg.Routes {
		if r.Control && (cfg.Control == nil || cfg.HideConfig) {
			continue
		}
		r.Global = r.Global || r.Own || r.Control
		all = append(all, r)
	}
	return all
}

// forOperators makes routes about the whole server: they need an admin key that belongs to
// no tenant.
func forOperators(routes ...protocol.Route) []protocol.Route {
	for i := range routes {
		routes[i].Access, routes[i].Global = protocol.Admins, true
	}
	return routes
}

func commonRoutes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/health", Handle: own((*call).health), Summary: "Whether the server can work", Replies: map[int]any{200: healthBody{}, 503: healthBody{}}},
		{Method: "GET", Path: "/health/live", Handle: own((*call).alive), Summary: "Whether the process lives", Replies: map[int]any{200: nil}},
		{Method: "GET", Path: "/metrics", Handle: own((*call).showMetrics), Summary: "Metrics for Prometheus", Replies: map[int]any{200: text("")}},
		{Method: "GET", Path: "/openapi.json", Handle: own((*call).openAPI), Summary: "This document", Replies: map[int]any{200: object{}}},
		{Method: "GET", Path: "/v1/system/info", Access: protocol.Admins, Handle: own((*call).systemInfo), Summary: "What this server is", Replies: map[int]any{200: systemInfo{}}},
		{Method: "GET", Path: "/v1/system/modules", Access: protocol.Admins, Handle: own((*call).systemModules), Summary: "What this server can do", Replies: map[int]any{200: moduleList{}}},

		{Method: "GET", Path: "/v1/threads", Access: protocol.Readers, Handle: own((*call).listThreads), Summary: "List threads, the most recently updated first", Query: threadFilters, Replies: map[int]any{200: threadIDs{}}, Failures: []int{400}},
		{Method: "GET", Path: "/v1/threads/summaries", Access: protocol.Readers, Handle: own((*call).summarizeThreads), Summary: "List threads with their titles", Query: threadFilters, Replies: map[int]any{200: threadSummaries{}}, Failures: []int{400}},
		{Method: "POST", Path: "/v1/threads", Access: protocol.Runners, Handle: own((*call).createThread), Summary: "Make a thread", Body: newThread{}, Replies: map[int]any{201: threadView{}}, Failures: []int{400}},
		{Method: "GET", Path: "/v1/threads/{thread_id}", Access: protocol.Readers, Handle: own((*call).getThread), Summary: "A thread", Replies: map[int]any{200: threadView{}}, Failures: []int{404}},
		{Method: "PATCH", Path: "/v1/threads/{thread_id}", Access: protocol.Runners, Handle: own((*call).patchThread), Summary: "Change what people attached to a thread", Body: threadPatch{}, Replies: map[int]any{200: threadView{}}, Failures: []int{400, 404}},
		{Method: "PATCH", Path: "/v1/threads/{thread_id}/metadata", Access: protocol.Runners, Handle: own((*call).patchThread), Summary: "The same", Body: threadPatch{}, Replies: map[int]any{200: threadView{}}, Failures: []int{400, 404}},
		{Method: "DELETE", Path: "/v1/threads/{thread_id}", Access: protocol.Runners, Handle: own((*call).deleteThread), Summary: "Delete a thread", Query: []protocol.Param{param("child_strategy", "detach|reject|cascade", "what becomes of its children; default detach"), param("childStrategy", "detach|reject|cascade", "the same")}, Replies: map[int]any{204: nil}, Failures: []int{400, 404, 409}},
		{Method: "POST", Path: "/v1/threads/{thread_id}/cancel", Access: protocol.Runners, Handle: own((*call).cancelThread), Summary: "End the thread's run", Replies: map[int]any{202: threadAccepted{}}, Failures: []int{404}},
		{Method: "POST", Path: "/v1/threads/{thread_id}/interrupt", Access: protocol.Runners, Handle: own((*call).interruptThread), Summary: "End what runs, waits and is queued", Replies: map[int]any{202: threadAccepted{}}, Failures: []int{404}},
		{Method: "POST", Path: "/v1/threads/{thread_id}/decision", Access: protocol.Runners, Handle: own((*call).decideThread), Summary: "Decide on a call that waits", Body: decisionBody{}, Replies: map[int]any{202: threadAccepted{}}, Failures: []int{400, 404, 409}},
		{Method: "GET", Path: "/v1/threads/{thread_id}/messages", Access: protocol.Readers, Handle: own((*call).listMessages), Summary: "The conversation", Query: append([]protocol.Param{param("cursor", "string", "next_cursor of the page before"), param("visibility", "external|internal|all", "default external"), param("order", "asc|desc", "default asc"), param("after", "integer", "only after this record of the log"), param("before", "integer", "only before it"), param("run_id", "string", "only what that run produced"), param("runId", "string", "the same")}, pageParams...), Replies: map[int]any{200: messageList{}}, Failures: []int{400, 404}},
		{Method: "POST", Path: "/v1/threads/{thread_id}/messages", Access: protocol.Runners, Handle: own((*call).postMessages), Summary: "Send messages, without waiting for an answer", Body: postMessages{}, Replies: map[int]any{202: messagesAccepted{}}, Failures: []int{400, 404, 409}, Headers: onceOnly},
		{Method: "POST", Path: "/v1/threads/{thread_id}/mailbox", Access: protocol.Runners, Handle: own((*call).postMailbox), Summary: "Queue a run for a payload", Body: mailboxItem{}, Replies: map[int]any{201: mailboxAccepted{}}, Failures: []int{400, 409}, Headers: onceOnly},
		{Method: "GET", Path: "/v1/threads/{thread_id}/mailbox", Access: protocol.Readers, Handle: own((*call).listMailbox), Summary: "The thread's dispatches", Query: pageParams, Replies: map[int]any{200: dispatchList{}}, Failures: []int{400}},
		{Method: "GET", Path: "/v1/threads/{thread_id}/runs", Access: protocol.Readers, Handle: own((*call).listRuns), Summary: "The thread's runs, the newest first", Query: append([]protocol.Param{statusParam}, pageParams...), Replies: map[int]any{200: runList{}}, Failures: []int{400, 404}},
		{Method: "GET", Path: "/v1/threads/{thread_id}/runs/latest", Access: protocol.Readers, Handle: own((*call).latestRun), Summary: "The thread's latest run", Replies: map[int]any{200: awaken.Run{}}, Failures: []int{404}},
		{Method: "GET", Path: "/v1/threads/{thread_id}/runs/active", Access: protocol.Readers, Handle: own((*call).activeRun), Summary: "The thread's run that is running or waits", Replies: map[int]any{200: activeRunBody{}}, Failures: []int{404}},
		{Method: "GET", Path: "/v1/threads/{thread_id}/events", Access: protocol.Readers, Handle: own((*call).listEvents), Summary: "The thread's events", Query: []protocol.Param{cursorParam, pageParams[1]}, Replies: map[int]any{200: eventList{}}, Failures: []int{400, 404, 410}, Headers: lastEventID},
		{Method: "GET", Path: "/v1/threads/{thread_id}/events/stream", Access: protocol.Readers, Handle: own((*call).streamEvents), Summary: "Follow the thread's events", Query: []protocol.Param{cursorParam}, Replies: map[int]any{200: nil}, Failures: []int{400, 404, 410}, Stream: true, EventSchema: "CanonicalEvent", Headers: lastEventID},
		{Method: "GET", Path: "/v1/threads/{thread_id}/pending", Access: protocol.Readers, Handle: own((*call).listPending), Summary: "Input that no run has taken in yet", Replies: map[int]any{200: mailbox.PendingList{}}, Failures: []int{404}},
		{Method: "POST", Path: "/v1/threads/{thread_id}/pending/reorder", Access: protocol.Runners, Handle: own((*call).reorderPending), Summary: "Put queued input into another order", Body: pendingOrder{}, Replies: map[int]any{200: mailbox.PendingList{}}, Failures: []int{400, 404, 409}},
		{Method: "PATCH", Path: "/v1/threads/{thread_id}/pending/{pending_id}", Access: protocol.Runners, Handle: own((*call).editPending), Summary: "Change queued input", Body: pendingEdit{}, Replies: map[int]any{200: mailbox.PendingList{}}, Failures: []int{400, 404, 409}},
		{Method: "DELETE", Path: "/v1/threads/{thread_id}/pending/{pending_id}", Access: protocol.Runners, Handle: own((*call).retractPending), Summary: "Withdraw queued input", Query: []protocol.Param{param("revision", "integer", "of the input")}, Replies: map[int]any{204: nil}, Failures: []int{400, 404, 409}},

		{Method: "GET", Path: "/v1/runs", Access: protocol.Readers, Handle: own((*call).listRuns), Summary: "List runs, the newest first", Query: append([]protocol.Param{statusParam}, pageParams...), Replies: map[int]any{200: runList{}}, Failures: []int{400}},
		{Method: "POST", Path: "/v1/runs", Access: protocol.Runners, Handle: own((*call).startRun), Summary: "Run an agent, and stream what happens or wait for the end", Body: newRun{}, Replies: map[int]any{200: runResult{}}, Failures: []int{400, 409, 504}, Stream: true, EventSchema: "Event", Headers: onceOnly},
		{Method: "GET", Path: "/v1/runs/{run_id}", Access: protocol.Readers, Handle: own((*call).getRun), Summary: "A run", Replies: map[int]any{200: awaken.Run{}}, Failures: []int{404}},
		{Method: "POST", Path: "/v1/runs/{run_id}/inputs", Access: protocol.Runners, Handle: own((*call).addInputs), Summary: "Send messages to a run", Body: runInputs{}, Replies: map[int]any{202: runAccepted{}}, Failures: []int{400, 404, 409}, Headers: onceOnly},
		{Method: "POST", Path: "/v1/runs/{run_id}/cancel", Access: protocol.Runners, Handle: own((*call).cancelRun), Summary: "End a run", Replies: map[int]any{202: runAccepted{}}, Failures: []int{404}},
		{Method: "POST", Path: "/v1/runs/{run_id}/continue", Access: protocol.Runners, Handle: own((*call).continueRun), Summary: "Go on with a run that waits for money, or for its version", Replies: map[int]any{202: runAccepted{}}, Failures: []int{404, 409}},
		{Method: "POST", Path: "/v1/runs/{run_id}/decision", Access: protocol.Runners, Handle: own((*call).decideRun), Summary: "Decide on a call that waits", Body: decisionBody{}, Replies: map[int]any{202: runAccepted{}}, Failures: []int{400, 404, 409}},
		{Method: "GET", Path: "/v1/runs/{run_id}/events", Access: protocol.Readers, Handle: own((*call).listEvents), Summary: "The run's events", Query: []protocol.Param{cursorParam, pageParams[1]}, Replies: map[int]any{200: eventList{}}, Failures: []int{400, 404, 410}, Headers: lastEventID},
		{Method: "GET", Path: "/v1/runs/{run_id}/events/stream", Access: protocol.Readers, Handle: own((*call).streamEvents), Summary: "Follow the run's events", Query: []protocol.Param{cursorParam}, Replies: map[int]any{200: nil}, Failures: []int{400, 404, 410}, Stream: true, EventSchema: "CanonicalEvent", Headers: lastEventID},

		{Method: "GET", Path: "/v1/approvals", Access: protocol.Readers, Handle: own((*call).listApprovals), Summary: "Calls that wait for people, on all threads", Query: pageParams, Replies: map[int]any{200: approvalList{}}, Failures: []int{400}},
		{Method: "POST", Path: "/v1/approvals/{run_id}/{ticket_id}", Access: protocol.Runners, Handle: own((*call).decideApproval), Summary: "Decide on one of them", Body: decisionBody{}, Replies: map[int]any{202: runAccepted{}}, Failures: []int{400, 404, 409}},

		{Method: "GET", Path: "/v1/usage", Access: protocol.Readers, Handle: own((*call).usage), Summary: "What runs have used and cost, by agent", Query: []protocol.Param{param("thread_id", "string", "only runs on that thread"), param("agent_id", "string", "only runs of that agent")}, Replies: map[int]any{200: usageBody{}}, Failures: []int{400}},

		{Method: "GET", Path: "/v1/dead-letters", Access: protocol.Admins, Handle: own((*call).listDeadLetters), Summary: "Dispatches that were given up, the newest first", Query: pageParams, Replies: map[int]any{200: dispatchList{}}, Failures: []int{400}},
		{Method: "DELETE", Path: "/v1/dead-letters", Access: protocol.Admins, Handle: own((*call).purgeDeadLetters), Summary: "Remove them all", Replies: map[int]any{200: purged{}}},
		{Method: "POST", Path: "/v1/dead-letters/{dispatch_id}/retry", Access: protocol.Admins, Handle: own((*call).retryDeadLetter), Summary: "Try one again, as a new run", Replies: map[int]any{202: mailboxAccepted{}}, Failures: []int{404, 409}},
		{Method: "DELETE", Path: "/v1/dead-letters/{dispatch_id}", Access: protocol.Admins, Handle: own((*call).dropDeadLetter), Summary: "Remove one", Replies: map[int]any{204: nil}, Failures: []int{404, 409}},
	}
}

func keyRoutes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/keys", Access: protocol.Admins, Handle: own((*call).listKeys), Summary: "The keys, without their secrets", Replies: map[int]any{200: keyList{}}},
		{Method: "POST", Path: "/v1/keys", Access: protocol.Admins, Handle: own((*call).makeKey), Summary: "Make a key", Body: keyBody{}, Replies: map[int]any{201: keyMade{}}, Failures: []int{400}},
		{Method: "DELETE", Path: "/v1/keys/{id}", Access: protocol.Admins, Handle: own((*call).revokeKey), Summary: "Revoke a key", Replies: map[int]any{204: nil}, Failures: []int{404, 409}},
	}
}

func budgetRoutes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/budget", Access: protocol.Readers, Handle: own((*call).getBudget), Summary: "What the tenant has spent, and may", Query: []protocol.Param{tenantParam}, Replies: map[int]any{200: balance{}}, Failures: []int{400}},
		{Method: "PUT", Path: "/v1/budget", Access: protocol.Admins, Handle: own((*call).putBudget), Summary: "Limit what the tenant may spend", Query: []protocol.Param{tenantParam}, Body: budgetBody{}, Replies: map[int]any{200: balance{}}, Failures: []int{400}},
		{Method: "GET", Path: "/v1/agents/{agent_id}/budget", Access: protocol.Readers, Handle: own((*call).getBudget), Summary: "What an agent has spent, and may", Replies: map[int]any{200: balance{}}, Failures: []int{404}},
		{Method: "PUT", Path: "/v1/agents/{agent_id}/budget", Access: protocol.Admins, Handle: own((*call).putBudget), Summary: "Limit what an agent may spend", Body: budgetBody{}, Replies: map[int]any{200: balance{}}, Failures: []int{400, 404}},
		{Method: "GET", Path: "/v1/threads/{thread_id}/budget", Access: protocol.Readers, Handle: own((*call).getBudget), Summary: "What a thread has spent, and may", Replies: map[int]any{200: balance{}}, Failures: []int{404}},
		{Method: "PUT", Path: "/v1/threads/{thread_id}/budget", Access: protocol.Admins, Handle: own((*call).putBudget), Summary: "Limit what a thread may spend", Body: budgetBody{}, Replies: map[int]any{200: balance{}}, Failures: []int{400, 404}},
		{Method: "GET", Path: "/v1/runs/{run_id}/budget", Access: protocol.Readers, Handle: own((*call).getBudget), Summary: "What a run has spent, and may", Replies: map[int]any{200: balance{}}, Failures: []int{404}},
		{Method: "PUT", Path: "/v1/runs/{run_id}/budget", Access: protocol.Admins, Handle: own((*call).putBudget), Summary: "Limit what a run may spend", Body: budgetBody{}, Replies: map[int]any{200: balance{}}, Failures: []int{400, 404}},
	}
}

// text is an answer that is not JSON.
type text string
