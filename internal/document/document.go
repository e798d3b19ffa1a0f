// Package document reads files that people write, in YAML or JSON.
//
// Both formats become the same tree, and the same JSON, before they are decoded, so they
// have the same fields and the same errors. Errors name the file and, where known, the line
// and the value.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/awaken-go/awaken/internal/strict"
)

// MaxBytes limits the size of a file.
const MaxBytes = 1 << 20

// Error is a mistake in a file.
type Error struct {
	File string
	Line int // 0 if unknown
	Err  error
}

// Error returns file:line: mistake.
func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.File, e.Err)
}

// Unwrap returns the mistake without its position.
func (e *Error) Unwrap() error { return e.Err }

// At returns a mistake on a line.
func At(line int, format string, args ...any) *Error {
	return &Error{Line: line, Err: fmt.Errorf(format, args...)}
}

// In attributes err, if there is one, to a file.
func In(name string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		e.File = name
		return e
	}
	return &Error{File: name, Err: err}
}

// ErrEmpty means that a file is empty.
var ErrEmpty = errors.New("is empty")

// Parse parses a document: JSON if name ends in .json, YAML if it ends in .yaml or .yml,
// and otherwise whichever it is. Errors do not have the file's name yet; see [In].
func Parse(name string, data []byte) (*Node, error) {
	switch {
	case len(data) > MaxBytes:
		return nil, fmt.Errorf("is longer than %d bytes", MaxBytes)
	case !utf8.Valid(data):
		return nil, errors.New("is not UTF-8 text")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, ErrEmpty
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json":
		return parseJSON(data)
	case ".yaml", ".yml":
		return parseYAML(data)
	}
	if json.Valid(data) {
		return parseJSON(data)
	}
	root, err := parseYAML(data)
	if err != nil && bytes.TrimSpace(data)[0] == '{' && bytes.Contains(data, []byte(`"`)) {
		if _, asJSON := parseJSON(data); asJSON != nil {
			return nil, asJSON // it was meant to be JSON
		}
	}
	return root, err
}

// Load reads a file into v, which must be a pointer. Unknown fields are errors.
func Load(name string, v any) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return In(name, err)
	}
	return Decode(name, data, v)
}

// Decode decodes a document into v, which must be a pointer.
func Decode(name string, data []byte, v any) error {
	root, err := Parse(name, data)
	if err == nil {
		err = root.Decode(v)
	}
	return In(name, err)
}

// Decode decodes the node into v, which must be a pointer. An error has the line and the
// value of the field that it is about, if they can be determined.
func (n *Node) Decode(v any) error {
	data, err := n.JSON()
	if err != nil {
		return At(n.Line, "%w", err)
	}
	if u, ok := v.(json.Unmarshaler); ok {
		err = u.UnmarshalJSON(data)
	} else {
		err = strict.Unmarshal(data, v)
	}
	if err == nil {
		return nil
	}
	line, value := n.locate(err)
	if value != "" {
		err = fmt.Errorf("%w, got %s", err, value)
	}
	return At(line, "%w", err)
}

// locate finds the line and the value of the field that a decoding error is about. It
// returns zero values if it cannot tell: the error is complete without them.
func (n *Node) locate(err error) (line int, value string) {
	wrong, ok := errors.AsType[*strict.FieldError](err)
	if !ok {
		return 0, ""
	}
	path := strings.Split(wrong.Path, ".")
	found := n.find(path, nil)
	if len(found) == 0 {
		found = n.findBelow(path, nil)
	}
	if len(found) != 1 {
		return 0, ""
	}
	f := found[0]
	if f.value.Kind == Scalar && !wrong.Unknown && !isSecret(f.key.Name) {
		value = string(f.value.Scalar)
		if r := []rune(value); len(r) > 60 {
			value = string(r[:60]) + "…"
		}
	}
	return f.key.Line, value
}

// isSecret reports whether a field may hold a credential, which an error must not show.
func isSecret(name string) bool {
	return slices.ContainsFunc([]string{"key", "token", "secret", "password"}, func(s string) bool {
		return strings.HasSuffix(strings.ToLower(name), s)
	})
}

type field struct {
	key   Key
	value *Node
}

// find collects the fields at path. A path skips arrays: a field may be in any element. It
// stops after two, because the path is then ambiguous.
func (n *Node) find(path []string, found []field) []field {
	switch n.Kind {
	case Array:
		for _, item := range n.Items {
			if found = item.find(path, found); len(found) > 1 {
				break
			}
		}
	case Object:
		for i, k := range n.Keys {
			if k.Name != path[0] {
				continue
			}
			if len(path) == 1 {
				return append(found, field{k, n.Items[i]})
			}
			return n.Items[i].find(path[1:], found)
		}
	}
	return found
}

// findBelow collects the fields at path inside any object of n.
func (n *Node) findBelow(path []string, found []field) []field {
	for _, item := range n.Items {
		if len(found) > 1 {
			break
		}
		if item.Kind == Object {
			found = item.find(path, found)
		}
		found = item.findBelow(path, found)
	}
	return found
}
