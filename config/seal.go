package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/check"
)

// sealed is a document, or overrides, without its secrets.
type sealed struct {
	// Doc is sealed. It is nil for empty overrides.
	Doc json.RawMessage
	// Secrets holds the new and changed secrets by reference.
	Secrets map[string]awaken.Secret
}

// seal validates a document, as written, that is to replace a stored one (sealed, or nil),
// fills in its defaults and takes its secrets out. Errors are awaken.ErrInvalid.
//
// The rules for secrets:
//
//   - A string in a secret field is a new secret. "" is none.
//   - "***" keeps the secret that is stored in that field. It is an error if none is
//     stored there, and in a list that has changed, where it could mean the secret of
//     another entry.
//   - Clients do not see the api_key of a provider, the env of an MCP server and the auth
//     of an A2A server. A write that omits them keeps them; null and "" clear them.
//   - A secret is bound to what it was given for (bound.go): if the adapter or the address
//     of a provider changes, the program or arguments of an MCP server, or whatever else
//     its field is bound to, it must be written again. Otherwise a client could read a
//     secret by redirecting it.
//   - A reference is the same as "***" in its own field, and an error anywhere else.
//     Otherwise a client could read any secret by referring to it.
//
// Secret fields are those three; token and client_secret of an agent's endpoint; headers in the
// adapter_options of providers, the config of MCP servers, and the options of A2A servers
// and endpoints; and, in all of these and in the backend and sections of an agent, every
// string at or below a name such as api_key, password or token.
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
		return nil, fmt.Errorf("id is %q, want %q, the id being written", id, key.ID)
	}
	if k.update != nil {
		if err := k.update(tree); err != nil {
			return nil, err
		}
	}
	delete(tree, "updated_at") // lists have it
	if k.omit != nil {
		k.omit(tree)
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

// parseWritten parses what a client wrote and what it replaces (sealed, or nil). Stored
// references in the former are replaced by hidden.
func parseWritten(written, stored json.RawMessage) (tree, before map[string]any, err error) {
	if tree, err = parse(written); err != nil {
		return nil, nil, err
	}
	if before, err = parseOptional(stored); err != nil {
		return nil, nil, fmt.Errorf("stored document: %w", err)
	}
	return tree, before, hideReferences(tree, before)
}

// keepAbsent keeps the stored value of a field that the document omits. Null and "" clear
// it.
func keepAbsent(tree, stored map[string]any, field string) {
	v, ok := tree[field]
	switch old, was := stored[field]; {
	case ok && (v == nil || v == ""):
		delete(tree, field)
	case !ok && was:
		tree[field] = clone(old)
	}
}

// hideReferences replaces references by hidden. A reference that is not stored in the same
// field is an error.
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
	var errs check.Problems
	visit(tree, nil, k.secret, func(path []string, v any) any {
		value, isText := v.(string)
		if !isText {
			errs.Add("%s is a JSON %s, want a string, because it is stored as a secret", place(path), jsonType(v))
			return v
		}
		ref := prefix + pointer(path)
		if value == hidden {
			old, ok := reference(lookup(before, path))
			changed := k.binding(tree, path).changed(k.binding(before, path))
			switch {
			case !ok:
				errs.Add("%s is %q, but no secret is stored there: write the secret itself", place(path), hidden)
			case len(changed) > 0:
				errs.Add("%s has changed, and the secret in %s was given for its former value: "+
					"write the secret again, or clear it with null", changed[0], place(path))
			case !sameEntries(masked, maskedBefore, path):
				errs.Add("%s is %q in a list that has changed, so the secret it stands for is ambiguous: write the secret itself", place(path), hidden)
			}
			return map[string]any{refName: old}
		}
		s.Secrets[ref] = awaken.NewSecret(value)
		return map[string]any{refName: ref}
	})
	if err := errs.Err(); err != nil {
		return nil, err
	}
	s.Doc = encode(tree)
	return s, nil
}

// unseal puts the secrets back into a sealed document. lookup returns the secret of a
// reference.
func unseal(key Key, doc json.RawMessage, lookup func(ref string) (awaken.Secret, error)) (json.RawMessage, error) {
	tree, err := parse(doc)
	if err != nil {
		return nil, invalid(key, err)
	}
	var errs check.Problems
	visit(tree, nil, nil, func(path []string, v any) any {
		ref, ok := reference(v)
		if !ok {
			return v
		}
		if !strings.HasPrefix(ref, key.String()+"#") {
			errs.Add("%s: %s refers to the secret of another document", key, place(path))
			return v
		}
		secret, err := lookup(ref)
		if err != nil {
			errs.Add("%s: the secret in %s: %w", key, place(path), err)
		}
		return secret.Expose()
	})
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return encode(tree), nil
}
