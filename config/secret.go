package config

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

const (
	// hidden is shown to clients in place of a secret. Writing it back keeps the secret.
	hidden = "***"
	// refName is the only name in an object that refers to a secret.
	refName = "$secret"
)

// sameEntries reports whether every list on a path is as long as before, and its entry on
// the path equal but for secrets.
func sameEntries(now, before map[string]any, path []string) bool {
	for i := range path {
		list, ok := lookup(now, path[:i]).([]any)
		if !ok {
			continue
		}
		old, _ := lookup(before, path[:i]).([]any)
		return len(list) == len(old) && reflect.DeepEqual(lookup(now, path[:i+1]), lookup(before, path[:i+1]))
	}
	return true
}

// IsSecret reports whether a string at a path of a document is a secret. The path lists the
// names of fields from the root of the document down.
func IsSecret(ns Namespace, path []string) bool {
	k := kinds[ns]
	return k != nil && k.holdsSecrets(path)
}

// mask returns a copy with hidden in place of every secret and every reference.
func (k *kind) mask(tree map[string]any) map[string]any {
	tree = clone(tree).(map[string]any)
	visit(tree, nil, k.secret, func([]string, any) any { return hidden })
	return tree
}

// redact returns what clients see of a sealed document. Secrets are ***, except that a
// provider has has_api_key instead, an MCP server has_env and env_keys, and an A2A server
// has_auth. A client can write back what it reads.
func redact(ns Namespace, doc json.RawMessage) (json.RawMessage, error) {
	k, err := ns.kind()
	if err != nil {
		return nil, err
	}
	tree, err := parse(doc)
	if err != nil {
		return nil, err
	}
	tree = k.mask(tree)
	if k.show != nil {
		k.show(tree)
	}
	if k.unseen != "" {
		_, tree["has_"+k.unseen] = tree[k.unseen]
		delete(tree, k.unseen)
	}
	return encode(tree), nil
}

// redactPatch is redact for sealed overrides.
func redactPatch(ns Namespace, patch json.RawMessage) (json.RawMessage, error) {
	k, err := ns.kind()
	if err != nil {
		return nil, err
	}
	tree, err := parseOptional(patch)
	if err != nil {
		return nil, err
	}
	return encode(k.mask(tree)), nil
}

// secretsOf returns the references in a sealed document or in sealed overrides, sorted.
func secretsOf(doc json.RawMessage) []string {
	tree, _ := parseOptional(doc)
	return references(tree)
}

func references(tree map[string]any) []string {
	found := map[string]bool{}
	visit(tree, nil, nil, func(_ []string, v any) any {
		if ref, ok := reference(v); ok {
			found[ref] = true
		}
		return v
	})
	return slices.Sorted(maps.Keys(found))
}

// reference returns the reference that an object stands for, if it is one.
func reference(v any) (string, bool) {
	m, _ := v.(map[string]any)
	ref, ok := m[refName].(string)
	return ref, ok && len(m) == 1
}

// visit replaces parts of a document by what fn returns for them: every object with
// refName, and every non-empty string at or below a path that secret reports. It also
// replaces a number whose name can only mean a secret.
func visit(v any, path []string, secret func([]string) bool, fn func(path []string, v any) any) any {
	return visitor{secret, fn}.value(v, path, false)
}

type visitor struct {
	secret func([]string) bool
	fn     func(path []string, v any) any
}

func (w visitor) value(v any, path []string, secret bool) any {
	if !secret && w.secret != nil && len(path) > 0 {
		secret = w.secret(path)
	}
	path = slices.Clip(path)
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v[refName]; ok && len(path) > 0 {
			return w.fn(path, v)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			v[name] = w.value(v[name], append(path, name), secret)
		}
	case []any:
		for i := range v {
			v[i] = w.value(v[i], append(path, strconv.Itoa(i)), secret)
		}
	case string:
		if secret && v != "" {
			return w.fn(path, v)
		}
	case json.Number:
		if secret && slices.Contains([]string{"api_key", "apikey", "password", "passwd", "private_key", "secret", "token"}, path[len(path)-1]) {
			return w.fn(path, v)
		}
	}
	return v
}

// lookup returns the value at a path, or nil.
func lookup(v any, path []string) any {
	for _, name := range path {
		switch at := v.(type) {
		case map[string]any:
			v = at[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

// pointer returns a path as a JSON Pointer.
func pointer(path []string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}

// place returns a path in the dotted form of error texts.
func place(path []string) string { return strings.Join(path, ".") }
