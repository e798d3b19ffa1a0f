// Package llm defines how agents talk to language models: messages, requests,
// streamed deltas, and the one-method [Model] interface that every provider
// adapter implements.
//
// A [Model] takes a [Request] and streams its reply as [Delta]s. The stream ends
// with exactly one finish or one error. [Generate] collects it for callers that
// want the whole reply:
//
//	model, err := openai.New(openai.Config{…}) // or anthropic, gemini, ollama; llmtest for tests
//	…
//	reply, err := llm.Generate(ctx, model, &llm.Request{
//		Model:    "gpt-5.5", // the provider's name for it
//		System:   []llm.Block{llm.Text("You are terse.")},
//		Messages: llm.NewMessages(llm.UserText("What is Go?")),
//	})
//	if err != nil {
//		return err // an *llm.Error
//	}
//	fmt.Println(reply.Message.Text())
//
// One Model serves all models of an account; Request.Model selects one.
//
// Everything that changes how a model behaves wraps a Model and returns a Model, as
// an http.RoundTripper wraps another: [Retry], [Break] (a circuit breaker), [Guard]
// (unsupported media), [Pool] (failover), and the Limiter of package limit (rate limits).
//
// # Writing an adapter
//
// An adapter turns a [Request] into a provider's HTTP request and the provider's
// stream into deltas. Package llm/provider holds what all adapters share, with a
// skeleton of one. An adapter has to
//
//   - yield deltas as they arrive, and one [FinishDelta] last; a stream that ends
//     without one is an [Error] of kind [Interrupted];
//   - report every failure as an *[Error] with the right [Kind], because retries,
//     breakers and pools decide by it;
//   - keep what only the provider understands (thinking signatures, encrypted
//     reasoning) as [Opaque] data and send it back unchanged;
//   - be safe for concurrent use, and neither change nor keep the request.
//
// [SchemaEnforcer] and [Lister] are optional interfaces.
//
// The package links only the standard library and knows nothing about agents.
package llm
