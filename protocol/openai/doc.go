// Package openai serves agents behind OpenAI's API, so that its SDKs, and the chat programs that use
// them, can talk to an agent: Chat Completions, Responses and the list of models, below /openai/v1.
//
//	srv, err := server.New(server.Config{Mailbox: box, Routes: openai.Routes()})
//
// An agent is a model. A response is a run, or the part of a run between two questions to the client:
// a run that waits for a result of one of the client's tools and continues with it is one run here, and
// two responses for the client. The ids of responses, calls and approval requests contain the id of
// the run, so a request that answers a call finds its run without a thread.
//
// [ResponseEncoder] and [ChatEncoder] map events to what clients receive; a response that is not
// streamed is what the same encoder has collected. docs/openai.md is the guide.
package openai
