// Package llmtest is a language model that says what it is told to: for tests,
// for benchmarks, and for trying an agent without a provider.
//
// A [Script] answers its first call with the first turn, its second call with the
// second, and so on:
//
//	turns, err := llmtest.ParseScript(strings.NewReader(`
//		# The model asks for a tool, then speaks about what it returned.
//		{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]}
//		{"text": ["It is ", "21 degrees."], "expect": {"last": "21"}}
//	`))
//	model := llmtest.NewScript(turns...)
//
// A turn can also be slow, fail, break off, hang until it is cancelled, or check
// the request it answers; see [Turn]. [Rules] choose the turn by looking at the
// request, and [Demo] is the set of rules the awaken binary uses when it has no
// provider.
//
// The package does not import testing, so that programs can link it.
package llmtest
