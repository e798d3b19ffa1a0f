package appendjson

// maxDepth limits the nesting that compact handles.
const maxDepth = 128

// compact appends the JSON value in src as json.Marshal writes a json.RawMessage: without
// white space, and with characters that are special in HTML or JavaScript escaped. It
// returns buf and false if src is not valid JSON or nested deeper than maxDepth.
//
// It replaces json.Compact because every tool call and result passes through it: in
// BenchmarkCompact it is 2.5 times as fast for objects and 5 times for long texts.
func compact(buf, src []byte) (out []byte, ok bool) {
	c := compactor{buf: buf, src: src}
	if !c.value(0) {
		return buf, false
	}
	c.space()
	if c.at < len(src) {
		return buf, false
	}
	return append(c.buf, src[c.from:]...), true
}

type compactor struct {
	buf  []byte
	src  []byte
	from int // src[:from] is written or dropped
	at   int // src[:at] is read
}

// skip writes what was read and drops the next n bytes.
func (c *compactor) skip(n int) {
	c.buf = append(c.buf, c.src[c.from:c.at]...)
	c.at += n
	c.from = c.at
}

// peek returns the next byte, or 0 at the end. JSON has no zero bytes outside of strings.
func (c *compactor) peek() byte {
	if c.at < len(c.src) {
		return c.src[c.at]
	}
	return 0
}

// take reads the next byte if it is b.
func (c *compactor) take(b byte) bool {
	if c.peek() != b {
		return false
	}
	c.at++
	return true
}

// space drops white space.
func (c *compactor) space() {
	n := 0
	for c.at+n < len(c.src) {
		if b := c.src[c.at+n]; b != ' ' && b != '\n' && b != '\t' && b != '\r' {
			break
		}
		n++
	}
	if n > 0 {
		c.skip(n)
	}
}

// value reads a value and the white space before it.
func (c *compactor) value(depth int) bool {
	c.space()
	switch b := c.peek(); b {
	case '"':
		return c.text()
	case '{', '[':
		return depth < maxDepth && c.list(b+2, depth+1) // in ASCII either bracket closes two bytes further
	case 't':
		return c.word("true")
	case 'f':
		return c.word("false")
	case 'n':
		return c.word("null")
	}
	return c.number()
}

// list reads an object or an array.
func (c *compactor) list(end byte, depth int) bool {
	c.at++
	if c.space(); c.take(end) {
		return true
	}
	for {
		if end == '}' {
			if c.space(); !c.text() {
				return false
			}
			if c.space(); !c.take(':') {
				return false
			}
		}
		if !c.value(depth) {
			return false
		}
		if c.space(); c.take(end) {
			return true
		}
		if !c.take(',') {
			return false
		}
	}
}

func (c *compactor) word(w string) bool {
	if len(c.src)-c.at < len(w) || string(c.src[c.at:c.at+len(w)]) != w {
		return false
	}
	c.at += len(w)
	return true
}

func (c *compactor) number() bool {
	c.take('-')
	if !c.take('0') && !c.digits() {
		return false
	}
	if c.take('.') && !c.digits() {
		return false
	}
	if c.take('e') || c.take('E') {
		if !c.take('+') {
			c.take('-')
		}
		return c.digits()
	}
	return true
}

// digits reads one or more digits.
func (c *compactor) digits() bool {
	from := c.at
	for b := c.peek(); '0' <= b && b <= '9'; b = c.peek() {
		c.at++
	}
	return c.at > from
}

// text reads a string. Invalid UTF-8 stays unchanged.
func (c *compactor) text() bool {
	if !c.take('"') {
		return false
	}
	for c.at < len(c.src) {
		switch b := c.src[c.at]; {
		case plain[b]:
			c.at++
		case b == '"':
			c.at++
			return true
		case b == '\\':
			if !c.escaped() {
				return false
			}
		case b < ' ':
			return false
		case b == '<' || b == '>' || b == '&':
			c.skip(1)
			c.buf = escape(c.buf, b)
		case b == 0xE2 && c.word("\u2028"), b == 0xE2 && c.word("\u2029"):
			last := c.src[c.at-1]
			c.at -= len("\u2028")
			c.skip(len("\u2028"))
			c.buf = append(append(c.buf, `\u202`...), hex[last&0xF])
		default:
			c.at++
		}
	}
	return false
}

// escaped reads an escape sequence.
func (c *compactor) escaped() bool {
	c.at++
	b := c.peek()
	c.at++
	switch b {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			switch b := c.peek(); {
			case '0' <= b && b <= '9', 'a' <= b && b <= 'f', 'A' <= b && b <= 'F':
				c.at++
			default:
				return false
			}
		}
		return true
	}
	return false
}
