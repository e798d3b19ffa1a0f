package llm_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
)

// calling returns n messages, of which every second one makes a call: c0, c2 and so on.
func calling(n int) []*llm.Message {
	var out []*llm.Message
	for i := range n {
		id := fmt.Sprint("c", i-i%2)
		if i%2 == 0 {
			out = append(out, &llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: id, Name: "add", Arguments: json.RawMessage(`{"a": 1}`)}}})
		} else {
			out = append(out, &llm.Message{Role: llm.ToolRole, ToolCallID: id, Content: []llm.Block{llm.Text("3")}})
		}
	}
	return out
}

// checkKnown checks that what an index says of a sequence is what its messages say.
func checkKnown(t *testing.T, got llm.Messages) {
	t.Helper()
	plain := llm.NewMessages(got.Slice()...)
	for i := range 120 {
		if id := fmt.Sprint("c", i); got.HasCall(id) != plain.HasCall(id) {
			t.Errorf("%d messages: HasCall(%q) is %t, want %t", got.Len(), id, got.HasCall(id), plain.HasCall(id))
		}
	}
	of := func(m llm.Messages) string { return (&llm.Request{Messages: m}).Digest(nil).Messages }
	if of(got) != of(plain) {
		t.Errorf("%d messages: the digest is %s, want %s", got.Len(), of(got), of(plain))
	}
}

func TestIndex_KnowsWhatTheMessagesHave(t *testing.T) {
	t.Parallel()
	all := calling(100)
	var ix llm.Index
	for _, n := range []int{0, 10, 11, 60, 30, 0, 100, 99} { // grows, and is asked about what was before
		checkKnown(t, llm.Indexed(&ix, all[:n:n]...))
	}
	half := llm.Indexed(&ix, all[:50]...)
	checkKnown(t, half.Append(calling(110)[104:]...)) // what its owner appends is in no index
	checkKnown(t, half.Cut(20))
	checkKnown(t, half.Cut(20).Append(calling(112)[110:]...))
	checkKnown(t, half.From(20))
	checkKnown(t, half.Append(calling(114)[112:]...).Clip())
}

// Two copies of a conversation that were continued differently may share an index. It answers for one of them.
func TestIndex_IsNotFooledByAConversationThatParted(t *testing.T) {
	t.Parallel()
	common, one, two := calling(80), calling(90)[80:], calling(104)[90:]
	for _, n := range []int{2, 10} {
		var ix llm.Index
		checkKnown(t, llm.Indexed(&ix, slices.Concat(common, one[:n])...))
		checkKnown(t, llm.Indexed(&ix, slices.Concat(common, two)...))
		checkKnown(t, llm.Indexed(&ix, slices.Concat(common, one)...))
		checkKnown(t, llm.Indexed(&ix, common...))
		checkKnown(t, llm.Indexed(&ix, slices.Concat(common, two[:2])...))
	}
}

func TestIndex_ServesSeveralAtOnce(t *testing.T) {
	t.Parallel()
	all := calling(100)
	var ix llm.Index
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := i; n <= len(all); n += 7 {
				checkKnown(t, llm.Indexed(&ix, all[:n:n]...))
			}
		})
	}
	wg.Wait()
}

// A lookup that reads all messages takes a thousand times as long in the long conversation.
func TestBudget_ALookupReadsNoMessageTwice(t *testing.T) {
	lookup := func(n int) time.Duration {
		var ix llm.Index
		req := &llm.Request{Messages: llm.Indexed(&ix, calling(n)...)}
		least := time.Hour
		for range 20 {
			began := time.Now()
			for range 100 {
				if req.Messages.HasCall("none") || req.Digest(nil).Messages == "0" {
					t.Fatal("the call is there, or the digest is none")
				}
			}
			least = min(least, time.Since(began))
		}
		return least
	}
	if short, long := lookup(100), lookup(100_000); long > 50*short {
		t.Errorf("looking at 100,000 messages takes %v and at 100 %v, want at most 50 times that", long, short)
	}
}
