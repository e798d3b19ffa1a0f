package anthropic

import (
	"context"
	"net/http"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/awaken-go/awaken/llm/providertest"
)

// BenchmarkOverhead compares the adapter with the stream of the SDK.
func BenchmarkOverhead(b *testing.B) {
	providertest.Overhead(b, adapter, func(client *http.Client) func(context.Context) (int, error) {
		c := sdk.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("key"), option.WithHTTPClient(client), option.WithoutOpenTelemetry())
		return func(ctx context.Context) (n int, err error) {
			s := c.Messages.NewStreaming(ctx, sdk.MessageNewParams{Model: sdk.Model(adapter.Model), MaxTokens: 100, Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("Hello"))}})
			for s.Next() {
				if s.Current().Delta.Text != "" {
					n++
				}
			}
			return n, s.Err()
		}
	})
}

func BenchmarkCancel(b *testing.B) { providertest.Cancel(b, adapter) }
