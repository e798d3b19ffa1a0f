// Package provider contains what the adapters of model providers share. Programs that only
// call models do not need it.
//
// An adapter converts an [llm.Request] into the provider's request and the provider's stream
// into [llm.Delta]s. This package does the rest:
//
//   - [Config] configures an adapter, and [Open] returns the provider's HTTP [API]. The API adds
//     headers, enforces timeouts, follows redirects only to the same server, and turns every
//     response that is not a stream into an *llm.Error.
//   - [API.Stream] runs one call and keeps the promises of [llm.Model], whatever the adapter and
//     the provider do: one finish or one error, nothing after a cancel, the connection closed,
//     tool arguments repaired where that is safe.
//   - [API.PostEvents] and [API.PostLines] send the request body and read the response;
//     [ErrorBody] and [StreamError] read an error inside a stream.
//   - [History] converts any conversation into one that the provider accepts, according to its
//     [Rules]. [NewNames] does the same for the names of tools.
//   - [Recorder] and [Player] record traffic in a file and play it back without a network.
//
// The skeleton of an adapter:
//
//	func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
//		return m.api.Stream(ctx, req, func(ctx context.Context, req *llm.Request, emit provider.Emit) error {
//			names := provider.NewNames(req, provider.SafeName(64))
//			system, msgs := provider.History(req, rules)
//			body := …                               // return errors unchanged
//			return m.api.PostEvents(ctx, "chat", body, func(ev provider.Event) (last bool, err error) {
//				emit(delta)                     // for each delta of the event
//				return last, nil
//			})
//		})
//	}
package provider
