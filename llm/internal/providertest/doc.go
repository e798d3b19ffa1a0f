// Package providertest holds adapters of model providers to what [llm.Model] promises. One
// set of cases says what a provider does in words that are nobody's; a [Speaker] says it in
// the provider's, over HTTP, as its documentation describes it.
//
//	func TestConformance(t *testing.T) {
//		providertest.Test(t, providertest.Adapter{
//			Open:    func(t testing.TB, c provider.Config) llm.Model { … },
//			Speaker: speaker{},
//		})
//	}
//
// [Test] is the suite, [Faults] runs every fault through the engine, and [Fuzz] sends
// anything. That the suite finds mistakes is tested with adapters that have one.
package providertest
