package a2a

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
)

// applyPatch applies the operations add, replace and remove of a JSON Patch. It reports false, and the artifact stays as
// it is, if one of them does not apply.
func applyPatch(doc json.RawMessage, ops []awaken.PatchOp) (json.RawMessage, bool) {
	root, ok := decodeAny(doc)
	if !ok {
		return nil, false
	}
	for _, op := range ops {
		var value any
		if op.Op == "add" || op.Op == "replace" {
			if value, ok = decodeAny(op.Value); !ok {
				return nil, false
			}
		} else if op.Op != "remove" {
			return nil, false
		}
		var steps []string
		if op.Path != "" {
			rest, rooted := strings.CutPrefix(op.Path, "/")
			if !rooted {
				return nil, false
			}
			steps = strings.Split(rest, "/")
		}
		if root, ok = applyAt(root, steps, op.Op, value); !ok {
			return nil, false
		}
	}
	out, err := json.Marshal(root)
	return out, err == nil
}

// decodeAny decodes JSON and keeps numbers as written.
func decodeAny(data json.RawMessage) (v any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return v, dec.Decode(&v) == nil
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// applyAt returns a document with one operation applied at a path.
func applyAt(doc any, path []string, op string, value any) (any, bool) {
	if len(path) == 0 {
		return value, op != "remove"
	}
	key, last := unescape.Replace(path[0]), len(path) == 1
	switch doc := doc.(type) {
	case map[string]any:
		old, has := doc[key]
		switch {
		case last && op == "add":
			doc[key] = value
			return doc, true
		case !has:
			return nil, false
		case last && op == "remove":
			delete(doc, key)
			return doc, true
		}
		changed, ok := applyAt(old, path[1:], op, value)
		doc[key] = changed
		return doc, ok
	case []any:
		if key == "-" && last && op == "add" {
			return append(doc, value), true
		}
		i, err := strconv.Atoi(key)
		switch {
		case err != nil || i < 0 || i > len(doc) || i == len(doc) && (op != "add" || !last):
			return nil, false
		case last && op == "add":
			return slices.Insert(doc, i, value), true
		case last && op == "remove":
			return slices.Delete(doc, i, i+1), true
		}
		changed, ok := applyAt(doc[i], path[1:], op, value)
		doc[i] = changed
		return doc, ok
	}
	return nil, false
}
