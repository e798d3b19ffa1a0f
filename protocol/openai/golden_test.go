package openai_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/openai"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// from returns the end of the earlier responses of a segment's run.
func from(s *protocoltest.Segment) (at awaken.Cursor) {
	for i := range s.Before {
		if _, ok := s.Before[i].Event.(*awaken.RunFinish); ok {
			at = s.Before[i].Cursor
		}
	}
	return at
}

// The bytes that a client gets for each golden run, as a response and as a chat completion.
func TestGolden(t *testing.T) {
	protocoltest.Golden(t, ".sse", func(t *testing.T, r *protocoltest.GoldenRun) []byte {
		var got bytes.Buffer
		for _, s := range r.Segments {
			opts := openai.Options{From: from(&s), Usage: true}
			got.WriteString("--- response\n\n")
			got.Write(s.Encode(t, openai.NewResponseEncoder(opts), protocol.Position{}))
			got.WriteString("--- chat completion\n\n")
			got.Write(s.Encode(t, openai.NewChatEncoder(opts), protocol.Position{}))
		}
		return got.Bytes()
	})
}

// cuts is the number of places at which streams are cut.
func cuts() int {
	if os.Getenv("AWAKEN_LONG") != "" {
		return 10_000
	}
	return 3_000
}

// Whatever the last event is that a client has, what it gets with starting_after and what it has are,
// together, the whole response; and the numbers have no gap.
func TestStartingAfter_GoldenRuns(t *testing.T) {
	var all []protocoltest.Segment
	for _, r := range protocoltest.GoldenRuns(t) {
		all = append(all, r.Segments...)
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	middle := 0
	for range cuts() {
		s := &all[rnd.IntN(len(all))]
		encode := func(has int) string {
			return string(s.Encode(t, openai.NewResponseEncoder(openai.Options{From: from(s), Has: has}), protocol.Position{}))
		}
		whole := strings.SplitAfter(encode(0), "\n\n")
		whole = whole[:len(whole)-1] // what follows the last frame is empty
		if len(whole) == 0 {
			continue
		}
		first := int(frames(t, whole[0])[0].at("sequence_number").(float64)) // not 0 if another owner began the response
		has := rnd.IntN(len(whole) + 2)
		want := strings.Join(whole[min(has, len(whole)):], "")
		if got := encode(first + has); got != want {
			t.Fatalf("after %d events:\n%s\nwant\n%s", has, got, want)
		}
		for i, f := range whole {
			if n := frames(t, f)[0].at("sequence_number"); n != float64(first+i) {
				t.Fatalf("event %d has number %v: %s", i, n, f)
			}
		}
		if has > 0 && has < len(whole) {
			middle++
		}
	}
	if middle < cuts()/2 {
		t.Errorf("only %d cuts are inside a response", middle)
	}
}
