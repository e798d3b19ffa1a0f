package config

// The forms of a document.
//
// A document is one JSON object. It has three forms; each function says which one it takes:
//
//   - As written: what a client sends. seal takes it.
//   - Sealed: as stored in records, publications and the audit log. It is validated, has
//     its defaults filled in, is canonical (sorted names, no blanks, so that equal
//     documents have equal hashes), and has {"$secret": "<reference>"} in place of each
//     secret. seal makes it; [Record].effective applies overrides to it.
//   - Open: sealed, with the secrets put back by unseal. decode turns it into a spec.
//
// Clients never see the last two, but what redact makes of a sealed document.
//
// A write is
//
//	sealed, err := seal(key, written, stored)      // stored: the record's Spec, or nil
//	record.Spec = sealed.Doc                       // store sealed.Secrets
//	effective, err := record.effective(key)
//	open, err := unseal(key, effective, lookup)
//	spec, err := decode(key, open)                 // compile it
//	answer, err := redact(key.Namespace, effective)
//
// and an override, with the same use of what it returns,
//
//	sealed, err := sealPatch(key, patch, record.Meta.UserOverrides)
//	record.Meta.UserOverrides = sealed.Doc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
)

// decode decodes and validates an open document. Unknown fields are errors.
func decode(key Key, doc json.RawMessage) (spec, error) {
	k, err := key.Namespace.kind()
	if err != nil {
		return nil, err
	}
	tree, err := parse(doc)
	if err != nil {
		return nil, invalid(key, err)
	}
	s, err := k.read(tree)
	if err != nil {
		return nil, invalid(key, err)
	}
	return s, nil
}

// hashOf returns the content hash of a sealed document.
func hashOf(doc json.RawMessage) string {
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:])
}

// invalid wraps an error with the document that it is about.
func invalid(key Key, err error) error {
	return fmt.Errorf("%w: %s: %w", awaken.ErrInvalid, key, err)
}

// read decodes and validates an open document, and fills in the defaults.
func (k *kind) read(tree map[string]any) (spec, error) {
	if err := k.checkHints(tree); err != nil {
		return nil, err
	}
	s := k.new()
	if err := strict.Unmarshal(encode(tree), s); err != nil {
		if u := errors.Unwrap(err); u != nil && strings.HasPrefix(err.Error(), k.what+": ") {
			err = u
		}
		return nil, err
	}
	k.fill(s)
	if err := k.check(s); err != nil {
		return nil, err
	}
	return s, nil
}

// checkHints refuses obsolete field names.
func (k *kind) checkHints(tree map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		if hint, ok := k.hints[name]; ok {
			return fmt.Errorf("unknown field %q, did you mean %s?", name, hint)
		}
	}
	return nil
}

// normalise returns an open document with its defaults filled in.
func (k *kind) normalise(tree map[string]any) (map[string]any, error) {
	s, err := k.read(tree)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return parse(data)
}

// parse parses one JSON object. Duplicate names are errors, and numbers keep their
// spelling.
func parse(data []byte) (map[string]any, error) {
	var v any
	if err := strict.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, fmt.Errorf("found a JSON %s, want an object", jsonType(v))
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var tree map[string]any
	return tree, dec.Decode(&tree)
}

// parseOptional is parse, but an absent document is an empty object.
func parseOptional(data []byte) (map[string]any, error) {
	if d := bytes.TrimSpace(data); len(d) == 0 || bytes.Equal(d, []byte("null")) {
		return map[string]any{}, nil
	}
	return parse(data)
}

// encode encodes a parsed value in canonical form.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("config: %v", err)) // the value was parsed from JSON
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// clone returns a deep copy of a parsed value.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = clone(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = clone(e)
		}
		return l
	}
	return v
}

// jsonType returns JSON's name for the type of a value.
func jsonType(v any) string {
	switch v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "bool"
	case nil:
		return "null"
	}
	return "number"
}
