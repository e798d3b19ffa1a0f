package providertest

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
)

// boundsCases test replies beyond their limits. The request has small limits; the server never ends the reply, and must see a closed
// connection.
func boundsCases() []testCase {
	small := llm.ReplyLimits{Bytes: 256 << 10, ArgumentsBytes: 64 << 10, Calls: 8}
	refused := func(t *testing.T, a *Adapter, r Reply, header map[string]string, pack func([]byte) []byte, want string) {
		t.Helper()
		parts, _ := a.Speak(r)
		frames := [][]byte{bytes.Join(parts, nil)}
		if pack != nil {
			frames[0] = pack(frames[0])
		}
		s := newServer(t, script{frames: frames, header: header, end: stall})
		req := a.request()
		req.Limits = &small
		var last error
		got := 0
		for d, err := range a.open(t, s).Stream(t.Context(), req) {
			last = err
			got += len(d.Text)
		}
		if llm.KindOf(last) != llm.ReplyTooLarge || !strings.Contains(last.Error(), want) {
			t.Errorf("the reply ended with %v, want an error of kind %s that names %s", last, llm.ReplyTooLarge, want)
		}
		if got > small.Bytes {
			t.Errorf("%d bytes were passed on, want at most %d", got, small.Bytes)
		}
		seenGone(t, s)
	}
	pieces := func(n int, piece string) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = piece
		}
		return out
	}
	return []testCase{
		{"Text", nil, func(t *testing.T, a *Adapter) {
			refused(t, a, Reply{Parts: []Part{{Text: pieces(600, strings.Repeat("word ", 100))}}}, nil, nil, "limits.reply_bytes")
		}},
		{"Pieces", nil, func(t *testing.T, a *Adapter) {
			refused(t, a, Reply{Parts: []Part{{Text: pieces(9000, "a")}}}, nil, nil, "limits.reply_bytes")
		}},
		{"Thinking", []Power{Reasoning}, func(t *testing.T, a *Adapter) {
			refused(t, a, Reply{Parts: []Part{{Reasoning: pieces(600, strings.Repeat("hm ", 200))}}}, nil, nil, "limits.reply_bytes")
		}},
		{"Arguments", nil, func(t *testing.T, a *Adapter) {
			args := append(append([]string{`{"q":"`}, pieces(100, strings.Repeat("x", 1000))...), `"}`)
			refused(t, a, Reply{Parts: []Part{{Call: &Call{ID: "call_1", Name: "lookup", Args: args}}}}, nil, nil, "limits.reply_arguments_bytes")
		}},
		{"Calls", nil, func(t *testing.T, a *Adapter) {
			var r Reply
			for i := range 50 {
				r.Parts = append(r.Parts, Part{Call: &Call{ID: "call_" + string(rune('A'+i)), Name: "lookup", Args: []string{`{}`}}})
			}
			refused(t, a, r, nil, nil, "limits.reply_calls")
		}},
		{"Event", nil, func(t *testing.T, a *Adapter) {
			refused(t, a, Reply{Parts: []Part{{Text: []string{strings.Repeat("x", 1<<20)}}}}, nil, nil, "limits.reply_bytes")
		}},
		{"Bomb", nil, func(t *testing.T, a *Adapter) {
			pack := func(data []byte) []byte {
				var buf bytes.Buffer
				z := gzip.NewWriter(&buf)
				_, _ = z.Write(data) // to memory
				_ = z.Flush()
				return buf.Bytes()
			}
			long := Reply{Parts: []Part{{Text: []string{strings.Repeat("x", 8<<20)}}}}
			refused(t, a, long, map[string]string{"Content-Encoding": "gzip"}, pack, "limits.reply_bytes")
		}},
	}
}
