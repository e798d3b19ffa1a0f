package config

// What a document is, and what happens to it.
//
// A document is one JSON object. It has three forms, and each function says which one it
// takes:
//
//   - As written: what a client sends. seal takes it.
//   - Sealed: as it is stored, in records, publications and the audit log. It is checked,
//     has its defaults in it, is canonical (sorted names, no blanks, so that equal documents
//     have one hash), and has {"$secret": "<reference>"} where a secret is. seal makes it;
//     [Record].effective puts overrides over it.
//   - Open: sealed, with the secrets put in by unseal. decode makes a spec of it.
//
// Clients see neither of the last two, but what redact makes of a sealed document.
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

// decode reads an open document and checks it. Unknown fields are errors.
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

// hashOf is the name of a sealed document by its content.
func hashOf(doc json.RawMessage) string {
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:])
}

// invalid says which document has a mistake.
func invalid(key Key, err error) error {
	return fmt.Errorf("%w: %s: %w", awaken.ErrInvalid, key, err)
}

// read makes a spec of an open document and checks it. What the document leaves out has
// its default.
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

// checkHints refuses names of earlier versions.
func (k *kind) checkHints(tree map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		if hint, ok := k.hints[name]; ok {
			return fmt.Errorf("unknown field %q, did you mean %s?", name, hint)
		}
	}
	return nil
}

// normalise returns an open document with its defaults in it.
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

// parse reads one JSON object. Names that appear twice are errors, and numbers stay as
// they are written.
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

// parseOptional is parse; a document that is not there has nothing in it.
func parseOptional(data []byte) (map[string]any, error) {
	if d := bytes.TrimSpace(data); len(d) == 0 || bytes.Equal(d, []byte("null")) {
		return map[string]any{}, nil
	}
	return parse(data)
}

// encode writes what was parsed, in the canonical form.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("config: %v", err)) // it was JSON before
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// clone copies what was parsed.
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

// jsonType is what JSON calls the type of a value.
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
