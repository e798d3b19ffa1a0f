// Package awakentest helps to test agents, tools and plugins: it runs an agent with a scripted
// model and records what happens.
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
// A [Harness] has an in-memory store, sequential ids (id-1, id-2, …) and a clock that only
// [Harness.Advance] moves, so that a test produces the same bytes every time. In a
// testing/synctest bubble, set Config.Now to time.Now instead.
//
// A hook can also be called alone: [Harness.HookCall] makes its argument, and [Scheduled], [Emitted]
// and [Harness.Updated] show what it recorded.
//
// The harness checks every run against the contract of the event stream ([CheckEvents]), and
// that the stored log equals the stream ([CheckLog]).
package awakentest
