// Package provider is what the adapters of model providers share. It is of no use to those who
// only ask models.
//
// An adapter is a conversion there and a conversion back; the rest is here:
//
//   - [Config] is what every adapter is made of, and [Open] makes a [Client] of it. It adds the
//     headers, limits how long a provider may be silent, and turns every answer that is not a
//     stream into an *llm.Error.
//   - [Client.At] is the provider's [API]: a base URL and headers. An adapter has structs for
//     the bodies, and sends them.
//   - [Client.Stream] runs one call. It promises what [llm.Model] promises, however the
//     adapter and the provider behave: one finish or one error, nothing after a cancel,
//     the connection closed, arguments of calls repaired when that is safe.
//   - [Events] reads server-sent events; [ErrorBody] reads an error in the middle of them.
//   - [History] brings any conversation into a form that the provider accepts, as its
//     [Rules] say. [NewNames] does the same for the names of tools.
//   - [Recorder] and [Replay] keep the traffic in a file and play it without a network.
//
// The skeleton of an adapter:
//
//	func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
//		return m.api.Stream(ctx, req, func(ctx context.Context, emit provider.Emit) error {
//			names := provider.NewNames(req, 64)
//			msgs := provider.History(req, rules)
//			resp, err := m.api.Send(ctx, …)         // errors are returned as they are
//			if err != nil {
//				return err
//			}
//			defer resp.Body.Close()
//			for ev, err := range provider.Events(resp.Body) {
//				if err != nil {
//					return err
//				}
//				if err := emit(delta); err != nil { // for each delta of the event
//					return err
//				}
//			}
//			return nil // no finish was emitted: that is an error of kind Interrupted
//		})
//	}
package provider
