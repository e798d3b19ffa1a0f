package gemini

import (
	"encoding/json"
	"testing"

	"github.com/awaken-go/awaken/llm/internal/providertest"
)

func BenchmarkOverhead(b *testing.B) {
	providertest.Overhead(b, adapter("gemini-2.5-flash"), providertest.Bare{
		URL:  "http://provider.invalid/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
		Body: `{"contents":[{"role":"user","parts":[{"text":"Hello"}]}]}`,
		Text: func(event []byte) (string, error) {
			var c struct {
				Candidates []struct {
					Content struct {
						Parts []struct {
							Text string `json:"text"`
						} `json:"parts"`
					} `json:"content"`
				} `json:"candidates"`
			}
			if err := json.Unmarshal(event, &c); err != nil || len(c.Candidates) == 0 || len(c.Candidates[0].Content.Parts) == 0 {
				return "", err
			}
			return c.Candidates[0].Content.Parts[0].Text, nil
		},
	})
}

func BenchmarkCancel(b *testing.B) { providertest.Cancel(b, adapter("gemini-2.5-flash")) }
