package gemini

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genai"

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
	var sb strings.Builder
	for i := range chunks {
		fmt.Fprintf(&sb, "data: %s\n\n", parts(fmt.Sprintf(`{"text":"word%d "}`, i)))
	}
	fmt.Fprintf(&sb, "data: %s\n\n", ended("STOP"))
	return canned(sb.String())
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
			for d, err := range m.Stream(context.Background(), hello("gemini-2.5-flash")) {
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
		c, err := genai.NewClient(context.Background(), &genai.ClientConfig{Backend: genai.BackendGeminiAPI, APIKey: "key", HTTPClient: client})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for r, err := range c.Models.GenerateContentStream(context.Background(), "gemini-2.5-flash", genai.Text("hello"), nil) {
				if err != nil {
					b.Fatal(err)
				}
				if r.Text() != "" {
					n++
				}
			}
			if n != chunks {
				b.Fatal(n)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunks, "ns/chunk")
	})
}
