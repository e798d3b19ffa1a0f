// Package awakentest is for testing agents, tools and plugins: it runs an agent
// against a model that says what the test tells it to, and looks at what happened.
//
//	func TestWeather(t *testing.T) {
//		h := awakentest.New(t, engine.Config{Tools: []awaken.Tool{weather}}, awakentest.Turns(t, `
//			{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]}
//			{"text": "It is 21 degrees in Paris.", "expect": {"last": "21"}}
//		`)...)
//		run := h.Say("How warm is it in Paris?")
//		if run.Err != nil {
//			t.Fatal(run.Err)
//		}
//		awakentest.WantOrder(t, run.Entries, "tool_call_ready", "tool_call_done", "text_delta", "run_finish")
//		if got := run.Result.Response; got != "It is 21 degrees in Paris." {
//			t.Errorf("response = %q", got)
//		}
//	}
//
// A [Harness] has a store in memory, ids that count (id-1, id-2, …) and a clock
// that stands still until [Harness.Advance] moves it, so that two runs of a test
// see the same bytes; in a testing/synctest bubble, pass time.Now as Config.Now
// instead.
//
// Whatever the test looks at, every run of a harness is held to the promises of
// the event stream ([CheckEvents]) and to the rule that the stored log is what was
// streamed ([CheckLog]).
package awakentest
