package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

// secrets is an immutable set of all secrets, encrypted.
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

// stamp identifies the revisions of a document's secrets.
func (s *secrets) stamp(doc *document) string {
	var sb strings.Builder
	for _, ref := range doc.secrets {
		fmt.Fprintf(&sb, "%s=%d;", ref, s.sealed[ref].Revision)
	}
	return sb.String()
}

// has reports whether a secret of a document exists and is bound to what the document uses
// it for.
func (s *secrets) has(doc *document, ref string) bool {
	sealed, ok := s.sealed[ref]
	return ok && doc.bound[ref].allows(sealed)
}

// missing returns the references of a document that cannot be resolved.
func (s *secrets) missing(doc *document) []string {
	return slices.DeleteFunc(slices.Clone(doc.secrets), func(ref string) bool { return s.has(doc, ref) })
}

// value decrypts a secret, or returns awaken.ErrNotFound.
func (s *secrets) value(ref string) (awaken.Secret, error) {
	sealed, ok := s.sealed[ref]
	switch {
	case !ok:
		return awaken.Secret{}, fmt.Errorf("%s: %w", ref, awaken.ErrNotFound)
	case s.vault == nil:
		return awaken.Secret{}, fmt.Errorf("%s cannot be read: this server has no secrets key: set secrets.key_file or secrets.key", ref)
	}
	return s.vault.Decrypt(ref, sealed)
}

// decode returns the spec of a document with its secrets. Missing ones are empty.
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

// scrub removes the secrets of a document from an error.
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
		return text // too short to be a secret, and likely part of ordinary words
	}
	return strings.ReplaceAll(text, secret, "***")
}
