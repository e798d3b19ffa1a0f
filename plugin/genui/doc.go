// Package genui lets agents draw user interfaces, which a page shows with a renderer of the format.
//
//	cfg.Plugins = append(cfg.Plugins, genui.New())
//
// An agent that lists "generative-ui" in plugin_ids has the tool render_a2ui, and its model is told how to
// use it:
//
//	"generative-ui": {"catalog_id": "https://example.com/catalog.json", "examples": "Use a Card for each order."}
//
// # A2UI
//
// The tool accepts the messages of A2UI v0.8 (surfaceUpdate, dataModelUpdate, beginRendering, deleteSurface)
// and of v0.9 (createSurface, updateComponents, updateDataModel, deleteSurface, with a version), as
// {"messages": […]} or one message per call. What models get wrong without harm is mended: a message without
// its key gets it. Everything else is refused, with the position of each mistake, what was found and what is
// accepted, so that the model can correct it:
//
//	/messages/0/surfaceUpdate/components/1/component: has the keys Card, Text, want exactly one key, the type of the component
//
// A page draws from the arguments of the call, which stream while the model writes them, or from the
// activity "generative-ui.a2ui", which has the mended messages once they are known to be valid.
//
// # JSON Render and OpenUI
//
// With "formats", agents have tools for other formats: render_json_ui takes a spec of JSON Render, or lines of
// JSON Patch that build one; render_openui_ui takes a program in OpenUI Lang. With "json_render_agent" and
// "openui_agent" another agent writes them, from a prompt; its text streams as the output of the call, and as
// the activities "generative-ui.json-render" and "generative-ui.openui-lang", which grow by its lines. With
// "answer" an agent's answers themselves are in the format: that is how such a sub-agent is made.
//
//	"generative-ui": {"formats": ["json-render"], "json_render_agent": "artist"}
//	"generative-ui": {"formats": [], "answer": "json-render"}                        of the agent artist
//
// # Surfaces and actions
//
// What has been drawn is state of the thread ([builtin.Surfaces]): the surfaces, and the actions that their
// components offer. When the user acts, the page sends the event of its renderer: as a data part
// "data-ui-action" with AI SDK, as forwardedProps.a2uiAction with AG-UI. The protocol refuses an action that no
// surface of the thread offers, and passes the others on as a user message of a form that the instructions
// explain.
package genui
