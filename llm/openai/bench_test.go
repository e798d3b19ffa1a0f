package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/awaken-go/awaken/llm/internal/providertest"
)

func BenchmarkOverhead_Chat(b *testing.B) {
	providertest.Overhead(b, chatAdapter, providertest.Bare{
		URL:  "http://provider.invalid/v1/chat/completions",
		Body: `{"model":"gpt-5.5","messages":[{"role":"user","content":"Hello"}],"stream":true}`,
		Text: func(event []byte) (string, error) {
			var c struct {
				Choices []struct {
					Delta struct {
						Content string `json:"content"`
					} `json:"delta"`
				} `json:"choices"`
			}
			if err := json.Unmarshal(event, &c); err != nil || len(c.Choices) == 0 {
				return "", err
			}
			return c.Choices[0].Delta.Content, nil
		},
	})
}

func BenchmarkOverhead_Responses(b *testing.B) {
	providertest.Overhead(b, responsesAdapter, providertest.Bare{
		URL:  "http://provider.invalid/v1/responses",
		Body: `{"model":"gpt-5.5","input":"Hello","stream":true}`,
		Text: func(event []byte) (string, error) {
			var e struct {
				Type  string          `json:"type"`
				Delta json.RawMessage `json:"delta"`
			}
			if err := json.Unmarshal(event, &e); err != nil || e.Type != "response.output_text.delta" {
				return "", err
			}
			var text string
			err := json.Unmarshal(e.Delta, &text)
			return text, err
		},
	})
}

func BenchmarkCancel_Chat(b *testing.B) { providertest.Cancel(b, chatAdapter) }

func BenchmarkCancel_Responses(b *testing.B) { providertest.Cancel(b, responsesAdapter) }
