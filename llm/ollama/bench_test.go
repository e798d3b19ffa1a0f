package ollama_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm/providertest"
)

// BenchmarkOverhead compares the adapter, which uses no SDK, with a loop that only decodes.
func BenchmarkOverhead(b *testing.B) {
	providertest.Overhead(b, adapter, func(client *http.Client) func(context.Context) (int, error) {
		return func(ctx context.Context) (n int, err error) {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://provider.invalid/api/chat", strings.NewReader(`{"model":"qwen3","messages":[{"role":"user","content":"Hello"}]}`))
			if err != nil {
				return 0, err
			}
			resp, err := client.Do(r)
			if err != nil {
				return 0, err
			}
			defer resp.Body.Close()
			lines := bufio.NewScanner(resp.Body)
			for lines.Scan() {
				var c struct {
					Message struct {
						Content  string `json:"content"`
						Thinking string `json:"thinking"`
					} `json:"message"`
					Done bool `json:"done"`
				}
				if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
					return n, err
				}
				if c.Message.Content != "" {
					n++
				}
			}
			return n, lines.Err()
		}
	})
}

func BenchmarkCancel(b *testing.B) { providertest.Cancel(b, adapter) }
