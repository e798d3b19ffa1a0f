package strict_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/strict"
)

// conversation has the shape of a request that starts a run.
type conversation struct {
	AgentID  string `json:"agent_id"`
	ThreadID string `json:"thread_id"`
	Mode     string `json:"mode"`
	Stream   *bool  `json:"stream"`
	Messages []struct {
		ID      string          `json:"id"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools map[string]struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tools"`
	Extra any `json:"extra"`
}

func conversationOf(messages int) []byte {
	var b strings.Builder
	b.WriteString(`{"agent_id":"a","thread_id":"t","stream":true,"messages":[`)
	for i := range messages {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"m%d","role":"user","content":[{"type":"text","text":%q}]}`, i, strings.Repeat("How much is the fish? ", 10))
	}
	b.WriteString(`],"tools":{"a":{"name":"add","description":"Adds."},"b":{"name":"sub"}},"extra":{"x":[1,2,{"y":null}],"z":"Zürich"}}`)
	return []byte(b.String())
}

func BenchmarkUnmarshal(b *testing.B) {
	bench(b, func(data []byte, v any) error { return strict.Unmarshal(data, v) })
}

func BenchmarkUnmarshalBody(b *testing.B) {
	bench(b, func(data []byte, v any) error { return strict.UnmarshalBody(data, 64, v) })
}

func bench(b *testing.B, decode func([]byte, any) error) {
	for _, messages := range []int{1, 50} {
		data := conversationOf(messages)
		b.Run(fmt.Sprint("messages=", messages), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				var v conversation
				if err := decode(data, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
