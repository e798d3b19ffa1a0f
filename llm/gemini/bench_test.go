package gemini

import (
	"context"
	"net/http"
	"testing"

	"google.golang.org/genai"

	"github.com/awaken-go/awaken/llm/providertest"
)

// BenchmarkOverhead compares the adapter with the stream of the SDK.
func BenchmarkOverhead(b *testing.B) {
	const model = "gemini-2.5-flash"
	providertest.Overhead(b, adapter(model), func(ctx context.Context, client *http.Client) (n int, err error) {
		c, err := genai.NewClient(ctx, &genai.ClientConfig{Backend: genai.BackendGeminiAPI, APIKey: "key", HTTPClient: client})
		if err != nil {
			return 0, err
		}
		for r, err := range c.Models.GenerateContentStream(ctx, model, genai.Text("Hello"), nil) {
			if err != nil {
				return n, err
			}
			if r.Text() != "" {
				n++
			}
		}
		return n, nil
	})
}

func BenchmarkCancel(b *testing.B) { providertest.Cancel(b, adapter("gemini-2.5-flash")) }
