package llm

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// RequestDigest has a digest of each part of a request. Requests with equal digests ask the same. Ids of messages and calls do not count,
// nor does what concerns only the transport. The digests find changes; they do not protect against forgery.
type RequestDigest struct {
	Prompt     string `json:"prompt"`     // the instructions
	Tools      string `json:"tools"`      // their names, descriptions and parameters, in order
	Parameters string `json:"parameters"` // the model and the inference parameters
	Messages   string `json:"messages"`
}

// Digest returns the digests of a request. Text, if it is not nil, is applied to each text before it counts.
func (r *Request) Digest(text func(string) string) RequestDigest {
	prompt, tools, messages := digester{text, 0}, digester{text, 0}, digester{text, 0}
	prompt.blocks(r.System)
	for i := range r.Tools {
		t := &r.Tools[i]
		tools.add(t.Name)
		tools.add(t.Description)
		tools.json(t.Parameters)
	}
	for _, m := range r.Messages.All() {
		messages.add(string(m.Role))
		messages.blocks(m.Content)
		for i := range m.ToolCalls {
			messages.add(m.ToolCalls[i].Name)
			messages.json(m.ToolCalls[i].Arguments)
		}
	}
	buf, ends := make([]byte, 0, 64), [4]int{}
	for i, h := range [4]uint64{prompt.sum, tools.sum, r.parameters(), messages.sum} {
		buf = strconv.AppendUint(buf, h, 16)
		ends[i] = len(buf)
	}
	all := string(buf)
	return RequestDigest{all[:ends[0]], all[ends[0]:ends[1]], all[ends[1]:ends[2]], all[ends[2]:]}
}

// parameters returns the digest of the model and the parameters.
func (r *Request) parameters() uint64 {
	var d digester
	d.add(r.Model)
	p := &r.Params
	number(&d, p.Temperature)
	number(&d, p.TopP)
	number(&d, p.MaxTokens)
	number(&d, p.Seed)
	if e := p.ReasoningEffort; e != nil {
		d.add(e.Level)
		d.mix(uint64(e.Budget))
	}
	for _, s := range p.StopSequences {
		d.add(s)
	}
	if c := p.ToolChoice; c != nil {
		d.add(c.Mode)
		d.add(c.Name)
	}
	if p.ParallelTools != nil {
		d.add(strconv.FormatBool(*p.ParallelTools))
	}
	if o := p.Output; o != nil {
		d.add(o.Name)
		d.json(o.Schema)
	}
	return d.sum
}

// digester computes a digest of texts.
type digester struct {
	text func(string) string
	sum  uint64
}

// mix adds a number.
func (d *digester) mix(n uint64) {
	h := (d.sum ^ n) * 0x9e3779b97f4a7c15
	d.sum = h ^ h>>29
}

// add adds a text, and where it ends.
func (d *digester) add(s string) {
	if d.text != nil {
		s = d.text(s)
	}
	d.mix(uint64(len(s)) + 1)
	for ; len(s) >= 8; s = s[8:] {
		d.mix(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
	}
	for i := range len(s) {
		d.mix(uint64(s[i]))
	}
}

// json adds JSON. White space and escapes do not count, because stores do not keep them.
func (d *digester) json(data json.RawMessage) {
	if bytes.ContainsAny(data, " \t\r\n\\<>&") {
		var compact any
		if json.Unmarshal(data, &compact) == nil {
			if out, err := json.Marshal(compact); err == nil {
				data = out
			}
		}
	}
	d.add(string(data))
}

// blocks adds content.
func (d *digester) blocks(list []Block) {
	d.mix(uint64(len(list)))
	for i := range list {
		b := &list[i]
		d.add(string(b.Type))
		d.add(b.Text)
		d.add(b.Title)
		if s := b.Source; s != nil {
			for _, t := range [...]string{s.Type, s.MediaType, s.Data, s.URL, s.ID} {
				d.add(t)
			}
		}
		if b.Tool != nil {
			d.add(b.Tool.Name)
			d.json(b.Tool.Input)
			d.blocks(b.Tool.Content)
		}
	}
}

// number adds a number, or that it is missing.
func number[T int | int64 | float64](d *digester, n *T) {
	if n == nil {
		d.mix(0)
	} else {
		d.mix(1 + math.Float64bits(float64(*n)))
	}
}
