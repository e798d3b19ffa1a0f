package openai

import (
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

var onceOnly = []protocol.Param{{Name: "Idempotency-Key", Kind: "string", Doc: "makes retries safe: a repeated request with the same key has no effect and gets the first response"}}

const responseEvents = "events of a response, numbered by sequence_number"

// Routes returns the routes that a server mounts. A client's base URL is …/openai/v1.
func Routes() []protocol.Route {
	routes := []protocol.Route{
		{Method: "GET", Path: "/openai/v1/models", Needs: permit.ReadAgents, Scope: protocol.Shared, Handle: listModels, Summary: "List agents as models", Replies: map[int]any{200: modelList{}}},
		{Method: "GET", Path: "/openai/v1/models/{model}", Needs: permit.ReadAgents, Scope: protocol.Shared, Handle: getModel, Summary: "Get an agent as a model", Replies: map[int]any{200: model{}}},
		{Method: "POST", Path: "/openai/v1/chat/completions", Needs: permit.StartRuns, Scope: protocol.ByCaller, Handle: postChat, Summary: "Answer a conversation, as OpenAI's Chat Completions",
			Body: chatRequest{}, Headers: onceOnly, Replies: map[int]any{200: completion{}}, Failures: []int{404, 409, 504}, Stream: true, Events: "chunks of a chat completion, then [DONE]"},
	}
	one := func(method, path, summary string, needs permit.Permission, handle func(protocol.Call) error, reply any) protocol.Route {
		return protocol.Route{Method: method, Path: "/openai/v1/responses/{run_id}" + path, Needs: needs, Scope: protocol.ByPath, Handle: handle, Summary: summary, Replies: map[int]any{200: reply}}
	}
	get := one("GET", "", "Get a response, or stream it", permit.ReadThreads, getResponse, response{})
	get.Query = []protocol.Param{{Name: "stream", Kind: "boolean", Doc: "stream the events of the response"},
		{Name: "starting_after", Kind: "integer", Doc: "with stream: the sequence number of the last event that the client has"}}
	get.Headers = []protocol.Param{{Name: "Last-Event-ID", Kind: "string", Doc: "with stream: resume after this frame"}}
	get.Failures, get.Stream, get.Events = []int{400, 404, 410}, true, responseEvents
	remove := one("DELETE", "", "Delete a response and its conversation", permit.WriteThreads, deleteResponse, deleted{})
	remove.Failures = []int{404, 409}
	items := one("GET", "/input_items", "List the input of a response", permit.ReadThreads, getInputItems, itemList{})
	items.Query = []protocol.Param{{Name: "order", Kind: "string", Doc: "desc, which is the default, or asc"}, {Name: "limit", Kind: "integer", Doc: "1 to 100, 20 by default"},
		{Name: "after", Kind: "string", Doc: "the ID of the last item that the client has"}}
	items.Failures = []int{400, 404}
	routes = append(routes, items, protocol.Route{Method: "POST", Path: "/openai/v1/responses", Needs: permit.StartRuns, Scope: protocol.ByCaller, Handle: postResponse, Summary: "Answer input, as OpenAI's Responses",
		Body: responseRequest{}, Headers: onceOnly, Replies: map[int]any{200: response{}}, Failures: []int{404, 409, 504}, Stream: true, Events: responseEvents},
		get, remove, one("POST", "/cancel", "Cancel a response", permit.CancelRuns, cancelResponse, response{}))
	for i := range routes {
		routes[i].Errors = bodyOf
	}
	return routes
}
