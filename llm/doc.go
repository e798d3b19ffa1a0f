// Package llm is the vocabulary between agents and language models: messages,
// requests, streamed deltas, and the one-method [Model] interface that every
// provider adapter implements.
//
// A model is asked with a [Request] and answers with a stream of [Delta]s that
// ends in exactly one finish or one error. [Generate] collects the stream for
// callers that want the whole reply:
//
//	reply, err := llm.Generate(ctx, model, &llm.Request{
//		System:   []llm.Block{llm.Text("You are terse.")},
//		Messages: llm.NewMessages(llm.UserText("What is Go?")),
//	})
//	fmt.Println(reply.Message.Text())
//
// Everything that changes how a model behaves (retry, failover, recording) is a
// function from Model to Model, as an http.RoundTripper wraps another.
//
// The package links only the standard library and knows nothing of agents.
package llm
