package llm

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// RequestDigest has a digest of each part of a request. Requests with equal digests ask the same. Ids of messages and calls do not count,
// nor does what concerns only the transport. The digests find changes; they do not protect against forgery.
type RequestDigest struct {
	Prompt     string `json:"prompt"`     // the instructions
	Tools      string `json:"tools"`      // their names, descriptions and parameters, in order
	Parameters string `json:"parameters"` // the model and the inference parameters
	Messages   string `json:"messages"`
	// Version is the way in which the digests were computed: the [DigestVersion] of the program that made them. Only digests of one
	// version can be compared.
	Version int `json:"version,omitempty"`
}

// DigestVersion is the version of the digests that [Request.Digest] makes. Versions count from 0. Digests are stored with runs: a change to
// how they are computed needs the next version.
const DigestVersion = 0

// Digest returns the digests of a request. Text, if it is not nil, is applied to each text before it counts.
func (r *Request) Digest(text func(string) string) RequestDigest {
	return newDigest([4]uint64{r.prompt(text), r.tools(text), r.parameters(), r.Messages.digest(text)})
}

// newDigest writes digests, in one allocation.
func newDigest(sums [4]uint64) RequestDigest {
	buf, ends := make([]byte, 0, 64), [4]int{}
	for i, h := range sums {
		buf = strconv.AppendUint(buf, h, 16)
		ends[i] = len(buf)
	}
	all := string(buf)
	return RequestDigest{all[:ends[0]], all[ends[0]:ends[1]], all[ends[1]:ends[2]], all[ends[2]:], DigestVersion}
}

// prompt returns the digest of the instructions.
func (r *Request) prompt(text func(string) string) uint64 {
	d := digester{text: text}
	d.blocks(r.System)
	return d.sum
}

// tools returns the digest of the tools.
func (r *Request) tools(text func(string) string) uint64 {
	d := digester{text: text}
	for i := range r.Tools {
		t := &r.Tools[i]
		d.add(t.Name)
		d.add(t.Description)
		d.json(t.Parameters)
	}
	return d.sum
}

// digest returns the digest of the messages. With an index and without a text, it reads only those that are new.
func (m *Messages) digest(text func(string) string) uint64 {
	d, known := digester{text: text}, false
	if m.index != nil && text == nil {
		d, known = m.index.digestOf(m.head)
	}
	if !known {
		for _, msg := range m.head {
			d.message(msg)
		}
	}
	for _, msg := range m.tail {
		d.message(msg)
	}
	return d.sum
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
	word uint64 // the last bytes of a text that is added in pieces
	n    int    // bytes of that text so far
}

// message adds a message.
func (d *digester) message(m *Message) {
	d.add(string(m.Role))
	d.blocks(m.Content)
	for i := range m.ToolCalls {
		d.add(m.ToolCalls[i].Name)
		d.json(m.ToolCalls[i].Arguments)
	}
}

// mix adds a number.
func (d *digester) mix(n uint64) {
	h := (d.sum ^ n) * 0x9e3779b97f4a7c15
	d.sum = h ^ h>>29
}

// put adds a byte to a text, which end ends.
func (d *digester) put(b byte) {
	d.word |= uint64(b) << (8 * (d.n & 7))
	if d.n++; d.n&7 == 0 {
		d.mix(d.word)
		d.word = 0
	}
}

func (d *digester) end() {
	if d.n&7 != 0 {
		d.mix(d.word)
	}
	d.mix(uint64(d.n) + 1)
	d.word, d.n = 0, 0
}

// add adds a text, and where it ends.
func (d *digester) add(s string) {
	if d.text != nil {
		s = d.text(s)
	}
	for ; len(s) >= 8; s = s[8:] {
		d.mix(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
		d.n += 8
	}
	for i := range len(s) {
		d.put(s[i])
	}
	d.end()
}

// json adds JSON. White space between tokens and the way that characters are escaped do not count, because stores do not keep them.
func (d *digester) json(data json.RawMessage) {
	if d.text != nil {
		data = json.RawMessage(d.text(string(data)))
	}
	quoted := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			quoted = !quoted
			d.put(c)
		case !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
		case quoted && c == '\\' && i+1 < len(data):
			i += d.escape(data[i+1:])
		default:
			d.put(c)
		}
	}
	d.end()
}

// escape adds the character that an escape stands for, without its backslash, and returns its length. Quotes and backslashes stay escaped,
// so that they are not taken for the end of a text.
func (d *digester) escape(rest []byte) int {
	switch c := rest[0]; c {
	case 'u':
		r, n := unicodeEscape(rest)
		var buf [utf8.UTFMax]byte
		for _, b := range utf8.AppendRune(buf[:0], r) {
			d.char(b)
		}
		return n
	case 'b':
		d.put('\b')
	case 'f':
		d.put('\f')
	case 'n':
		d.put('\n')
	case 'r':
		d.put('\r')
	case 't':
		d.put('\t')
	default:
		d.char(c)
	}
	return 1
}

// char adds a byte of a character that was escaped.
func (d *digester) char(b byte) {
	if b == '"' || b == '\\' {
		d.put('\\')
	}
	d.put(b)
}

// unicodeEscape decodes u and four hexadecimal digits, or two such for a pair of surrogates, and returns the length of what it read.
func unicodeEscape(s []byte) (rune, int) {
	first, ok := hex4(s)
	if !ok {
		return utf8.RuneError, 1
	}
	if utf16.IsSurrogate(first) && len(s) >= 7 && s[5] == '\\' && s[6] == 'u' {
		if second, ok := hex4(s[6:]); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r, 11
			}
		}
	}
	return first, 5
}

// hex4 decodes the four digits after s[0].
func hex4(s []byte) (r rune, ok bool) {
	if len(s) < 5 {
		return 0, false
	}
	for _, c := range s[1:5] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
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
