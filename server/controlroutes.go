package server

import (
	"encoding/json"

	"github.com/awaken-go/awaken/config"
)

// controlRoutes are those of the control plane.
func controlRoutes() []route {
	const ns = "/v1/config/{namespace}"
	id, named := []string{"id"}, []string{"namespace", "id"}
	var doc rawDocument
	over := func(ns config.Namespace, what string, more ...int) []route {
		path := "/v1/config/" + string(ns) + "/{id}/overrides"
		clear := func(c *call) error { return c.clearOverrides(ns) }
		return []route{
			{method: "POST", path: path, handle: func(c *call) error { return c.override(ns, true) }, summary: "Check overrides of " + what + ", and write nothing", ids: id, body: doc, replies: map[int]any{200: doc}, failures: append([]int{400, 404, 412}, more...), headers: matchHeaders[:2]},
			{method: "PATCH", path: path, handle: func(c *call) error { return c.override(ns, false) }, summary: "Override fields of " + what, ids: id, body: doc, replies: map[int]any{200: doc}, failures: append([]int{400, 404, 409, 412}, more...), headers: matchHeaders},
			{method: "DELETE", path: path, handle: clear, summary: "Remove all overrides of " + what, ids: id, replies: map[int]any{200: doc}, failures: append([]int{400, 404, 409, 412}, more...), headers: matchHeaders},
			{method: "DELETE", path: path + "/{field}", handle: clear, summary: "Remove one override of " + what, ids: []string{"id", "field"}, replies: map[int]any{200: doc}, failures: append([]int{400, 404, 409, 412}, more...), headers: matchHeaders},
		}
	}
	all := []route{
		{method: "GET", path: ns, handle: (*call).listConfig, summary: "The documents of a namespace, by id", ids: named[:1], query: configPage, replies: map[int]any{200: recordList{}}, failures: []int{400, 404}},
		{method: "POST", path: ns, handle: (*call).createConfig, summary: "Make a document, and publish it", ids: named[:1], query: []param{publishParam}, body: doc, replies: map[int]any{201: doc}, failures: []int{400, 404, 409}, headers: matchHeaders[2:]},
		{method: "POST", path: ns + "/validate", handle: (*call).validateConfig, summary: "Check a document, and write nothing", ids: named[:1], query: []param{{"id", "string", "of the document, if it does not say"}}, body: doc, replies: map[int]any{200: validated{}}, failures: []int{400, 404}},
		{method: "GET", path: ns + "/meta", handle: (*call).listMeta, summary: "What is known about the documents", ids: named[:1], replies: map[int]any{200: []recordMeta{}}, failures: []int{404}},
		{method: "GET", path: ns + "/$schema", handle: (*call).getSchema, summary: "The JSON Schema of the namespace's documents", ids: named[:1], replies: map[int]any{200: json.RawMessage{}}, failures: []int{404}},
		{method: "GET", path: ns + "/{id}", handle: (*call).getConfig, summary: "A document, without its secrets", ids: named, replies: map[int]any{200: doc}, failures: []int{404}},
		{method: "PUT", path: ns + "/{id}", handle: (*call).putConfig, summary: "Write a document, and publish it", ids: named, query: []param{publishParam}, body: doc, replies: map[int]any{200: doc}, failures: []int{400, 404, 409, 412}, headers: matchHeaders},
		{method: "DELETE", path: ns + "/{id}", handle: (*call).deleteConfig, summary: "Remove a document, and publish that", ids: named, query: []param{{"force", "true|false", "with a provider, remove the models that nothing else uses; default false"}}, replies: map[int]any{204: nil, 409: dependencyBody{}}, failures: []int{400, 404, 412}, headers: matchHeaders},
		{method: "GET", path: ns + "/{id}/meta", handle: (*call).getMeta, summary: "What is known about a document", ids: named, replies: map[int]any{200: config.Meta{}}, failures: []int{404}},
		{method: "POST", path: ns + "/{id}/restore", handle: (*call).restoreConfig, summary: "Bring back what an audit event holds, as a draft", ids: named, body: restoreBody{}, replies: map[int]any{200: doc, 404: unknownVersion{}}, failures: []int{400, 409, 412, 422}, headers: matchHeaders},
		{method: "GET", path: "/v1/config/diagnostics", handle: (*call).diagnostics, summary: "What is wrong with what is live", replies: map[int]any{200: diagnosticList{}}},
		{method: "GET", path: "/v1/config/providers/{id}/removal-preview", handle: (*call).removalPreview, summary: "What the removal of a provider would take along", ids: id, replies: map[int]any{200: config.RemovalPreview{}}, failures: []int{404}},

		{method: "GET", path: "/v1/registry/versions", handle: (*call).listVersions, summary: "What was published, the newest first", query: []param{{"before", "integer", "only versions before this one"}, configPage[1]}, replies: map[int]any{200: versionList{}}, failures: []int{400}},
		{method: "GET", path: "/v1/registry/versions/{version}", handle: (*call).getVersion, summary: "A version, with everything in it", ids: []string{"version"}, replies: map[int]any{200: config.Publication{}}, failures: []int{404}},
		{method: "POST", path: "/v1/registry/versions/{version}/rollback", handle: (*call).rollback, summary: "Publish an older version again", ids: []string{"version"}, replies: map[int]any{200: config.Publication{}}, failures: []int{400, 404, 409}, headers: matchHeaders[2:]},
		{method: "GET", path: "/v1/registry/drafts", handle: (*call).listDrafts, summary: "Documents that are not what is live", replies: map[int]any{200: draftList{}}},
		{method: "POST", path: "/v1/registry/publish", handle: (*call).publish, summary: "Make drafts live, for all threads or as a canary", body: publishBody{}, replies: map[int]any{200: config.Publication{}}, failures: []int{400, 404, 409}, headers: matchHeaders[2:]},
		{method: "GET", path: "/v1/registry/canary", handle: (*call).getCanary, summary: "How the canary goes", replies: map[int]any{200: config.CanaryReport{}}},
		{method: "PUT", path: "/v1/registry/canary", handle: (*call).putCanary, summary: "Send a share of the new threads to a version", body: canaryBody{}, replies: map[int]any{200: config.Head{}}, failures: []int{400, 404, 409}, headers: matchHeaders[2:]},
		{method: "POST", path: "/v1/registry/canary/promote", handle: (*call).promoteCanary, summary: "Make the canary live for all threads", replies: map[int]any{200: config.Head{}}, failures: []int{404, 409}, headers: matchHeaders[2:]},
		{method: "DELETE", path: "/v1/registry/canary", handle: (*call).dropCanary, summary: "End the canary", replies: map[int]any{200: config.Head{}}, failures: []int{404, 409}, headers: matchHeaders[2:]},

		{method: "POST", path: "/v1/providers/{id}/test", handle: (*call).testProvider, summary: "Ask a provider whether it answers", ids: id, replies: map[int]any{200: providerTest{}}, failures: []int{404}},
		{method: "GET", path: "/v1/mcp-servers/{id}/status", handle: (*call).mcpStatus, summary: "How the connection to an MCP server is", ids: id, replies: map[int]any{200: config.MCPStatus{}}, failures: []int{404}},
		{method: "GET", path: "/v1/mcp-servers/{id}/inventory", handle: (*call).mcpInventory, summary: "And what the server has", ids: id, replies: map[int]any{200: mcpInventory{}}, failures: []int{404, 502}},
		{method: "POST", path: "/v1/mcp-servers/{id}/restart", handle: (*call).restartMCP, summary: "Connect to an MCP server anew", ids: id, replies: map[int]any{202: nil}, failures: []int{404, 502}},
		{method: "GET", path: "/v1/a2a-servers/{id}/status", handle: (*call).a2aStatus, summary: "Whether an A2A server answers", ids: id, replies: map[int]any{200: config.A2AStatus{}}, failures: []int{404}},
		{method: "GET", path: "/v1/audit-log", handle: (*call).listAudit, summary: "Who did what, the newest first", query: []param{{"since", "string", "a time, as in RFC 3339"}, {"until", "string", "a time"}, {"action", "string", "only this"}, {"resource", "string", "only this, or what is below it: agents, agents/a"}, {"actor", "string", "only actors that begin so"}, {"cursor", "string", "next_cursor of the page before"}, configPage[1]}, replies: map[int]any{200: auditList{}}, failures: []int{400}},
		{method: "GET", path: "/v1/agents/{agent_id}/permission-preview", handle: (*call).permissionPreview, summary: "What an agent may do by itself", ids: []string{"agent_id"}, replies: map[int]any{200: PermissionPreview{}}, failures: []int{404}},
	}
	all = append(all,
		route{method: "GET", path: "/v1/agents", handle: (*call).listAgents, summary: "The agents, by id", query: configPage, replies: map[int]any{200: recordList{}}, failures: []int{400}},
		route{method: "GET", path: "/v1/agents/{agent_id}", handle: (*call).getAgent, summary: "An agent", ids: []string{"agent_id"}, replies: map[int]any{200: doc}, failures: []int{404}},
		route{method: "GET", path: "/v1/admin/assistant/config", handle: (*call).getAssistant, summary: "The settings of the admin assistant", replies: map[int]any{200: assistantConfig{}}},
		route{method: "PUT", path: "/v1/admin/assistant/config", handle: (*call).putAssistant, summary: "Change them", body: assistantConfig{}, replies: map[int]any{200: assistantConfig{}}, failures: []int{400, 409}})
	all = append(all, over(config.Agents, "a builtin agent", 422)...)
	all = append(all, over(config.Tools, "a tool")...)
	all = append(all, over(config.Skills, "a builtin skill", 422)...)
	for i := range all {
		all[i].hidden = true
	}
	all = append(all,
		route{method: "GET", path: "/v1/capabilities", handle: (*call).capabilities, summary: "What agents can be made of", replies: map[int]any{200: capabilities{}}})
	for i := range all {
		all[i].access, all[i].control, all[i].global = admins, true, true
	}
	return append(all,
		route{method: "GET", path: "/v1/agents/runtime-stats", access: admins, handle: (*call).listStats, summary: "What agents did lately, in this process", query: []param{windowParam}, replies: map[int]any{200: statsList{}}, failures: []int{400}, global: true, hidden: true},
		route{method: "GET", path: "/v1/agents/{agent_id}/runtime-stats", access: admins, handle: (*call).agentStats, summary: "What an agent did lately, in this process", ids: []string{"agent_id"}, query: []param{windowParam}, replies: map[int]any{200: AgentStats{}}, failures: []int{400, 404}, global: true, hidden: true})
}
