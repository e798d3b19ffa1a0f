package ollama_test

import (
	"encoding/json"
	"testing"

	"github.com/awaken-go/awaken/llm/internal/providertest"
)

func BenchmarkOverhead(b *testing.B) {
	providertest.Overhead(b, adapter, providertest.Bare{
		URL:  "http://provider.invalid/api/chat",
		Body: `{"model":"qwen3","messages":[{"role":"user","content":"Hello"}]}`,
		Text: func(event []byte) (string, error) {
			var c struct {
				Message struct {
					Content  string `json:"content"`
					Thinking string `json:"thinking"`
				} `json:"message"`
				Done bool `json:"done"`
			}
			err := json.Unmarshal(event, &c)
			return c.Message.Content, err
		},
	})
}

func BenchmarkCancel(b *testing.B) { providertest.Cancel(b, adapter) }
