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
	providertest.Overhead(b, adapter(model), func(client *http.Client) func(context.Context) (int, error) {
		c, err := genai.NewClient(b.Context(), &genai.ClientConfig{Backend: genai.BackendGeminiAPI, APIKey: "key", HTTPClient: client})
		if err != nil {
			b.Fatal(err)
		}
		return func(ctx context.Context) (n int, err error) {
			for r, err := range c.Models.GenerateContentStream(ctx, model, genai.Text("Hello"), nil) {
				if err != nil {
					return n, err
				}
				if r.Text() != "" {
					n++
				}
			}
			return n, nil
		}
	})
}

func BenchmarkCancel(b *testing.B) { providertest.Cancel(b, adapter("gemini-2.5-flash")) }
