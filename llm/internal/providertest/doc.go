// Package providertest tests that adapters of model providers keep the promises of [llm.Model].
// One set of cases describes what a provider does, independently of any provider; a [Speaker]
// translates it into the provider's HTTP API, as the provider documents it.
//
//	func TestConformance(t *testing.T) {
//		providertest.Test(t, providertest.Adapter{
//			Open:    func(t testing.TB, c provider.Config) llm.Model { … },
//			Speaker: speaker{},
//		})
//	}
//
// [Test] is the suite, [Faults] runs every fault through the engine, and [Fuzz] sends arbitrary
// responses. The package's own tests run the suite on adapters with one bug each, which it must
// find.
package providertest
