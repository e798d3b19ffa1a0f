package document

import (
	"bytes"
	"encoding/json"
	"errors"
)

// parseJSON reads one JSON value. Encoding/json alone would take the last of two
// fields of one name.
func parseJSON(data []byte) (*Node, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		if se, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, At(lineAt(data, se.Offset), "not JSON: %v", se)
		}
		return nil, err
	}
	b := jsonBuilder{dec: json.NewDecoder(bytes.NewReader(data)), data: data, line: 1}
	b.dec.UseNumber()
	return b.value("", 0)
}

func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

// jsonBuilder builds nodes from tokens. The text is known to be JSON, so that reading a token
// does not fail.
type jsonBuilder struct {
	builder
	dec  *json.Decoder
	data []byte
	seen int64 // how far line has counted
	line int
}

func (b *jsonBuilder) next() (json.Token, int) {
	t, _ := b.dec.Token()
	now := b.dec.InputOffset()
	b.line += bytes.Count(b.data[b.seen:now], []byte("\n"))
	b.seen = now
	return t, b.line
}

func (b *jsonBuilder) value(path string, depth int) (*Node, error) {
	t, line := b.next()
	if err := b.grow(1, depth, line); err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		return b.object(path, line, depth)
	case json.Delim('['):
		out := &Node{Kind: Array, Line: line}
		for b.dec.More() {
			v, err := b.value(index(path, len(out.Items)), depth+1)
			if err != nil {
				return nil, err
			}
			if err := out.add(v); err != nil {
				return nil, err
			}
		}
		b.next()
		return out, nil
	}
	raw, err := json.Marshal(t)
	return &Node{Kind: Scalar, Line: line, Scalar: raw}, err
}

func (b *jsonBuilder) object(path string, line, depth int) (*Node, error) {
	out := &Node{Kind: Object, Line: line}
	names := map[string]int{}
	for b.dec.More() {
		t, line := b.next()
		name, _ := t.(string)
		v, err := b.value(join(path, name), depth+1)
		if err != nil {
			return nil, err
		}
		if err := out.set(names, Key{name, line}, v, path); err != nil {
			return nil, err
		}
	}
	b.next()
	return out, nil
}
