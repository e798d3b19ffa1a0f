package genui

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/awaken-go/awaken"
)

// apply applies an operation to the document. What it replaces stays as it was.
func (c *Compiler) apply(op *awaken.PatchOp) error {
	path, from := pointer(op.Path), pointer(op.From)
	if len(path) == 0 || len(path) > jsonDepth || len(from) > jsonDepth {
		return fmt.Errorf("path is %.80q, want one below the document and at most %d levels deep", op.Path, jsonDepth)
	}
	var v any
	var err error
	switch op.Op {
	case "add", "replace", "test":
		v, err = valueOf(op)
	case "move", "copy":
		if len(from) == 0 {
			return fmt.Errorf("from is %.80q, want a path below the document", op.From)
		}
		if v, err = get(c.doc, from); err == nil && op.Op == "copy" {
			v, err = c.copied(v)
		}
	case "remove":
	default:
		err = fmt.Errorf("op is %.80q, want add, replace, remove, move, copy or test", op.Op)
	}
	if err != nil {
		return err
	}
	var doc any = c.doc
	switch op.Op {
	case "test":
		if was, err := get(doc, path); err != nil || !reflect.DeepEqual(was, v) {
			return fmt.Errorf("test of %s fails", op.Path)
		}
		return nil
	case "remove":
		doc, err = remove(doc, path)
	case "replace":
		if _, err = get(doc, path); err == nil {
			if doc, err = remove(doc, path); err == nil {
				doc, err = put(doc, path, v)
			}
		} else {
			doc, err = put(doc, path, v)
		}
	case "move":
		if doc, err = remove(doc, from); err == nil {
			doc, err = put(doc, path, v)
		}
	default:
		doc, err = put(doc, path, v)
	}
	if err != nil {
		return err
	}
	c.doc = doc.(map[string]any)
	return nil
}

// copied returns a copy of a JSON value, which counts as if it had been written: a few lines could double a
// document many times.
func (c *Compiler) copied(v any) (out any, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if c.bytes += len(data); c.bytes > c.limits.Bytes {
		return nil, fmt.Errorf("copy makes %d bytes of it, want at most %d", c.bytes, c.limits.Bytes)
	}
	return out, json.Unmarshal(data, &out)
}

// get returns the value at a path.
func get(doc any, path []string) (any, error) {
	for i, t := range path {
		switch d := doc.(type) {
		case map[string]any:
			v, ok := d[t]
			if !ok {
				return nil, fmt.Errorf("%q does not exist", path[:i+1])
			}
			doc = v
		case []any:
			n, err := index(t, len(d)-1)
			if err != nil {
				return nil, err
			}
			doc = d[n]
		default:
			return nil, fmt.Errorf("%q has no members", path[:i])
		}
	}
	return doc, nil
}

// index returns the index that a token names, from 0 to last.
func index(token string, last int) (int, error) {
	n, err := strconv.Atoi(token)
	if err != nil || n < 0 || n > last {
		return 0, fmt.Errorf("index is %.80q, want 0 to %d", token, last)
	}
	return n, nil
}

// put returns the document with a value at a path. It makes parents that do not exist.
func put(doc any, path []string, v any) (any, error) {
	if len(path) == 0 {
		return v, nil
	}
	switch d := doc.(type) {
	case nil:
		inner, err := put(nil, path[1:], v)
		return map[string]any{path[0]: inner}, err
	case map[string]any:
		inner, err := put(d[path[0]], path[1:], v)
		if err != nil {
			return nil, err
		}
		out := maps.Clone(d)
		out[path[0]] = inner
		return out, nil
	case []any:
		if len(path) == 1 {
			n, err := len(d), error(nil)
			if path[0] != "-" {
				n, err = index(path[0], len(d))
			}
			if err != nil {
				return nil, err
			}
			return slices.Insert(slices.Clone(d), n, v), nil
		}
		n, err := index(path[0], len(d)-1)
		if err != nil {
			return nil, err
		}
		out := slices.Clone(d)
		out[n], err = put(d[n], path[1:], v)
		return out, err
	}
	return nil, fmt.Errorf("the parent of %q has no members", path[0])
}

// remove returns the document without the value at a path.
func remove(doc any, path []string) (any, error) {
	switch d := doc.(type) {
	case map[string]any:
		inner, ok := d[path[0]]
		if !ok {
			return nil, fmt.Errorf("%q does not exist", path[0])
		}
		out := maps.Clone(d)
		if len(path) == 1 {
			delete(out, path[0])
			return out, nil
		}
		var err error
		out[path[0]], err = remove(inner, path[1:])
		return out, err
	case []any:
		n, err := index(path[0], len(d)-1)
		if err != nil {
			return nil, err
		}
		out := slices.Clone(d)
		if len(path) == 1 {
			return slices.Delete(out, n, n+1), nil
		}
		out[n], err = remove(d[n], path[1:])
		return out, err
	}
	return nil, fmt.Errorf("the parent of %q has no members", path[0])
}
