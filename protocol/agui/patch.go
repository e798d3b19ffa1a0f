package agui

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
)

// diff returns the operations that turn one JSON document into another. It descends into
// objects and lists; a list that only grew yields additions.
func diff(from, to json.RawMessage) ([]awaken.PatchOp, error) {
	var a, b any
	if err := decodeNumbers(from, &a); err != nil {
		return nil, err
	}
	if err := decodeNumbers(to, &b); err != nil {
		return nil, err
	}
	return appendDiff(nil, "", a, b)
}

// decodeNumbers is json.Unmarshal that keeps numbers as written.
func decodeNumbers(data json.RawMessage, v *any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(v)
}

func appendDiff(ops []awaken.PatchOp, path string, a, b any) ([]awaken.PatchOp, error) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return appendObjectDiff(ops, path, a, b)
		}
	case []any:
		if b, ok := b.([]any); ok && len(b) >= len(a) {
			return appendListDiff(ops, path, a, b)
		}
	default:
		if a == b {
			return ops, nil
		}
	}
	return appendOp(ops, "replace", path, b)
}

func appendObjectDiff(ops []awaken.PatchOp, path string, a, b map[string]any) (_ []awaken.PatchOp, err error) {
	for _, k := range slices.Sorted(maps.Keys(a)) {
		if _, stays := b[k]; !stays {
			ops = append(ops, awaken.PatchOp{Op: "remove", Path: path + "/" + pointer.Replace(k)})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(b)) {
		old, was := a[k]
		at := path + "/" + pointer.Replace(k)
		if was {
			ops, err = appendDiff(ops, at, old, b[k])
		} else {
			ops, err = appendOp(ops, "add", at, b[k])
		}
		if err != nil {
			return nil, err
		}
	}
	return ops, nil
}

func appendListDiff(ops []awaken.PatchOp, path string, a, b []any) (_ []awaken.PatchOp, err error) {
	for i, v := range b {
		if i < len(a) {
			ops, err = appendDiff(ops, path+"/"+strconv.Itoa(i), a[i], v)
		} else {
			ops, err = appendOp(ops, "add", path+"/-", v)
		}
		if err != nil {
			return nil, err
		}
	}
	return ops, nil
}

// pointer escapes a name for use in a JSON Pointer.
var pointer = strings.NewReplacer("~", "~0", "/", "~1")

func appendOp(ops []awaken.PatchOp, op, path string, v any) ([]awaken.PatchOp, error) {
	value, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(ops, awaken.PatchOp{Op: op, Path: path, Value: value}), nil
}
