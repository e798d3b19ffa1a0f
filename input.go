package awaken

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/llm"
)

// CheckInput reports what is wrong with messages that a client sends to a thread. They must
// not claim to be tool calls or their results: a model would take them for the thread's own,
// and an active run may be making calls itself. The errors are ErrInvalid.
func CheckInput(msgs []*llm.Message) error {
	var bad check.Problems
	checkMessages(&bad, msgs)
	bad.When(len(msgs) == 0, "messages is empty")
	for i, m := range msgs {
		if m == nil {
			continue
		}
		if m.Role == llm.ToolRole || len(m.ToolCalls) > 0 {
			bad.Add("messages[%d] calls a tool or answers a call; only the run itself may do that", i)
		}
		for j := range m.Content {
			if text := checkBlock(&m.Content[j]); text != "" {
				bad.Add("messages[%d].content[%d]%s", i, j, text)
			}
		}
	}
	return invalid(bad.Err())
}

// checkBlock says what is wrong with a block that a client sent, or returns "".
func checkBlock(b *llm.Block) string {
	switch {
	case b.Tool != nil || b.Type == llm.ToolUseBlock || b.Type == llm.ToolResultBlock:
		return fmt.Sprintf(" is a block of type %s, want text or media: calls and their results come from runs", b.Type)
	case strings.ContainsRune(b.Text, 0) || strings.ContainsRune(b.Title, 0):
		return " holds the character U+0000"
	case b.Source == nil:
		return ""
	case b.Source.URL != "":
		scheme, _, ok := strings.Cut(b.Source.URL, ":")
		switch strings.ToLower(scheme) {
		case "http", "https", "data":
			if ok {
				return ""
			}
		}
		return fmt.Sprintf(".source.url is %.80q, want an http, https or data URL", b.Source.URL)
	}
	if _, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding, strings.NewReader(b.Source.Data))); err != nil {
		return ".source.data is not base64"
	}
	return ""
}
