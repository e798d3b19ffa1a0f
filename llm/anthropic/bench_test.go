package anthropic

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

const chunks = 1000

// canned answers every request with the same stream.
type canned string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(string(c))), Request: r}, nil
}

func benchAnswer() canned {
	pieces := make([]string, chunks)
	for i := range pieces {
		pieces[i] = fmt.Sprintf("word%d ", i)
	}
	return canned(strings.Join(framed(reply(textBlock(0, pieces...), ended("end_turn"))), ""))
}

// BenchmarkStream is what a chunk costs here, and with the stream of the SDK alone.
func BenchmarkStream(b *testing.B) {
	client := &http.Client{Transport: benchAnswer()}
	b.Run("adapter", func(b *testing.B) {
		m, err := New(Config{Config: provider.Config{APIKey: "key", HTTPClient: client}})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for d, err := range m.Stream(context.Background(), hello("claude-sonnet-4-6")) {
				if err != nil {
					b.Fatal(err)
				}
				if d.Kind == llm.TextDelta {
					n++
				}
			}
			if n != chunks {
				b.Fatal(n)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunks, "ns/chunk")
	})
	b.Run("sdk", func(b *testing.B) {
		c := sdk.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("key"), option.WithHTTPClient(client), option.WithoutOpenTelemetry())
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			s := c.Messages.NewStreaming(context.Background(), sdk.MessageNewParams{Model: "claude-sonnet-4-6", MaxTokens: 100, Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("hello"))}})
			for s.Next() {
				if s.Current().Delta.Text != "" {
					n++
				}
			}
			if s.Err() != nil || n != chunks {
				b.Fatal(s.Err(), n)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunks, "ns/chunk")
	})
}
