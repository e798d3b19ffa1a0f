package config

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// What a secret is bound to.
//
// A secret is given for something: a key for an adapter at an address, variables for a program with its arguments, a client
// secret for an authorization server. A client that may write documents but not read secrets must not get at one by changing
// that. So every secret field is bound to the fields that say what it was given for. A write that keeps a secret, by "***" or
// by omitting it, while one of them changes is refused, and a version whose fields differ from those that the secret was
// written with, after a rollback for instance, does not get it.

// bound binds the secrets at and below a path.
type bound struct {
	at string // path of the secrets, with * for any name, such as sections/*
	// to lists the paths of the fields that the secrets are bound to, the address that they are sent to first. The * of
	// at is the name that it stands for. An object is bound by the addresses in it; see addresses.
	to []string
}

// binding is the present or former purpose that a secret is bound to.
type binding struct {
	fields map[string]any // the values of the fields, by path; those that are absent are missing
	server string         // the only thing that secrets were bound to formerly; "" if to nothing
}

// text identifies the binding.
func (b binding) text() string { return string(encode(b.fields)) }

// allows reports whether a stored secret is bound to it.
func (b binding) allows(s SealedSecret) bool {
	if s.Bound != "" {
		return s.Bound == b.text()
	}
	return s.Server == "" || s.Server == b.server
}

// changed returns the sorted names of the fields that differ between two bindings.
func (b binding) changed(from binding) []string {
	names := map[string]bool{}
	for _, pair := range [][2]map[string]any{{b.fields, from.fields}, {from.fields, b.fields}} {
		for name, v := range pair[0] {
			if other, ok := pair[1][name]; !ok || string(encode(v)) != string(encode(other)) {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// rule returns how the secret at a path is bound, with the name that the * stands for in place of it; nil if it is not.
func (k *kind) rule(path []string) [][]string {
	for _, b := range k.bound {
		at := strings.Split(b.at, "/")
		if len(path) < len(at) || !slices.EqualFunc(at, path[:len(at)], func(want, name string) bool { return want == "*" || want == name }) {
			continue
		}
		out := make([][]string, len(b.to))
		for i, to := range b.to {
			out[i] = strings.Split(to, "/")
			if j := slices.Index(out[i], "*"); j >= 0 {
				out[i][j] = path[slices.Index(at, "*")]
			}
		}
		return out
	}
	return nil
}

// binding returns what the secret at a path of a document is bound to.
func (k *kind) binding(tree map[string]any, path []string) binding {
	b := binding{fields: map[string]any{}}
	for i, to := range k.rule(path) {
		switch v := lookup(tree, to).(type) {
		case map[string]any:
			k.addresses(v, to, b.fields)
		case nil:
		default:
			b.fields[place(to)] = canonical(v)
		}
		if i == 0 && strings.HasSuffix(to[len(to)-1], "url") {
			b.server = origin(lookup(tree, to))
		}
	}
	return b
}

// bindings returns what the secrets of a sealed document are bound to, by reference.
func (k *kind) bindings(tree map[string]any) map[string]binding {
	out := map[string]binding{}
	visit(tree, nil, nil, func(path []string, v any) any {
		if ref, ok := reference(v); ok {
			out[ref] = k.binding(tree, path)
		}
		return v
	})
	return out
}

// addresses adds the fields below an object whose structure is not known that may say where a secret is sent: strings that
// are URLs, and those whose names say so.
func (k *kind) addresses(v any, path []string, to map[string]any) {
	path = slices.Clip(path)
	switch v := v.(type) {
	case map[string]any:
		if _, secret := v[refName]; secret {
			return
		}
		for name, field := range v {
			k.addresses(field, append(path, name), to)
		}
	case []any:
		for i := range v {
			k.addresses(v[i], append(path, strconv.Itoa(i)), to)
		}
	case string:
		if !k.holdsSecrets(path) && (strings.Contains(v, "://") || slices.ContainsFunc(path, isAddress)) {
			to[place(path)] = canonical(v)
		}
	}
}

// addressNames are the ends of the names of fields that hold an address or a program.
var addressNames = []string{"url", "uri", "host", "hosts", "hostname", "endpoint", "address", "server", "domain", "issuer",
	"command", "args", "program"}

// isAddress reports whether a field's name says that it holds an address or a program.
func isAddress(name string) bool {
	n := strings.ToLower(name)
	return slices.ContainsFunc(addressNames, func(word string) bool { return strings.HasSuffix(n, word) })
}

// canonical returns a value in the form in which it is compared: a URL as its scheme, host and port.
func canonical(v any) any {
	if text, ok := v.(string); ok && strings.Contains(text, "://") {
		return origin(text)
	}
	return v
}

// origin returns the scheme, host and port of a URL.
func origin(v any) string {
	text, _ := v.(string)
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// holdsSecrets reports whether strings at a path are secrets, because of the path or of one above it.
func (k *kind) holdsSecrets(path []string) bool {
	if k.secret == nil {
		return false
	}
	for i := range path {
		if k.secret(path[:i+1]) {
			return true
		}
	}
	return false
}

// isBound reports whether a stored secret is bound as a document wants it, or will be by rebind.
func (p *plan) isBound(key Key, ref string, s SealedSecret, want binding) bool {
	live := p.now.doc(key)
	return want.allows(s) && (s.Bound != "" || live == nil || live.bound[ref].text() == want.text())
}

// rebind binds the live secrets that an older program has written, which knew addresses only.
func (p *plan) rebind() {
	for ref, sealed := range p.now.secrets.sealed {
		if sealed.Bound != "" || slices.ContainsFunc(p.secrets, func(c SecretChange) bool { return c.Ref == ref }) {
			continue
		}
		doc := p.now.doc(keyOfSecret(ref))
		if doc == nil {
			continue
		}
		if b, ok := doc.bound[ref]; ok && b.allows(sealed) {
			sealed.Bound = b.text()
			p.secrets = append(p.secrets, SecretChange{Ref: ref, Secret: &sealed})
		}
	}
}

// keyOfSecret returns the document that a reference belongs to.
func keyOfSecret(ref string) Key {
	name, _, _ := strings.Cut(ref, "#")
	ns, id, _ := strings.Cut(name, "/")
	return Key{Namespace(ns), id}
}

// needsIssuer refuses the client secret of an MCP server without an issuer: the MCP server would name who gets it.
func needsIssuer(tree map[string]any) string {
	auth, _ := tree["auth"].(map[string]any)
	if auth["client_secret"] != nil && text(auth, "issuer") == "" {
		return "auth.issuer is empty, but auth.client_secret is set: want the URL of the authorization server that it is for"
	}
	return ""
}

// needsAddress refuses secrets of an endpoint without a base_url: the document of its A2A server would say who gets them.
func needsAddress(tree map[string]any) string {
	e, _ := tree["endpoint"].(map[string]any)
	if text(e, "base_url") == "" && len(references(e)) > 0 {
		return "endpoint.base_url is empty, but the endpoint has secrets: want the URL that they are for"
	}
	return ""
}
