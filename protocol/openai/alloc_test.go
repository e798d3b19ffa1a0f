package openai_test

import (
	"testing"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/openai"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// A piece of an answer is encoded without an allocation of its own; what is collected grows now and then.
func TestBudget_Delta(t *testing.T) {
	for name, enc := range map[string]protocol.Encoder{"response": openai.NewResponseEncoder(openai.Options{}), "chat completion": openai.NewChatEncoder(openai.Options{})} {
		if n := protocoltest.DeltaAllocs(t, enc); n > 0 {
			t.Errorf("%s: %v allocations for each piece", name, n)
		}
	}
}
