package anthropic

// cache sets breakpoints: the API keeps what comes before each, in the order tools,
// system, messages, and allows four. One is after the tools, one after the instructions.
// Two roll along with the conversation: at its end, for the next request, and where its
// end was in the last request, so that what was kept then is found however much has been
// added since.
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
