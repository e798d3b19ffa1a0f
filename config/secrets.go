package config

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/awaken-go/awaken"
)

// secrets are all secrets at one time, encrypted. They never change.
type secrets struct {
	vault  *Vault
	sealed map[string]SealedSecret
}

// with returns the secrets after changes.
func (s *secrets) with(changes []SecretChange) *secrets {
	if len(changes) == 0 {
		return s
	}
	out := &secrets{s.vault, maps.Clone(s.sealed)}
	if out.sealed == nil {
		out.sealed = map[string]SealedSecret{}
	}
	for _, c := range changes {
		if c.Secret == nil {
			delete(out.sealed, c.Ref)
		} else {
			out.sealed[c.Ref] = *c.Secret
		}
	}
	return out
}

// stamp is another one when a secret of the document is.
func (s *secrets) stamp(doc *document) string {
	var sb strings.Builder
	for _, ref := range doc.secrets {
		fmt.Fprintf(&sb, "%s=%d;", ref, s.sealed[ref].Revision)
	}
	return sb.String()
}

// has reports whether a secret of a document is there, and meant for where the document
// sends it.
func (s *secrets) has(doc *document, ref string) bool {
	sealed, ok := s.sealed[ref]
	return ok && (sealed.Server == "" || sealed.Server == doc.servers[ref])
}

// missing returns the references of a document that lead nowhere.
func (s *secrets) missing(doc *document) (refs []string) {
	for _, ref := range doc.secrets {
		if !s.has(doc, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// value decrypts a secret; awaken.ErrNotFound means that it is gone.
func (s *secrets) value(ref string) (awaken.Secret, error) {
	sealed, ok := s.sealed[ref]
	switch {
	case !ok:
		return awaken.Secret{}, fmt.Errorf("%s: %w", ref, awaken.ErrNotFound)
	case s.vault == nil:
		return awaken.Secret{}, fmt.Errorf("%s cannot be read: this server has no key for secrets: set secrets.key_file or secrets.key", ref)
	}
	return s.vault.Decrypt(ref, sealed)
}

// decode returns the spec of a document with its secrets put in. Those that are gone are
// left out.
func (s *secrets) decode(doc *document) (spec, error) {
	if len(doc.secrets) == 0 {
		return decode(doc.Key, doc.raw)
	}
	open, err := unseal(doc.Key, doc.raw, func(ref string) (awaken.Secret, error) {
		if !s.has(doc, ref) {
			return awaken.Secret{}, nil
		}
		return s.value(ref)
	})
	if err != nil {
		return nil, err
	}
	return decode(doc.Key, open)
}

// scrub takes the secrets of a document out of an error.
func (s *secrets) scrub(doc *document, err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, ref := range doc.secrets {
		if v, vErr := s.value(ref); vErr == nil {
			text = scrub(text, v.Expose())
		}
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// scrub replaces a secret in a text.
func scrub(text, secret string) string {
	if len(secret) < 4 {
		return text // it would make holes everywhere, and is no secret
	}
	return strings.ReplaceAll(text, secret, "***")
}
