package specfile

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Limits on what a file may hold. Aliases let a short YAML file stand for a very
// long document.
const (
	maxDepth  = 64
	maxNodes  = 200_000
	maxOutput = 4 * MaxBytes // of the JSON that a part of the file becomes
)

var (
	errEmpty    = errors.New("is empty")
	errTooLarge = errors.New("holds too much, counting what its aliases stand for")
	errTooDeep  = fmt.Errorf("is nested deeper than %d levels", maxDepth)
)

type kind uint8

const (
	scalar kind = iota
	object
	array
)

func (k kind) String() string { return [...]string{"a single value", "an object", "an array"}[k] }

// node is a value of a document, and the line it is on. Aliased nodes are shared,
// so a node is immutable once it is made.
type node struct {
	kind   kind
	line   int
	scalar json.RawMessage
	keys   []key   // of an object
	items  []*node // of an array, or the values of keys
	height int     // levels below it
}

type key struct {
	name string
	line int
}

func (n *node) isNull() bool { return n.kind == scalar && string(n.scalar) == "null" }

// builder counts what a document holds while it is built.
type builder struct{ nodes int }

// grow counts n nodes more, at depth.
func (b *builder) grow(n, depth, line int) error {
	if b.nodes += n; b.nodes > maxNodes {
		return at(line, "%w", errTooLarge)
	}
	if depth > maxDepth {
		return at(line, "%w", errTooDeep)
	}
	return nil
}

// add adds an element to an array, or the value of the key that comes next to an
// object.
func (n *node) add(v *node) error {
	n.items = append(n.items, v)
	if n.height = max(n.height, v.height+1); n.height > maxDepth {
		return at(n.line, "%w", errTooDeep)
	}
	return nil
}

// set adds a field to an object. names holds those it has, by name.
func (n *node) set(names map[string]int, k key, v *node, path string) error {
	if first, dup := names[k.name]; dup {
		return at(k.line, "field %q is given twice, first on line %d", join(path, k.name), first)
	}
	names[k.name] = k.line
	n.keys = append(n.keys, k)
	return n.add(v)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// encode returns the node as JSON.
func (n *node) encode() (json.RawMessage, error) { return n.appendJSON(nil) }

func (n *node) appendJSON(out []byte) ([]byte, error) {
	if len(out)+len(n.scalar) > maxOutput {
		return nil, errTooLarge
	}
	if n.kind == scalar {
		return append(out, n.scalar...), nil
	}
	open, end := byte('['), byte(']')
	if n.kind == object {
		open, end = '{', '}'
	}
	out = append(out, open)
	for i, item := range n.items {
		if i > 0 {
			out = append(out, ',')
		}
		if n.kind == object {
			name, err := json.Marshal(n.keys[i].name)
			if err != nil {
				return nil, err
			}
			out = append(append(out, name...), ':')
		}
		var err error
		if out, err = item.appendJSON(out); err != nil {
			return nil, err
		}
	}
	return append(out, end), nil
}
