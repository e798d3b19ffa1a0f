package anthropic

import (
	sdk "github.com/anthropics/anthropic-sdk-go"
)

// cache sets breakpoints: the API keeps what comes before each, in the order tools,
// system, messages, and allows four. One is after the tools, one after the instructions.
// Two roll along with the conversation: at its end, for the next request, and where its
// end was in the last request, so that what was kept then is found however much has been
// added since.
func (b *builder) cache() {
	mark := sdk.NewCacheControlEphemeralParam()
	if n := len(b.params.Tools); n > 0 {
		b.params.Tools[n-1].OfTool.CacheControl = mark
	}
	if n := len(b.params.System); n > 0 {
		b.params.System[n-1].CacheControl = mark
	}
	left := 2
	for i := len(b.params.Messages) - 1; i >= 0 && left > 0; i-- {
		if m := &b.params.Messages[i]; m.Role == sdk.MessageParamRoleUser {
			if c := m.Content[len(m.Content)-1].GetCacheControl(); c != nil {
				*c = mark
				left--
			}
		}
	}
}
