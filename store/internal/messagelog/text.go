package messagelog

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/awaken-go/awaken/llm"
)

// Decoder decodes the messages of a log. Messages that it decodes share memory.
//
// It trusts that JSON is spelled as [llm.Message.AppendJSON] spells it: fields in that order,
// no white space. What is spelled otherwise it leaves to json.Unmarshal; so both accept the
// same, with the same result. The zero Decoder is ready for use.
type Decoder struct {
	// Expect is how many messages there will be, or 0.
	Expect int

	messages slab[llm.Message]
	blocks   slab[llm.Block]
	calls    slab[llm.ToolCall]
	metadata slab[llm.Metadata]
	steps    slab[int]
	raw      slab[byte]

	openBlocks []llm.Block // of lists that are not complete
	text       []byte      // of a string with escapes
	list       []*llm.Message
}

// many is how many values are allocated together, at most. As long as one of them is in use, all stay
// in memory.
const many = 256

// slab hands out parts of larger allocations.
type slab[T any] struct {
	free []T
	next int // size of the next allocation
}

// take returns n zero values. The first allocation is for first of them, later ones for up to
// most.
func (s *slab[T]) take(n, first, most int) []T {
	if len(s.free) < n {
		if s.next == 0 {
			s.next = min(max(first, 1), most)
		}
		s.free = make([]T, max(n, s.next))
		s.next = min(2*s.next, most)
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}

// Message decodes one message.
func (d *Decoder) Message(text string) (*llm.Message, error) {
	p := d.parse(text)
	if m := p.message(); m != nil && p.at == len(text) {
		return m, nil
	}
	m := new(llm.Message)
	return m, json.Unmarshal([]byte(text), m)
}

// Messages decodes an array of messages. The array is valid until the next call.
func (d *Decoder) Messages(text string) ([]*llm.Message, error) {
	if list, ok := d.array(text); ok {
		return list, nil
	}
	var list []*llm.Message
	err := json.Unmarshal([]byte(text), &list)
	return list, err
}

func (d *Decoder) array(text string) (list []*llm.Message, ok bool) {
	p := d.parse(text)
	list = d.list[:0]
	p.want(`[`)
	for !p.failed {
		m := p.message()
		if m == nil {
			return nil, false
		}
		list = append(list, m)
		if !p.has(`,`) {
			p.want(`]`)
			break
		}
	}
	d.list = list[:0]
	return list, !p.failed && p.at == len(text)
}

// parser decodes a text from its start. Once it has failed, what it returns means nothing.
type parser struct {
	*Decoder
	s      string // strings are parts of it
	at     int
	failed bool
}

func (d *Decoder) parse(text string) parser {
	return parser{Decoder: d, s: text, failed: !utf8.ValidString(text)}
}

// has reports whether the text continues with word, and skips it.
func (p *parser) has(word string) bool {
	if !strings.HasPrefix(p.s[p.at:], word) {
		return false
	}
	p.at += len(word)
	return true
}

func (p *parser) want(word string) {
	if !p.has(word) {
		p.failed = true
	}
}

// field is has for the name of a field and what is before it: a brace if it is the first of its
// object, and a comma otherwise.
func (p *parser) field(first bool, name string) bool {
	rest := p.s[p.at:]
	if len(rest) == 0 || rest[0] != "{,"[btoi(!first)] || !strings.HasPrefix(rest[1:], name) {
		return false
	}
	p.at += 1 + len(name)
	return true
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// message decodes a message, or returns nil.
func (p *parser) message() *llm.Message {
	if p.failed {
		return nil
	}
	m := &p.messages.take(1, p.Expect, many)[0]
	noID := !p.field(true, `"id":`)
	if !noID {
		m.ID = p.string()
	}
	if !p.field(noID, `"role":`) {
		return nil
	}
	switch m.Role = llm.Role(p.string()); m.Role {
	case llm.System:
		m.Role = llm.System // so that the text is not kept for it
	case llm.User:
		m.Role = llm.User
	case llm.Assistant:
		m.Role = llm.Assistant
	case llm.ToolRole:
		m.Role = llm.ToolRole
	default:
		return nil
	}
	if p.want(`,"content":[`); !p.has(`]`) {
		m.Content = p.blockList(false)
	}
	if p.has(`,"tool_calls":[`) {
		m.ToolCalls = p.callList()
	}
	if p.has(`,"tool_call_id":`) {
		m.ToolCallID = p.string()
	}
	if p.has(`,"visibility":"internal"`) {
		m.Visibility = llm.Internal
	}
	if p.has(`,"metadata":`) {
		m.Metadata = p.meta()
	}
	m.Opaque = p.opaque()
	if p.want(`}`); p.failed {
		return nil
	}
	return m
}

// blockList decodes the blocks of a list that has some, up to its end.
func (p *parser) blockList(inResult bool) []llm.Block {
	start := len(p.openBlocks)
	defer func() {
		clear(p.openBlocks[start:])
		p.openBlocks = p.openBlocks[:start]
	}()
	for {
		b := p.block(inResult)
		p.openBlocks = append(p.openBlocks, b)
		if p.failed || p.has(`]`) {
			break
		}
		p.want(`,`)
	}
	out := p.blocks.take(len(p.openBlocks)-start, p.Expect, many)
	copy(out, p.openBlocks[start:])
	return out
}

func (p *parser) block(inResult bool) (b llm.Block) {
	switch {
	case p.has(`{"type":"text","text":`):
		b.Type, b.Text = llm.TextBlock, p.string()
	case p.has(`{"type":"thinking","thinking":`):
		b.Type, b.Text = llm.ThinkingBlock, p.string()
	case p.has(`{"type":"image","source":`):
		b.Type = llm.ImageBlock
		p.media(&b)
	case p.has(`{"type":"audio","source":`):
		b.Type = llm.AudioBlock
		p.media(&b)
	case p.has(`{"type":"video","source":`):
		b.Type = llm.VideoBlock
		p.media(&b)
	case p.has(`{"type":"document","source":`):
		b.Type = llm.DocumentBlock
		p.media(&b)
	case !inResult && p.has(`{"type":"tool_use","id":`):
		b.Type, b.Tool = llm.ToolUseBlock, &llm.ToolPart{ID: p.string()}
		p.want(`,"name":`)
		b.Tool.Name = p.string()
		p.want(`,"input":`)
		b.Tool.Input = p.orNull()
	case !inResult && p.has(`{"type":"tool_result","tool_use_id":`):
		b.Type, b.Tool = llm.ToolResultBlock, &llm.ToolPart{ID: p.string()}
		if p.want(`,"content":[`); !p.failed && !p.has(`]`) {
			b.Tool.Content = p.blockList(true)
		}
	default:
		p.failed = true
	}
	b.Opaque = p.opaque()
	p.want(`}`)
	return b
}

// media decodes the source and the title of a block.
func (p *parser) media(b *llm.Block) {
	b.Source = new(llm.Source)
	p.want(`{"type":`)
	b.Source.Type = p.string()
	if p.has(`,"media_type":`) {
		b.Source.MediaType = p.string()
	}
	if p.has(`,"data":`) {
		b.Source.Data = p.string()
	}
	if p.has(`,"url":`) {
		b.Source.URL = p.string()
	}
	if p.has(`,"id":`) {
		b.Source.ID = p.string()
	}
	if p.has(`,"size":`) {
		b.Source.Size = int64(p.int())
	}
	p.want(`}`)
	switch s := b.Source; {
	case s.Type == "base64" && s.URL == "" && s.MediaType != "" && s.Data != "" && s.ID == "" && s.Size == 0:
	case s.Type == "url" && s.Data == "" && s.URL != "" && s.ID == "" && s.Size == 0:
	case s.Type == "blob" && s.Data == "" && s.URL == "" && s.ID != "" && s.MediaType != "" && s.Size >= 0:
	default:
		p.failed = true
	}
	if p.has(`,"title":`) {
		b.Title = p.string()
	}
}

// callList decodes the calls of a list that has some, up to its end.
func (p *parser) callList() []llm.ToolCall {
	var few [4]llm.ToolCall
	list := few[:0]
	for {
		var c llm.ToolCall
		p.want(`{"id":`)
		c.ID = p.string()
		p.want(`,"name":`)
		c.Name = p.string()
		p.want(`,"arguments":`)
		c.Arguments = p.orNull()
		c.Opaque = p.opaque()
		p.want(`}`)
		list = append(list, c)
		if p.failed || p.has(`]`) {
			break
		}
		p.want(`,`)
	}
	out := p.calls.take(len(list), p.Expect/4, many)
	copy(out, list)
	return out
}

func (p *parser) meta() *llm.Metadata {
	md := &p.metadata.take(1, p.Expect, many)[0]
	if p.has(`{}`) {
		return md
	}
	start := p.at
	next := func(name string) bool { return p.field(p.at == start, name) }
	if next(`"run_id":`) {
		md.RunID = p.string()
	}
	if next(`"step_index":`) {
		md.StepIndex = &p.steps.take(1, p.Expect, many)[0]
		*md.StepIndex = p.int()
	}
	if next(`"sender_agent_id":`) {
		md.SenderAgentID = p.string()
	}
	if next(`"compaction":`) {
		md.Compaction = new(llm.Interval)
		p.want(`{"from_seq":`)
		md.Compaction.FromSeq = p.int()
		p.want(`,"to_seq":`)
		md.Compaction.ToSeq = p.int()
		p.want(`}`)
	}
	if next(`"rewind":`) {
		md.Rewind = new(llm.Rewind)
		p.want(`{"from_seq":`)
		md.Rewind.FromSeq = p.int()
		p.want(`}`)
	}
	if next(`"interrupted":`) {
		p.want(`true`)
		md.Interrupted = true
	}
	if next(`"finish_reason":`) {
		md.Finish = llm.FinishReason(p.string())
		if !slices.Contains(finishReasons, md.Finish) {
			p.failed = true
		}
	}
	if next(`"client_role":`) {
		md.ClientRole = llm.Role(p.string())
	}
	if next(`"client":`) {
		md.Client = p.value()
	}
	if next(`"arrival":`) {
		md.Arrival = p.arrival()
	}
	if p.want(`}`); p.at == start+1 {
		p.failed = true
	}
	return md
}

func (p *parser) arrival() *llm.Arrival {
	a := new(llm.Arrival)
	p.want(`{"steps":`)
	a.Steps = p.int()
	p.want(`,"point":`)
	a.Point = llm.ArrivalPoint(p.string())
	if p.has(`,"after":`) {
		a.After = p.string()
	}
	a.Resumed = p.has(`,"resumed":true`)
	p.want(`}`)
	return a
}

var finishReasons = []llm.FinishReason{llm.EndTurn, llm.MaxTokens, llm.ToolUse, llm.StopSequence}

// opaque decodes a field "opaque", if there is one.
func (p *parser) opaque() *llm.Opaque {
	if !p.has(`,"opaque":`) {
		return nil
	}
	o := new(llm.Opaque)
	p.want(`{"provider":`)
	o.Provider = p.string()
	if p.has(`,"signature":`) {
		o.Signature = p.string()
	}
	if p.has(`,"data":`) {
		o.Data = p.value()
	}
	p.want(`}`)
	return o
}

// int decodes a number without a sign.
func (p *parser) int() int {
	end := p.at
	for end < len(p.s) && '0' <= p.s[end] && p.s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(p.s[p.at:end])
	if err != nil || p.s[p.at] == '0' && end > p.at+1 {
		p.failed = true
	}
	p.at = end
	return n
}

// string decodes a string.
func (p *parser) string() string {
	if p.want(`"`); p.failed {
		return ""
	}
	for i := p.at; i < len(p.s); i++ {
		switch c := p.s[i]; {
		case c == '"':
			out := p.s[p.at:i]
			p.at = i + 1
			return out
		case c == '\\':
			return p.escaped(i)
		case c < ' ':
			p.failed = true
			return ""
		}
	}
	p.failed = true
	return ""
}

// escapes are the characters that are escaped by one other.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escaped decodes the rest of a string whose first escape is at i.
func (p *parser) escaped(i int) string {
	buf := append(p.text[:0], p.s[p.at:i]...)
	defer func() { p.text = buf[:0] }()
	for i < len(p.s) {
		switch c := p.s[i]; {
		case c == '"':
			p.at = i + 1
			return string(buf)
		case c < ' ':
			p.failed = true
			return ""
		case c != '\\':
			buf = append(buf, c)
			i++
		case i+1 < len(p.s) && escapes[p.s[i+1]] != 0:
			buf = append(buf, escapes[p.s[i+1]])
			i += 2
		case i+6 <= len(p.s) && p.s[i+1] == 'u':
			r, ok := hex4(p.s[i+2 : i+6])
			if !ok || 0xd800 <= r && r < 0xe000 {
				p.failed = true
				return ""
			}
			buf = utf8.AppendRune(buf, r)
			i += 6
		default:
			p.failed = true
			return ""
		}
	}
	p.failed = true
	return ""
}

func hex4(s string) (r rune, ok bool) {
	for i := range 4 {
		c := s[i]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// orNull decodes JSON, which is nil if it is null.
func (p *parser) orNull() json.RawMessage {
	if p.has(`null`) {
		return nil
	}
	return p.value()
}

// value returns an object or an array as JSON.
func (p *parser) value() json.RawMessage {
	depth, inString := 0, false
	for i := p.at; i < len(p.s); i++ {
		switch c := p.s[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth == 0 { // at once if it is neither
			return p.cut(i + 1)
		}
	}
	p.failed = true
	return nil
}

// cut returns the text up to end, which must be JSON.
func (p *parser) cut(end int) json.RawMessage {
	raw := p.raw.take(end-p.at, 64*p.Expect, 16<<10)
	copy(raw, p.s[p.at:end])
	p.at = end
	if raw[0] != '{' && raw[0] != '[' || !json.Valid(raw) {
		p.failed = true
	}
	return raw
}
