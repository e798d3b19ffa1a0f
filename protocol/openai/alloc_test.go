package openai_test

import (
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/openai"
)

// A piece of an answer is encoded without an allocation of its own; what is collected grows now and then.
func TestAllocs_PieceOfText(t *testing.T) {
	for name, enc := range map[string]protocol.Encoder{"response": openai.NewResponseEncoder(openai.Options{}), "chat completion": openai.NewChatEncoder(openai.Options{})} {
		encodeAll(t, enc, entries(1, 1, begun...)...)
		piece := entries(1, 3, &awaken.TextDelta{Delta: "a few words "})[0]
		var f protocol.Frames
		buf := make([]byte, 0, 4096)
		n := testing.AllocsPerRun(2000, func() {
			f.Into(buf)
			f.Entry(piece.Cursor, 0)
			if err := enc.Encode(&f, &piece); err != nil {
				t.Fatal(err)
			}
		})
		if n >= 1 {
			t.Errorf("%s: %v allocations for each piece", name, n)
		}
	}
}
