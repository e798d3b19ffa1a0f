//go:build linux

package floodtest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// dialect is how a provider writes a reply.
type dialect struct {
	adapter string
	path    string // of the base URL
	mime    string
	// open is what comes first, text a piece of text, and call the beginning of a call, which has a number.
	open []string
	text func(text string) string
	call func(n int) string
	// arguments is a piece of the arguments of call 0, or "" if calls come in one piece.
	arguments func(text string) string
	// whole is a call with all its arguments, of any length.
	whole func(arguments io.Reader) io.Reader
	// close is what ends a reply of text.
	close []string
}

func event(format string, args ...any) string {
	return "data: " + fmt.Sprintf(format, args...) + "\n\n"
}

func quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

// around returns a reader of three parts.
func around(before string, middle io.Reader, after string) io.Reader {
	return io.MultiReader(strings.NewReader(before), middle, strings.NewReader(after))
}

var dialects = []dialect{
	{
		adapter: "compatible", path: "/v1", mime: "text/event-stream",
		text: func(s string) string {
			return event(`{"id":"c","choices":[{"index":0,"delta":{"content":%s}}]}`, quoted(s))
		},
		call: func(n int) string {
			return event(`{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"call_%d","type":"function","function":{"name":"get_weather","arguments":"{}"}}]}}]}`, n, n)
		},
		arguments: func(s string) string {
			return event(`{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":%s}}]}}]}`, quoted(s))
		},
		whole: func(r io.Reader) io.Reader {
			return around(`data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call","type":"function","function":{"name":"get_weather","arguments":"`, r, "\"}}]}}]}\n\n")
		},
		close: []string{event(`{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`), "data: [DONE]\n\n"},
	},
	{
		adapter: "openai_resp", path: "/v1", mime: "text/event-stream",
		open: []string{event(`{"type":"response.created","response":{"id":"r"}}`), event(`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m"}}`)},
		text: func(s string) string {
			return event(`{"type":"response.output_text.delta","output_index":0,"delta":%s}`, quoted(s))
		},
		call: func(n int) string {
			return event(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"function_call","id":"f%d","call_id":"call_%d","name":"get_weather","arguments":""}}`, n+1, n, n)
		},
		arguments: func(s string) string {
			return event(`{"type":"response.function_call_arguments.delta","output_index":1,"delta":%s}`, quoted(s))
		},
		whole: func(r io.Reader) io.Reader {
			return around(`data: {"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"f","call_id":"call","name":"get_weather","arguments":"`, r, "\"}}\n\n")
		},
		close: []string{event(`{"type":"response.completed","response":{"id":"r","usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}`)},
	},
	{
		adapter: "anthropic", mime: "text/event-stream",
		open: []string{event(`{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1,"output_tokens":1}}}`), event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)},
		text: func(s string) string {
			return event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, quoted(s))
		},
		call: func(n int) string {
			return event(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"call_%d","name":"get_weather","input":{}}}`, n+1, n)
		},
		arguments: func(s string) string {
			return event(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":%s}}`, quoted(s))
		},
		whole: func(r io.Reader) io.Reader {
			return around(`data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"call","name":"get_weather","input":{"x":"`, r, "\"}}}\n\n")
		},
		close: []string{event(`{"type":"content_block_stop","index":0}`), event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`), event(`{"type":"message_stop"}`)},
	},
	{
		adapter: "gemini", path: "/v1beta", mime: "text/event-stream",
		text: func(s string) string {
			return event(`{"responseId":"r","candidates":[{"content":{"role":"model","parts":[{"text":%s}]}}]}`, quoted(s))
		},
		call: func(n int) string {
			return event(`{"responseId":"r","candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"get_weather","args":{"n":%d}}}]}}]}`, n)
		},
		whole: func(r io.Reader) io.Reader {
			return around(`data: {"responseId":"r","candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"get_weather","args":{"x":"`, r, "\"}}}]}}]}\n\n")
		},
		close: []string{event(`{"responseId":"r","candidates":[{"content":{"role":"model","parts":[]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"totalTokenCount":2}}`)},
	},
	{
		adapter: "ollama", mime: "application/x-ndjson",
		text: func(s string) string {
			return fmt.Sprintf(`{"message":{"role":"assistant","content":%s},"done":false}`, quoted(s)) + "\n"
		},
		call: func(n int) string {
			return fmt.Sprintf(`{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_weather","arguments":{"n":%d}}}]},"done":false}`, n) + "\n"
		},
		whole: func(r io.Reader) io.Reader {
			return around(`{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_weather","arguments":{"x":"`, r, "\"}}}]},\"done\":false}\n")
		},
		close: []string{`{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":1,"eval_count":1}` + "\n"},
	},
}

// flood is a kind of reply without an end.
type flood struct {
	name  string
	limit string // in the error
	// write writes to a client that reads, until that fails.
	write func(d *dialect, w io.Writer) error
	gzip  bool
}

// endless repeats a byte for ever.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func always(w io.Writer, frame string) error {
	many := []byte(strings.Repeat(frame, max(1, 64<<10/len(frame))))
	for {
		if _, err := w.Write(many); err != nil {
			return err
		}
	}
}

var floods = []flood{
	{name: "text", limit: "limits.reply_bytes", write: func(d *dialect, w io.Writer) error { return always(w, d.text(strings.Repeat("all work ", 400))) }},
	{name: "tokens", limit: "limits.reply_bytes", write: func(d *dialect, w io.Writer) error { return always(w, d.text("word ")) }},
	{name: "arguments", limit: "limits.reply_", write: func(d *dialect, w io.Writer) error {
		if d.arguments == nil { // they come in one piece
			_, err := io.Copy(w, d.whole(endless('x')))
			return err
		}
		if _, err := io.WriteString(w, strings.Replace(d.call(0), `"arguments":"{}"`, `"arguments":""`, 1)+d.arguments(`{"x":"`)); err != nil {
			return err
		}
		return always(w, d.arguments(strings.Repeat("x", 1000)))
	}},
	{name: "calls", limit: "limits.reply_calls", write: func(d *dialect, w io.Writer) error {
		for n := range 100_000 {
			if _, err := io.WriteString(w, d.call(n)); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "bomb", limit: "limits.reply_bytes", gzip: true, write: func(d *dialect, w io.Writer) error {
		begin, _, _ := strings.Cut(d.text("@"), "@")
		_, err := io.Copy(w, around(begin, endless('x'), ""))
		return err
	}},
	{name: "gzip", limit: "limits.reply_bytes", gzip: true, write: func(d *dialect, w io.Writer) error {
		return always(w, d.text(strings.Repeat("x", 1<<20)))
	}},
}

// provider is the server of a dialect. The last word that a user said names the flood; any other word is answered with a text.
type provider struct {
	dialect *dialect

	mu   sync.Mutex
	sent int64         // bytes of the last flood, before they are compressed
	deep chan struct{} // closed when a client is in the middle of it
}

// middle is where a flood is deep.
const middle = 256 << 10

func newProvider(d *dialect) *provider { return &provider{dialect: d, deep: make(chan struct{})} }

// begin makes the next flood the last one, and returns a channel that is closed when a client is in the middle of it.
func (p *provider) begin() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent, p.deep = 0, make(chan struct{})
	return p.deep
}

// size returns how many MiB of the last flood were sent.
func (p *provider) size() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return float64(p.sent) / (1 << 20)
}

// counter is the flood to a client.
type counter struct {
	io.Writer
	*provider
}

func (c counter) Write(data []byte) (int, error) {
	n, err := c.Writer.Write(data)
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.sent; before < middle && before+int64(n) >= middle {
		close(c.deep)
	}
	c.sent += int64(n)
	return n, err
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	d := p.dialect
	w.Header().Set("Content-Type", d.mime)
	for i := range floods {
		f := &floods[i]
		if !bytes.Contains(body, []byte(quoted("flood "+f.name))) {
			continue
		}
		var out io.Writer = w
		if f.gzip {
			w.Header().Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			out = z
		}
		out = counter{out, p}
		for _, frame := range d.open {
			if _, err := io.WriteString(out, frame); err != nil {
				return
			}
		}
		if f.write(d, out) == nil {
			panic(http.ErrAbortHandler) // the client is to leave before that
		}
		return
	}
	for _, frame := range append(append(append([]string{}, d.open...), d.text("hello "), d.text("there")), d.close...) {
		if _, err := io.WriteString(w, frame); err != nil {
			return
		}
	}
}
