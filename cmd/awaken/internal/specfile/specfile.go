// Package specfile reads the files in which people define agents, in YAML or JSON.
//
// A file holds one agent, or lists:
//
//	agents:
//	  - id: helper
//	    model_id: default
//	    system_prompt: You are helpful.
//	models:
//	  - {id: default, provider_id: scripted, upstream_model: demo}
//	providers:
//	  - {id: scripted, adapter: scripted}
//
// Both formats become the same JSON before they are decoded, so that they have the
// same fields and the same mistakes. Mistakes are reported with the file's name
// and, where it is known, the line and the value.
package specfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
)

// MaxBytes is how long a file may be.
const MaxBytes = 1 << 20

// File is what a file defines.
type File struct {
	Name      string // as errors call it
	Agents    []*awaken.AgentSpec
	Models    []awaken.ModelSpec
	Providers []awaken.ProviderSpec
}

// Error is a mistake in a file.
type Error struct {
	File string
	Line int // 0 when it is not known
	Err  error
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.File, e.Err)
}

// Unwrap returns the mistake without its place.
func (e *Error) Unwrap() error { return e.Err }

// Read reads a file of the given name from r. The name says what format it is in;
// see [Parse].
func Read(name string, r io.Reader) (*File, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, &Error{File: name, Err: err}
	}
	return Parse(name, data)
}

// Parse reads a file. A name that ends in .json is JSON, one in .yaml or .yml is
// YAML; of any other it is found out. Parse checks the form of what the file
// defines, not whether it fits together: that needs a registry.
func Parse(name string, data []byte) (*File, error) {
	root, err := parse(name, data)
	if err == nil {
		var f *File
		if f, err = decode(root); err == nil {
			f.Name = name
			return f, nil
		}
	}
	if e, ok := errors.AsType[*Error](err); ok {
		e.File = name
		return nil, e
	}
	return nil, &Error{File: name, Err: err}
}

func parse(name string, data []byte) (*node, error) {
	switch {
	case len(data) > MaxBytes:
		return nil, fmt.Errorf("is longer than %d bytes", MaxBytes)
	case !utf8.Valid(data):
		return nil, errors.New("is not UTF-8 text")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errEmpty
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

var lists = []string{"agents", "models", "providers"}

func decode(root *node) (*File, error) {
	if root.kind != object {
		return nil, at(root.line, "got %s, want one agent or an object with %s", root.kind, strings.Join(lists, ", "))
	}
	f := &File{}
	if !slices.ContainsFunc(root.keys, func(k key) bool { return slices.Contains(lists, k.name) }) {
		spec := new(awaken.AgentSpec)
		if err := decodeInto(root, "", spec); err != nil {
			return nil, err
		}
		f.Agents = append(f.Agents, spec)
		return f, checkID(root, "", spec.ID)
	}
	for i, k := range root.keys {
		list := root.items[i]
		if !slices.Contains(lists, k.name) {
			return nil, at(k.line, "unknown field %q, want %s", k.name, strings.Join(lists, ", "))
		}
		if list.isNull() {
			continue
		}
		if list.kind != array {
			return nil, at(k.line, "field %q is %s, want an array", k.name, list.kind)
		}
		for j, item := range list.items {
			where := fmt.Sprintf("%s[%d]", k.name, j)
			if item.kind != object {
				return nil, at(item.line, "%s is %s, want an object", where, item.kind)
			}
			var id string
			var err error
			switch k.name {
			case "agents":
				spec := new(awaken.AgentSpec)
				err = decodeInto(item, where, spec)
				f.Agents, id = append(f.Agents, spec), spec.ID
			case "models":
				var m awaken.ModelSpec
				err = decodeInto(item, where, &m)
				f.Models, id = append(f.Models, m), m.ID
			case "providers":
				var p awaken.ProviderSpec
				err = decodeInto(item, where, &p)
				f.Providers, id = append(f.Providers, p), p.ID
			}
			if err == nil {
				err = checkID(item, where, id)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if len(f.Agents) == 0 {
		return nil, errors.New("agents is missing or empty: there is nothing to run")
	}
	return f, nil
}

func checkID(n *node, where, id string) error {
	if strings.TrimSpace(id) == "" {
		return at(n.line, "%sid is missing or empty", dotted(where))
	}
	return nil
}

func dotted(where string) string {
	if where == "" {
		return ""
	}
	return where + "."
}

func colon(where string) string {
	if where == "" {
		return ""
	}
	return where + ": "
}

// decodeInto decodes n, which is where in the file, into v.
func decodeInto(n *node, where string, v json.Unmarshaler) error {
	for _, k := range n.keys {
		// The json package would take ID for id.
		if !plainName.MatchString(k.name) {
			return at(k.line, "%sunknown field %q", colon(where), k.name)
		}
	}
	data, err := n.encode()
	if err != nil {
		return at(n.line, "%s%w", colon(where), err)
	}
	if err = v.UnmarshalJSON(data); err == nil {
		return nil
	}
	line, value := n.locate(err)
	if line == 0 && where != "" {
		line = n.line // of the element
	}
	for _, stutter := range []string{"agent: ", "model: ", "provider: "} {
		if text, ok := strings.CutPrefix(err.Error(), stutter); ok {
			err = errors.New(text)
		}
	}
	if value != "" {
		return at(line, "%s%w, got %s", colon(where), err, value)
	}
	return at(line, "%s%w", colon(where), err)
}

var (
	plainName = regexp.MustCompile(`^[a-z0-9_]+$`)
	fieldName = regexp.MustCompile(`field "([^"]+)"`) // how a mistake names the field it is about
)

// locate finds the line and the value of the field that a decoding error is about.
// It returns nothing when it cannot tell: the error is complete without it.
func (n *node) locate(err error) (line int, value string) {
	m := fieldName.FindStringSubmatch(err.Error())
	if m == nil {
		return 0, ""
	}
	path := strings.Split(m[1], ".")
	found := n.find(path, nil)
	if len(found) == 0 {
		found = n.findBelow(path, nil)
	}
	if len(found) != 1 {
		return 0, ""
	}
	f := found[0]
	if f.value.kind == scalar && !strings.Contains(err.Error(), "unknown field") && !isSecret(f.key.name) {
		value = string(f.value.scalar)
		if r := []rune(value); len(r) > 60 {
			value = string(r[:60]) + "…"
		}
	}
	return f.key.line, value
}

// isSecret reports whether a field of that name may hold a credential, which an
// error must not show.
func isSecret(name string) bool {
	return slices.ContainsFunc([]string{"key", "token", "secret", "password"}, func(s string) bool {
		return strings.HasSuffix(strings.ToLower(name), s)
	})
}

type field struct {
	key   key
	value *node
}

// find collects the fields at path. Arrays are not part of a path: a field may be
// in any element. It gives up after two, because then nobody knows which is meant.
func (n *node) find(path []string, found []field) []field {
	switch n.kind {
	case array:
		for _, item := range n.items {
			if found = item.find(path, found); len(found) > 1 {
				break
			}
		}
	case object:
		for i, k := range n.keys {
			if k.name != path[0] {
				continue
			}
			if len(path) == 1 {
				return append(found, field{k, n.items[i]})
			}
			return n.items[i].find(path[1:], found)
		}
	}
	return found
}

// findBelow collects the fields at path inside any object of n.
func (n *node) findBelow(path []string, found []field) []field {
	for _, item := range n.items {
		if len(found) > 1 {
			break
		}
		if item.kind == object {
			found = item.find(path, found)
		}
		found = item.findBelow(path, found)
	}
	return found
}

func at(line int, format string, args ...any) *Error {
	return &Error{Line: line, Err: fmt.Errorf(format, args...)}
}
