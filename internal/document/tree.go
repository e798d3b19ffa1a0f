package document

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
	errTooLarge = errors.New("holds too much, counting what its aliases stand for")
	errTooDeep  = fmt.Errorf("is nested deeper than %d levels", maxDepth)
)

// Kind is what sort of value a node is.
type Kind uint8

const (
	Scalar Kind = iota
	Object
	Array
)

func (k Kind) String() string { return [...]string{"a single value", "an object", "an array"}[k] }

// Node is a value of a document, and the line it is on. Aliased nodes are shared,
// so a node is immutable once it is made.
type Node struct {
	Kind   Kind
	Line   int
	Scalar json.RawMessage
	Keys   []Key   // of an object
	Items  []*Node // of an array, or the values of keys
	height int     // levels below it
}

// Key is the name of a field, and the line it is on.
type Key struct {
	Name string
	Line int
}

// IsNull reports whether the value is null.
func (n *Node) IsNull() bool { return n.Kind == Scalar && string(n.Scalar) == "null" }

// builder counts what a document holds while it is built.
type builder struct{ nodes int }

// grow counts n nodes more, at depth.
func (b *builder) grow(n, depth, line int) error {
	if b.nodes += n; b.nodes > maxNodes {
		return At(line, "%w", errTooLarge)
	}
	if depth > maxDepth {
		return At(line, "%w", errTooDeep)
	}
	return nil
}

// add adds an element to an array, or the value of the key that comes next to an
// object.
func (n *Node) add(v *Node) error {
	n.Items = append(n.Items, v)
	if n.height = max(n.height, v.height+1); n.height > maxDepth {
		return At(n.Line, "%w", errTooDeep)
	}
	return nil
}

// set adds a field to an object. names holds those it has, by name.
func (n *Node) set(names map[string]int, k Key, v *Node, path string) error {
	if first, dup := names[k.Name]; dup {
		return At(k.Line, "field %q is given twice, first on line %d", join(path, k.Name), first)
	}
	names[k.Name] = k.Line
	n.Keys = append(n.Keys, k)
	return n.add(v)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// JSON returns the node as JSON.
func (n *Node) JSON() (json.RawMessage, error) { return n.appendJSON(nil) }

func (n *Node) appendJSON(out []byte) ([]byte, error) {
	if len(out)+len(n.Scalar) > maxOutput {
		return nil, errTooLarge
	}
	if n.Kind == Scalar {
		return append(out, n.Scalar...), nil
	}
	open, end := byte('['), byte(']')
	if n.Kind == Object {
		open, end = '{', '}'
	}
	out = append(out, open)
	for i, item := range n.Items {
		if i > 0 {
			out = append(out, ',')
		}
		if n.Kind == Object {
			name, err := json.Marshal(n.Keys[i].Name)
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
