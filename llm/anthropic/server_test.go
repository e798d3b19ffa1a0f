package anthropic

import (
	"fmt"
	"testing"

	"github.com/awaken-go/awaken/llm/internal/providertest"
)

// fake is a server of the Messages API.
type fake struct{ *providertest.Fake }

// serve starts a fake that sends events, one list per request.
func serve(t *testing.T, replies ...[]string) *fake {
	var all [][][]byte
	for _, events := range replies {
		var frames [][]byte
		for _, e := range events {
			frames = append(frames, frame(e))
		}
		all = append(all, frames)
	}
	return &fake{providertest.Serve(t, adapter, all...)}
}

// request returns the nth request.
func (f *fake) request(t *testing.T, n int) *wireRequest {
	t.Helper()
	var r wireRequest
	if err := exactly(f.Body(n), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// Events as the API sends them.

const started = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":1}}}`

func ended(reason string) []string {
	return []string{
		fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":42}}`, reason),
		`{"type":"message_stop"}`,
	}
}

func textBlock(i int, pieces ...string) []string {
	out := []string{fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, i), `{"type":"ping"}`}
	for _, p := range pieces {
		out = append(out, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":%q}}`, i, p))
	}
	return append(out, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
}

func thinkingEvents(i int, signature string, pieces ...string) []string {
	out := []string{fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"thinking","thinking":"","signature":""}}`, i)}
	for _, p := range pieces {
		out = append(out, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"thinking_delta","thinking":%q}}`, i, p))
	}
	if signature != "" {
		out = append(out, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"signature_delta","signature":%q}}`, i, signature))
	}
	return append(out, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
}

func toolBlock(i int, id, name, input string, pieces ...string) []string {
	out := []string{fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":%s}}`, i, id, name, input)}
	for _, p := range pieces {
		out = append(out, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`, i, p))
	}
	return append(out, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
}

func reply(parts ...[]string) []string {
	out := []string{started}
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}
