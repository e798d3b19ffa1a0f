package openai_test

import (
	"context"
	"net/http"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/awaken-go/awaken/llm/providertest"
)

func client(c *http.Client) sdk.Client {
	return sdk.NewClient(option.WithAPIKey("key"), option.WithHTTPClient(c), option.WithBaseURL("http://provider.invalid/v1/"))
}

// These compare the adapter with the streams of the SDK.

func BenchmarkOverhead_Chat(b *testing.B) {
	providertest.Overhead(b, chatAdapter, func(c *http.Client) func(context.Context) (int, error) {
		own := client(c)
		return func(ctx context.Context) (n int, err error) {
			s := own.Chat.Completions.NewStreaming(ctx, sdk.ChatCompletionNewParams{Model: chatAdapter.Model, Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("Hello")}})
			for s.Next() {
				if c := s.Current().Choices; len(c) > 0 && c[0].Delta.Content != "" {
					n++
				}
			}
			return n, s.Err()
		}
	})
}

func BenchmarkOverhead_Responses(b *testing.B) {
	providertest.Overhead(b, responsesAdapter, func(c *http.Client) func(context.Context) (int, error) {
		own := client(c)
		return func(ctx context.Context) (n int, err error) {
			s := own.Responses.NewStreaming(ctx, responses.ResponseNewParams{Model: responsesAdapter.Model, Input: responses.ResponseNewParamsInputUnion{OfString: sdk.String("Hello")}})
			for s.Next() {
				if s.Current().Type == "response.output_text.delta" {
					n++
				}
			}
			return n, s.Err()
		}
	})
}

func BenchmarkCancel_Chat(b *testing.B) { providertest.Cancel(b, chatAdapter) }

func BenchmarkCancel_Responses(b *testing.B) { providertest.Cancel(b, responsesAdapter) }
