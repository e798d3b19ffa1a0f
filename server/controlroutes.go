package server

import (
	"encoding/json"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/protocol"
)

// controlRoutes are those of the control plane.
func controlRoutes() []protocol.Route {
	const ns = "/v1/config/{namespace}"
	var doc rawDocument
	over := func(ns config.Namespace, what string, more ...int) []protocol.Route {
		path := "/v1/config/" + string(ns) + "/{id}/overrides"
		clear := func(c *call) error { return c.clearOverrides(ns) }
		return []protocol.Route{
			{Method: "POST", Path: path, Handle: whole(func(c *call) error { return c.override(ns, true) }), Summary: "Check overrides of " + what + ", and write nothing", Body: doc, Replies: map[int]any{200: doc}, Failures: append([]int{400, 404, 412}, more...), Headers: matchHeaders[:2]},
			{Method: "PATCH", Path: path, Handle: whole(func(c *call) error { return c.override(ns, false) }), Summary: "Override fields of " + what, Body: doc, Replies: map[int]any{200: doc}, Failures: append([]int{400, 404, 409, 412}, more...), Headers: matchHeaders},
			{Method: "DELETE", Path: path, Handle: whole(clear), Summary: "Remove all overrides of " + what, Replies: map[int]any{200: doc}, Failures: append([]int{400, 404, 409, 412}, more...), Headers: matchHeaders},
			{Method: "DELETE", Path: path + "/{field}", Handle: whole(clear), Summary: "Remove one override of " + what, Replies: map[int]any{200: doc}, Failures: append([]int{400, 404, 409, 412}, more...), Headers: matchHeaders},
		}
	}
	all := []protocol.Route{
		{Method: "GET", Path: ns, Handle: whole((*call).listConfig), Summary: "The documents of a namespace, by id", Query: configPage, Replies: map[int]any{200: recordList{}}, Failures: []int{400, 404}},
		{Method: "POST", Path: ns, Handle: whole((*call).createConfig), Summary: "Make a document, and publish it", Query: []protocol.Param{publishParam}, Body: doc, Replies: map[int]any{201: doc}, Failures: []int{400, 404, 409}, Headers: matchHeaders[2:]},
		{Method: "POST", Path: ns + "/validate", Handle: whole((*call).validateConfig), Summary: "Check a document, and write nothing", Query: []protocol.Param{param("id", "string", "of the document, if it does not say")}, Body: doc, Replies: map[int]any{200: validated{}}, Failures: []int{400, 404}},
		{Method: "GET", Path: ns + "/meta", Handle: whole((*call).listMeta), Summary: "What is known about the documents", Replies: map[int]any{200: []recordMeta{}}, Failures: []int{404}},
		{Method: "GET", Path: ns + "/$schema", Handle: whole((*call).getSchema), Summary: "The JSON Schema of the namespace's documents", Replies: map[int]any{200: json.RawMessage{}}, Failures: []int{404}},
		{Method: "GET", Path: ns + "/{id}", Handle: whole((*call).getConfig), Summary: "A document, without its secrets", Replies: map[int]any{200: doc}, Failures: []int{404}},
		{Method: "PUT", Path: ns + "/{id}", Handle: whole((*call).putConfig), Summary: "Write a document, and publish it", Query: []protocol.Param{publishParam}, Body: doc, Replies: map[int]any{200: doc}, Failures: []int{400, 404, 409, 412}, Headers: matchHeaders},
		{Method: "DELETE", Path: ns + "/{id}", Handle: whole((*call).deleteConfig), Summary: "Remove a document, and publish that", Query: []protocol.Param{param("force", "true|false", "with a provider, remove the models that nothing else uses; default false")}, Replies: map[int]any{204: nil, 409: dependencyBody{}}, Failures: []int{400, 404, 412}, Headers: matchHeaders},
		{Method: "GET", Path: ns + "/{id}/meta", Handle: whole((*call).getMeta), Summary: "What is known about a document", Replies: map[int]any{200: config.Meta{}}, Failures: []int{404}},
		{Method: "POST", Path: ns + "/{id}/restore", Handle: whole((*call).restoreConfig), Summary: "Bring back what an audit event holds, as a draft", Body: restoreBody{}, Replies: map[int]any{200: doc, 404: unknownVersion{}}, Failures: []int{400, 409, 412, 422}, Headers: matchHeaders},
		{Method: "GET", Path: "/v1/config/diagnostics", Handle: whole((*call).diagnostics), Summary: "What is wrong with what is live", Replies: map[int]any{200: diagnosticList{}}},
		{Method: "GET", Path: "/v1/config/providers/{id}/removal-preview", Handle: whole((*call).removalPreview), Summary: "What the removal of a provider would take along", Replies: map[int]any{200: config.RemovalPreview{}}, Failures: []int{404}},

		{Method: "GET", Path: "/v1/registry/versions", Handle: whole((*call).listVersions), Summary: "What was published, the newest first", Query: []protocol.Param{param("before", "integer", "only versions before this one"), configPage[1]}, Replies: map[int]any{200: versionList{}}, Failures: []int{400}},
		{Method: "GET", Path: "/v1/registry/versions/{version}", Handle: whole((*call).getVersion), Summary: "A version, with everything in it", Replies: map[int]any{200: config.Publication{}}, Failures: []int{404}},
		{Method: "POST", Path: "/v1/registry/versions/{version}/rollback", Handle: whole((*call).rollback), Summary: "Publish an older version again", Replies: map[int]any{200: config.Publication{}}, Failures: []int{400, 404, 409}, Headers: matchHeaders[2:]},
		{Method: "GET", Path: "/v1/registry/drafts", Handle: whole((*call).listDrafts), Summary: "Documents that are not what is live", Replies: map[int]any{200: draftList{}}},
		{Method: "POST", Path: "/v1/registry/publish", Handle: whole((*call).publish), Summary: "Make drafts live, for all threads or as a canary", Body: publishBody{}, Replies: map[int]any{200: config.Publication{}}, Failures: []int{400, 404, 409}, Headers: matchHeaders[2:]},
		{Method: "GET", Path: "/v1/registry/canary", Handle: whole((*call).getCanary), Summary: "How the canary goes", Replies: map[int]any{200: config.CanaryReport{}}},
		{Method: "PUT", Path: "/v1/registry/canary", Handle: whole((*call).putCanary), Summary: "Send a share of the new threads to a version", Body: canaryBody{}, Replies: map[int]any{200: config.Head{}}, Failures: []int{400, 404, 409}, Headers: matchHeaders[2:]},
		{Method: "POST", Path: "/v1/registry/canary/promote", Handle: whole((*call).promoteCanary), Summary: "Make the canary live for all threads", Replies: map[int]any{200: config.Head{}}, Failures: []int{404, 409}, Headers: matchHeaders[2:]},
		{Method: "DELETE", Path: "/v1/registry/canary", Handle: whole((*call).dropCanary), Summary: "End the canary", Replies: map[int]any{200: config.Head{}}, Failures: []int{404, 409}, Headers: matchHeaders[2:]},

		{Method: "POST", Path: "/v1/providers/{id}/test", Handle: whole((*call).testProvider), Summary: "Ask a provider whether it answers", Replies: map[int]any{200: providerTest{}}, Failures: []int{404}},
		{Method: "GET", Path: "/v1/mcp-servers/{id}/status", Handle: whole((*call).mcpStatus), Summary: "How the connection to an MCP server is", Replies: map[int]any{200: config.MCPStatus{}}, Failures: []int{404}},
		{Method: "GET", Path: "/v1/mcp-servers/{id}/inventory", Handle: whole((*call).mcpInventory), Summary: "And what the server has", Replies: map[int]any{200: mcpInventory{}}, Failures: []int{404, 502}},
		{Method: "POST", Path: "/v1/mcp-servers/{id}/restart", Handle: whole((*call).restartMCP), Summary: "Connect to an MCP server anew", Replies: map[int]any{202: nil}, Failures: []int{404, 502}},
		{Method: "GET", Path: "/v1/a2a-servers/{id}/status", Handle: whole((*call).a2aStatus), Summary: "Whether an A2A server answers", Replies: map[int]any{200: config.A2AStatus{}}, Failures: []int{404}},
		{Method: "GET", Path: "/v1/audit-log", Handle: whole((*call).listAudit), Summary: "Who did what, the newest first", Query: []protocol.Param{param("since", "string", "a time, as in RFC 3339"), param("until", "string", "a time"), param("action", "string", "only this"), param("resource", "string", "only this, or what is below it: agents, agents/a"), param("actor", "string", "only actors that begin so"), param("cursor", "string", "next_cursor of the page before"), configPage[1]}, Replies: map[int]any{200: auditList{}}, Failures: []int{400}},
		{Method: "GET", Path: "/v1/agents/{agent_id}/permission-preview", Handle: whole((*call).permissionPreview), Summary: "What an agent may do by itself", Replies: map[int]any{200: PermissionPreview{}}, Failures: []int{404}},
	}
	all = append(all,
		protocol.Route{Method: "GET", Path: "/v1/agents", Handle: whole((*call).listAgents), Summary: "The agents, by id", Query: configPage, Replies: map[int]any{200: recordList{}}, Failures: []int{400}},
		protocol.Route{Method: "GET", Path: "/v1/agents/{agent_id}", Handle: whole((*call).getAgent), Summary: "An agent", Replies: map[int]any{200: doc}, Failures: []int{404}},
		protocol.Route{Method: "GET", Path: "/v1/admin/assistant/config", Handle: whole((*call).getAssistant), Summary: "The settings of the admin assistant", Replies: map[int]any{200: assistantConfig{}}},
		protocol.Route{Method: "PUT", Path: "/v1/admin/assistant/config", Handle: whole((*call).putAssistant), Summary: "Change them", Body: assistantConfig{}, Replies: map[int]any{200: assistantConfig{}}, Failures: []int{400, 409}})
	all = append(all, over(config.Agents, "a builtin agent", 422)...)
	all = append(all, over(config.Tools, "a tool")...)
	all = append(all, over(config.Skills, "a builtin skill", 422)...)
	return forOperators(all...)
}

// capabilityRoutes are there also if the control plane is hidden.
func capabilityRoutes() []protocol.Route {
	return forOperators(
		protocol.Route{Method: "GET", Path: "/v1/capabilities", Handle: whole((*call).capabilities), Summary: "What agents can be made of", Replies: map[int]any{200: capabilities{}}},
	)
}
