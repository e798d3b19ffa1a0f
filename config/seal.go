package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
)

// sealed is a document, or overrides, without its secrets.
type sealed struct {
	// Doc is sealed. Overrides with nothing in them are nil.
	Doc json.RawMessage
	// Secrets are those that are new, or have a new value, by reference.
	Secrets map[string]awaken.Secret
}

// seal checks a document as written that is to replace a stored one (sealed, or nil), puts
// its defaults in and takes its secrets out. The errors are awaken.ErrInvalid.
//
// What is said about secrets:
//
//   - A text in a place for a secret is a new one. "" is none.
//   - "***" keeps the secret that is stored in that place, and is an error where none is. So
//     is it in a list that has changed, because it could be the secret of another entry.
//   - The api_key of a provider, the env of an MCP server and the auth of an A2A server are
//     not shown to clients. They stay if they are left out; null and "" clear them.
//   - A secret does not stay when its server is another: when the scheme, host or port of the
//     base_url or url that it is sent to changes, it has to be written again. Whoever could
//     send it elsewhere could read it.
//   - A reference is like "***" in its own place, and an error anywhere else: whoever could
//     write one could read any secret.
//
// Secrets are: those three; the token in the endpoint of an agent; headers in the adapter_options
// of providers, the config of MCP servers, and the options of A2A servers and endpoints;
// and whatever text has a name like api_key, password or token, or is below one, in these,
// and in the backend and the sections of an agent.
func seal(key Key, doc, stored json.RawMessage) (*sealed, error) {
	if err := CheckID(key); err != nil {
		return nil, err
	}
	k := kinds[key.Namespace]
	s, err := k.seal(key, doc, stored)
	if err != nil {
		return nil, invalid(key, err)
	}
	return s, nil
}

func (k *kind) seal(key Key, doc, stored json.RawMessage) (*sealed, error) {
	tree, before, err := parseWritten(doc, stored)
	if err != nil {
		return nil, err
	}
	switch id, ok := tree["id"].(string); {
	case tree["id"] == nil, ok && blank(id):
		return nil, fmt.Errorf("missing 'id' field in body")
	case ok && id != key.ID:
		return nil, fmt.Errorf("id is %q, want %q, which is the id that is written to", id, key.ID)
	}
	if k.update != nil {
		if err := k.update(tree); err != nil {
			return nil, err
		}
	}
	masked := k.mask(before)
	if k.unseen != "" {
		delete(tree, "has_"+k.unseen)
		keepAbsent(tree, masked, k.unseen)
	}
	if k.keep != nil {
		k.keep(tree, masked)
	}
	if tree, err = k.normalise(tree); err != nil {
		return nil, err
	}
	return k.takeOut(key.String()+"#", tree, before)
}

// parseWritten reads what a client wrote and what it replaces, which is sealed or nil. What
// was written has hidden in the place of the references that are stored there.
func parseWritten(written, stored json.RawMessage) (tree, before map[string]any, err error) {
	if tree, err = parse(written); err != nil {
		return nil, nil, err
	}
	if before, err = parseOptional(stored); err != nil {
		return nil, nil, fmt.Errorf("what is stored: %w", err)
	}
	return tree, before, hideReferences(tree, before)
}

// keepAbsent keeps a field that the document says nothing about. Null and "" clear it.
func keepAbsent(tree, stored map[string]any, field string) {
	v, ok := tree[field]
	switch old, was := stored[field]; {
	case ok && (v == nil || v == ""):
		delete(tree, field)
	case !ok && was:
		tree[field] = clone(old)
	}
}

// hideReferences replaces references by hidden. One that is not stored in its place is an
// error.
func hideReferences(tree, stored map[string]any) error {
	var err error
	visit(tree, nil, nil, func(path []string, v any) any {
		ref, isRef := reference(v)
		if old, ok := reference(lookup(stored, path)); !isRef || !ok || old != ref {
			err = fmt.Errorf("%s refers to a secret that is not stored there: write the secret itself", place(path))
		}
		return hidden
	})
	return err
}

// takeOut replaces the secrets of a normalised document by references.
func (k *kind) takeOut(prefix string, tree, before map[string]any) (*sealed, error) {
	s := &sealed{Secrets: map[string]awaken.Secret{}}
	masked, maskedBefore := k.mask(tree), k.mask(before)
	var errs mistakes
	visit(tree, nil, k.secret, func(path []string, v any) any {
		value, isText := v.(string)
		if !isText {
			errs.add("%s is a JSON %s, want a string, because it is kept as a secret", place(path), jsonType(v))
			return v
		}
		ref := prefix + pointer(path)
		if value == hidden {
			old, ok := reference(lookup(before, path))
			switch {
			case !ok:
				errs.add("%s is %q, but no secret is stored there: write the secret itself", place(path), hidden)
			case k.server(tree, path) != k.server(before, path):
				errs.add("%s is another server, and the secret in %s was for the one before: write it again, or clear it with null", place(k.to), place(path))
			case !sameEntries(masked, maskedBefore, path):
				errs.add("%s is %q in a list that has changed, so that it is not clear which secret is meant: write the secret itself", place(path), hidden)
			}
			return map[string]any{refName: old}
		}
		s.Secrets[ref] = awaken.NewSecret(value)
		return map[string]any{refName: ref}
	})
	if errs != nil {
		return nil, errs.join()
	}
	s.Doc = encode(tree)
	return s, nil
}

// unseal puts the secrets into a sealed document of that name. Lookup returns the secret of
// a reference.
func unseal(key Key, doc json.RawMessage, lookup func(ref string) (awaken.Secret, error)) (json.RawMessage, error) {
	tree, err := parse(doc)
	if err != nil {
		return nil, invalid(key, err)
	}
	var errs mistakes
	visit(tree, nil, nil, func(path []string, v any) any {
		ref, ok := reference(v)
		if !ok {
			return v
		}
		if !strings.HasPrefix(ref, key.String()+"#") {
			errs.add("%s: %s refers to the secret of another document", key, place(path))
			return v
		}
		secret, err := lookup(ref)
		if err != nil {
			errs.add("%s: the secret in %s: %w", key, place(path), err)
		}
		return secret.Expose()
	})
	if errs != nil {
		return nil, errs.join()
	}
	return encode(tree), nil
}
