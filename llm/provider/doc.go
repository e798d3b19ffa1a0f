// Package provider is what the adapters of model providers share. It is of no use to those who
// only ask models.
//
// An adapter is a conversion there and a conversion back; the rest is here:
//
//   - [Config] is what every adapter is made of, and [Open] makes the provider's [API] of it. It
//     adds the headers, limits how long a provider may be silent, and turns every answer that is
//     not a stream into an *llm.Error.
//   - [API.Stream] runs one call. It promises what [llm.Model] promises, however the
//     adapter and the provider behave: one finish or one error, nothing after a cancel,
//     the connection closed, arguments of calls repaired when that is safe.
//   - [API.PostEvents] and [API.PostLines] send a body, for which an adapter has structs, and
//     read the answer; [ErrorBody] reads an error in the middle of it.
//   - [History] brings any conversation into a form that the provider accepts, as its
//     [Rules] say. [NewNames] does the same for the names of tools.
//   - [Recorder] and [Replay] keep the traffic in a file and play it without a network.
//
// The skeleton of an adapter:
//
//	func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
//		return m.api.Stream(ctx, req, func(ctx context.Context, emit provider.Emit) error {
//			names := provider.NewNames(req, provider.SafeName(64))
//			system, msgs := provider.History(req, rules)
//			body := …                               // errors are returned as they are
//			return m.api.PostEvents(ctx, "chat", body, func(ev provider.Event) (last bool, err error) {
//				emit(delta)                     // for each delta of the event
//				return last, nil                // without a finish that is an error of kind Interrupted
//			})
//		})
//	}
package provider
