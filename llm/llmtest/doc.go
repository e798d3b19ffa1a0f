// Package llmtest provides scripted language models: for tests, for benchmarks, and for
// trying an agent without a provider.
//
// A [Script] replies to its first call with the first turn, to its second call with the
// second, and so on:
//
//	turns, err := llmtest.ParseScript(strings.NewReader(`
//		# The model calls a tool, then reports its result.
//		{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]}
//		{"text": ["It is ", "21 degrees."], "expect": {"last": "21"}}
//	`))
//	model := llmtest.NewScript(turns...)
//
// A turn can also be slow, fail, break off, hang until it is cancelled, or check the
// request; see [Turn]. [Rules] choose the turn by the request, and [Demo] returns the rules
// that the awaken binary uses without a provider.
//
// The package does not import testing, so that programs can link it.
package llmtest
