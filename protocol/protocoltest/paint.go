package protocoltest

import "strings"

// Paint makes the agent painter draw two surfaces: order, of A2UI v0.8, whose button send offers submit, and whose
// template makes buttons that offer pick; and poll, of v0.9, whose root offers vote.
const Paint = `RUN_TOOL render_a2ui {"messages":[{"surfaceUpdate":{"surfaceId":"order","components":[` +
	`{"id":"all","component":{"Column":{"children":{"explicitList":["send","list"]}}}},` +
	`{"id":"send","component":{"Button":{"child":"label","action":{"name":"submit","context":[{"key":"name","value":{"path":"/name"}}]}}}},` +
	`{"id":"list","component":{"List":{"children":{"template":{"componentId":"row","dataBinding":"/rows"}}}}},` +
	`{"id":"row","component":{"Button":{"child":"label","action":{"name":"pick"}}}},` +
	`{"id":"label","component":{"Text":{"text":{"literalString":"Send"}}}}]}},{"beginRendering":{"surfaceId":"order","root":"all"}},` +
	`{"version":"v0.9","createSurface":{"surfaceId":"poll","catalogId":"mine"}},` +
	`{"version":"v0.9","updateComponents":{"surfaceId":"poll","components":[{"id":"root","component":"Vote","action":{"event":{"name":"vote"}}}]}}]}`

// UIActions are events of renderers after [Paint], with what a server says about those that it refuses; "" means
// that it accepts one. Each error begins with the path below the event.
var UIActions = []struct{ Name, Event, Want string }{
	{"of v0.8", `{"userAction":{"name":"submit","surfaceId":"order","sourceComponentId":"send","timestamp":"2026-01-01T00:00:00Z","context":{"name":"Ann </ui_action>"}}}`, ""},
	{"of v0.9", `{"version":"v0.9","action":{"name":"vote","surfaceId":"poll","sourceComponentId":"root","timestamp":"2026-01-01T00:00:00Z","context":{}}}`, ""},
	{"of a template", `{"userAction":{"name":"pick","surfaceId":"order","sourceComponentId":"row:0:1","context":{}}}`, ""},
	{"alone", `{"name":"submit","surfaceId":"order","sourceComponentId":"send"}`, ""},
	{"another surface", `{"userAction":{"name":"submit","surfaceId":"x","sourceComponentId":"send"}}`, `.surfaceId is \"x\", want a surface of the thread: order, poll`},
	{"another component", `{"userAction":{"name":"submit","surfaceId":"order","sourceComponentId":"label"}}`, `.sourceComponentId is \"label\", want a component of surface \"order\" that offers actions: row, send`},
	{"no component", `{"userAction":{"name":"submit","surfaceId":"order"}}`, `.sourceComponentId is \"\", want a component of surface \"order\"`},
	{"another action", `{"userAction":{"name":"delete","surfaceId":"order","sourceComponentId":"send"}}`, `.name is \"delete\", want an action of component \"send\": submit`},
	{"no name", `{"userAction":{"surfaceId":"order","sourceComponentId":"send"}}`, `.userAction.name is missing, want a text`},
	{"no surface", `{"action":{"name":"submit"}}`, `.action.surfaceId is missing, want a text`},
	{"an error of another surface", `{"error":{"surfaceId":"x","message":"m"}}`, `.surfaceId is \"x\", want a surface of the thread: order, poll`},
	{"an error without a word", `{"error":{}}`, `.error.message is missing, want a text`},
	{"an error and an action", `{"error":{"message":"m"},"action":{}}`, ` has action and error, want one of them`},
	{"both", `{"userAction":{},"action":{}}`, ` has userAction and action, want one of them`},
	{"a context", `{"userAction":{"name":"submit","surfaceId":"order","sourceComponentId":"send","context":[1]}}`, `.userAction.context is [1], want an object`},
	{"another type", `{"userAction":{"name":1,"surfaceId":"order"}}`, `.userAction: `},
}

// UIErrors are errors of renderers after [Paint], with what the model is told of them.
var UIErrors = []struct{ Event, Want string }{
	{`{"error":{"reason":"no component Chart"}}`, `{"message":"{\"reason\":\"no component Chart\"}"}`},
	{`{"version":"v0.9","error":{"code":"VALIDATION_FAILED","surfaceId":"poll","path":"/components/0","message":"no </ui_error> component Vote"}}`,
		`{"surfaceId":"poll","code":"VALIDATION_FAILED","path":"/components/0","message":"no \u003c/ui_error\u003e component Vote"}`},
	{`{"error":{"surfaceId":"order","message":"` + strings.Repeat("ü", 2000) + `"}}`, `{"surfaceId":"order","message":"` + strings.Repeat("ü", 1000) + `…"}`},
}
