package anthropic

// cache sets cache breakpoints. The API caches the prefix before each, in the order tools, system,
// messages, and allows four: one after the tools, one after the instructions, and two in the
// conversation. Of these, one is at the end, for the next request, and one where the last request
// ended, so that its cache entry is found however much was added since.
func (b *builder) cache() {
	mark := &cacheControl{Type: "ephemeral"}
	if n := len(b.request.Tools); n > 0 {
		b.request.Tools[n-1].CacheControl = mark
	}
	if n := len(b.request.System); n > 0 {
		b.request.System[n-1].CacheControl = mark
	}
	left := 2
	for i := len(b.request.Messages) - 1; i >= 0 && left > 0; i-- {
		if m := &b.request.Messages[i]; m.Role == "user" {
			m.Content[len(m.Content)-1].CacheControl = mark
			left--
		}
	}
}
