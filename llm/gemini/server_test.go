package gemini

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm/internal/providertest"
)

// fake is a server of streamGenerateContent, of the Gemini API and of Vertex AI.
type fake struct{ *providertest.Fake }

// serve starts a fake that sends chunks, one list per request.
func serve(t *testing.T, replies ...[]string) *fake {
	var all [][][]byte
	for _, chunks := range replies {
		var frames [][]byte
		for _, c := range chunks {
			frames = append(frames, fmt.Appendf(nil, "data: %s\r\n\r\n", c))
		}
		all = append(all, frames)
	}
	return &fake{providertest.Serve(t, adapter(""), all...)}
}

var modelPath = regexp.MustCompile(`^/(?:v1beta|v1beta1(?:/projects/[^/]+/locations/[^/]+)?/publishers/google)/models/([^/:]+):streamGenerateContent$`)

// request returns the nth request.
func (f *fake) request(t *testing.T, n int) *wireRequest {
	t.Helper()
	var r wireRequest
	if err := json.Unmarshal(f.Body(n), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// Chunks as the API sends them.

func parts(list ...string) string {
	return fmt.Sprintf(`{"candidates":[{"content":{"parts":[%s],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":8,"totalTokenCount":8},"modelVersion":"m","responseId":"resp1"}`, strings.Join(list, ","))
}

func ended(reason string) string {
	return fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":%q,"index":0}],"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":20,"totalTokenCount":150,"cachedContentTokenCount":64,"thoughtsTokenCount":30},"modelVersion":"m","responseId":"resp1"}`, reason)
}
