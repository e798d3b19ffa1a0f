package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/awaken-go/awaken/llm/internal/providertest"
)

func BenchmarkOverhead(b *testing.B) {
	providertest.Overhead(b, adapter, providertest.Bare{
		URL:  "http://provider.invalid/v1/messages",
		Body: `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"Hello"}],"stream":true}`,
		Text: func(event []byte) (string, error) {
			var e struct {
				Delta struct {
					Text string `json:"text"`
				} `json:"delta"`
			}
			err := json.Unmarshal(event, &e)
			return e.Delta.Text, err
		},
	})
}

func BenchmarkCancel(b *testing.B) { providertest.Cancel(b, adapter) }
