package config

import (
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

const (
	// hidden is what clients see of a secret. Where one is stored, writing it keeps the
	// secret.
	hidden = "***"
	// refName is the only name in the object that stands for a secret.
	refName = "$secret"
)

// server is where a document sends the secret in a place; "" if nobody knows.
func (k *kind) server(tree map[string]any, path []string) string {
	if k.to == nil || len(k.to) > 1 && path[0] != k.to[0] {
		return ""
	}
	return origin(lookup(tree, k.to))
}

// servers returns where a sealed document sends its secrets, by reference.
func (k *kind) servers(tree map[string]any) map[string]string {
	out := map[string]string{}
	visit(tree, nil, nil, func(path []string, v any) any {
		if ref, ok := reference(v); ok {
			out[ref] = k.server(tree, path)
		}
		return v
	})
	return out
}

// origin is the scheme, the host and the port of an address.
func origin(v any) string {
	text, _ := v.(string)
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// sameEntries reports whether the lists on the way to a place are as long as they were, and
// the entries on the way are the same but for their secrets.
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

// IsSecret reports whether a text in that place of a document is a secret.
func IsSecret(ns Namespace, path []string) bool {
	k := kinds[ns]
	if k == nil || k.secret == nil {
		return false
	}
	for i := range path {
		if k.secret(path[:i+1]) {
			return true
		}
	}
	return false
}

// mask returns a copy with hidden in the place of every secret and every reference.
func (k *kind) mask(tree map[string]any) map[string]any {
	tree = clone(tree).(map[string]any)
	visit(tree, nil, k.secret, func([]string, any) any { return hidden })
	return tree
}

// redact returns what clients see of a sealed document. Secrets are ***, except that a
// provider has has_api_key, an MCP server has has_env and env_keys, and an A2A server has
// has_auth instead. A client can write back what it has seen.
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

// reference returns what an object refers to, if it is a reference.
func reference(v any) (string, bool) {
	m, _ := v.(map[string]any)
	ref, ok := m[refName].(string)
	return ref, ok && len(m) == 1
}

// visit replaces what is in a document by what fn returns for it: every object that has
// refName, and every text, "" excepted, at and below a place that secret reports. A number
// is, too, if its name can mean nothing but a secret.
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

// lookup returns what is in a place, nil if nothing is.
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

// pointer is a place as a JSON Pointer.
func pointer(path []string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}

// place is a place as people write it.
func place(path []string) string { return strings.Join(path, ".") }
