package body

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/awaken-go/awaken/llm"
)

// head is a request without its messages.
type head struct {
	Model           string          `json:"model"`
	Temperature     *float64        `json:"temperature,omitempty"`
	TopP            *float64        `json:"top_p,omitempty"`
	MaxTokens       *int            `json:"max_tokens,omitempty"`
	ReasoningEffort *llm.Effort     `json:"reasoning_effort,omitempty"`
	StopSequences   []string        `json:"stop_sequences,omitempty"`
	Seed            *int64          `json:"seed,omitempty"`
	ToolChoice      string          `json:"tool_choice,omitempty"`
	OutputSchema    json.RawMessage `json:"output_schema,omitempty"`
	System          []llm.Block     `json:"system,omitempty"`
	Tools           []llm.Tool      `json:"tools,omitempty"`
}

// encodeRequest returns a request as JSON of about most bytes at most: what is too much at the beginning of its conversation is left out, then its
// tools and its instructions.
func encodeRequest(req *llm.Request, most int) ([]byte, error) {
	h := head{Model: req.Model, Temperature: req.Temperature, TopP: req.TopP, MaxTokens: req.MaxTokens, ReasoningEffort: req.ReasoningEffort,
		StopSequences: req.StopSequences, Seed: req.Seed, System: req.System, Tools: req.Tools}
	if c := req.ToolChoice; c != nil {
		if h.ToolChoice = c.Mode; c.Name != "" {
			h.ToolChoice += " " + c.Name
		}
	}
	if req.Output != nil {
		h.OutputSchema = req.Output.Schema
	}
	buf, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if len(buf) > most {
		h.System, h.Tools = nil, nil
		if buf, err = json.Marshal(h); err != nil {
			return nil, err
		}
	}
	from, parts, err := encodeMessages(req.Messages, most-len(buf))
	if err != nil {
		return nil, err
	}
	buf = buf[:len(buf)-1]
	if from > 0 {
		buf = append(buf, `,"omitted_messages":`...)
		buf = strconv.AppendInt(buf, int64(from), 10)
	}
	buf = append(buf, `,"messages":[`...)
	buf = append(buf, parts...)
	return append(buf, `]}`...), nil
}

// encodeMessages returns the last messages that fit, as JSON with commas between them, and the index of the first of them.
func encodeMessages(msgs llm.Messages, most int) (from int, _ []byte, err error) {
	n := msgs.Len()
	buf := make([]byte, 0, 512)
	ends := make([]int, 0, n)
	for i := range n {
		if i > 0 {
			buf = append(buf, ',')
		}
		if buf, err = withoutFiles(msgs.At(i)).AppendJSON(buf); err != nil {
			return 0, nil, err
		}
		ends = append(ends, len(buf))
	}
	start := 0
	for from < n && len(buf)-start > most {
		start = min(len(buf), ends[from]+1)
		from++
	}
	return from, buf[start:], nil
}

// withoutFiles returns a message without the bytes of files.
func withoutFiles(m *llm.Message) *llm.Message {
	own := m
	for i, b := range m.Content {
		if b.Source == nil || b.Source.Data == "" {
			continue
		}
		if own == m {
			copied := *m
			copied.Content = append([]llm.Block(nil), m.Content...)
			own = &copied
		}
		src := *b.Source
		src.Data = fmt.Sprintf("%s, %d bytes", removed, len(src.Data))
		own.Content[i].Source = &src
	}
	return own
}

// encode returns the record of an exchange as JSON without credentials.
func encode(id string, step int, x *llm.Exchange, most int) ([]byte, error) {
	req, err := encodeRequest(x.Request, most)
	if err != nil {
		return nil, err
	}
	req = Redact(req)
	digest := sha256.Sum256(req)
	buf := make([]byte, 0, len(req)+1024)
	buf = append(buf, `{"id":"`...)
	buf = append(buf, id...)
	buf = append(buf, `","step":`...)
	buf = strconv.AppendInt(buf, int64(step), 10)
	buf = append(buf, `,"ended_at_ms":`...)
	buf = strconv.AppendInt(buf, x.Ended.UnixMilli(), 10)
	buf = append(buf, `,"request_digest":"`...)
	buf = hex.AppendEncode(buf, digest[:])
	buf = append(buf, `","request":`...)
	buf = append(buf, req...)
	answer, err := encodeAnswer(x, most)
	if err != nil {
		return nil, err
	}
	buf = append(buf, Redact(answer)...)
	return append(buf, '}'), nil
}

// encodeAnswer returns the fields of a record about the answer.
func encodeAnswer(x *llm.Exchange, most int) (buf []byte, err error) {
	if m := x.Reply(); !m.Empty() {
		buf = append(buf, `,"response":`...)
		if buf, err = m.AppendJSON(buf); err != nil {
			return nil, err
		}
		if len(buf) > most {
			buf = append(buf[:0], fmt.Sprintf(`,"response":{"role":"assistant","content":[{"type":"text","text":"%s, %d bytes"}]}`, removed, len(buf))...)
		}
	}
	if x.Finish != "" {
		buf = append(buf, `,"finish_reason":"`...)
		buf = append(buf, x.Finish...)
		buf = append(buf, '"')
	}
	if x.Usage != (llm.Usage{}) {
		buf = x.Usage.AppendJSON(append(buf, `,"usage":`...))
	}
	if x.Err != nil {
		text, err := json.Marshal(x.Err.Error())
		if err != nil {
			return nil, err
		}
		buf = append(append(buf, `,"error":`...), text...)
	}
	return buf, nil
}
