package config

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/awaken-go/awaken"
)

// Vault encrypts and decrypts secrets with AES-256-GCM. The ciphertext is bound to the
// secret's reference, so that it cannot stand in for another secret. A Vault is safe for
// concurrent use.
//
// The first key encrypts; all of them decrypt. To replace a key, put a new one in front,
// encrypt everything again with [Manager.Rotate], and remove the old one. A vault that was
// opened from a file reads the file again when it meets an unknown key.
type Vault struct {
	file string // "" if the keys do not come from a file
	keys atomic.Pointer[[]vaultKey]
}

type vaultKey struct {
	id   string
	aead cipher.AEAD
}

// ErrNoKey means that the vault does not have the key that a secret is encrypted with.
var ErrNoKey = errors.New("encryption key is not available")

const keyBytes = 32

// NewVault returns a vault with these keys, each 32 bytes in hex or base64.
func NewVault(keys ...string) (*Vault, error) {
	if len(keys) == 0 {
		return nil, errors.New("secrets key is missing")
	}
	var all []vaultKey
	for i, text := range keys {
		raw, err := parseKey(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("secrets key %d of %d: %w", i+1, len(keys), err)
		}
		sum := sha256.Sum256(append([]byte("awaken secrets key\x00"), raw...))
		id := hex.EncodeToString(sum[:8])
		if slices.ContainsFunc(all, func(k vaultKey) bool { return k.id == id }) {
			return nil, fmt.Errorf("secrets key %d of %d is a duplicate", i+1, len(keys))
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		all = append(all, vaultKey{id, aead})
	}
	v := &Vault{}
	v.keys.Store(&all)
	return v, nil
}

// parseKey parses a key. Its errors do not contain the key.
func parseKey(text string) ([]byte, error) {
	if raw, err := hex.DecodeString(text); err == nil && len(raw) == keyBytes {
		return raw, nil
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if raw, err := enc.DecodeString(text); err == nil && len(raw) == keyBytes {
			return raw, nil
		}
	}
	return nil, fmt.Errorf("not a valid key (%d characters), want 32 random bytes in base64 (44 characters) or hex (64 characters)", len(text))
}

// OpenVault returns a vault with the keys of a file, one per line; the first encrypts.
// Empty lines and lines that begin with # are ignored. Only the owner may have access to
// the file.
func OpenVault(file string) (*Vault, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("%s has permissions %04o, want 0600 or 0400: other users can read the secrets keys", file, mode)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	var keys []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			keys = append(keys, line)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s contains no key", file)
	}
	v, err := NewVault(keys...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	v.file = file
	return v, nil
}

// find returns the key with an id.
func (v *Vault) find(id string) (vaultKey, bool) {
	known := func(k vaultKey) bool { return k.id == id }
	keys := *v.keys.Load()
	if !slices.ContainsFunc(keys, known) && v.file != "" {
		if now, err := OpenVault(v.file); err == nil {
			keys = *now.keys.Load()
			v.keys.Store(&keys)
		}
	}
	if i := slices.IndexFunc(keys, known); i >= 0 {
		return keys[i], true
	}
	return vaultKey{}, false
}

// NewKey returns a random key in base64.
func NewKey() string {
	raw := make([]byte, keyBytes)
	rand.Read(raw)
	return base64.StdEncoding.EncodeToString(raw)
}

// AddKey inserts a new random key before the existing keys of a file, which it creates if necessary; fs.ErrExist means that another process
// created it first. The file is replaced atomically.
func AddKey(file string) error {
	old, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if _, err := OpenVault(file); err != nil {
			return err
		}
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(append([]byte(NewKey()+"\n"), old...))
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if old == nil {
		if err := os.Link(tmp.Name(), file); err == nil || errors.Is(err, fs.ErrExist) {
			return err // never overwrite the key of another process
		}
	}
	return os.Rename(tmp.Name(), file)
}

// keyID returns the id of the key that encrypts.
func (v *Vault) keyID() string { return (*v.keys.Load())[0].id }

// Encrypt encrypts a secret for a reference. The caller sets Revision, Bound, Server and
// UpdatedAt.
func (v *Vault) Encrypt(ref string, secret awaken.Secret) SealedSecret {
	k := (*v.keys.Load())[0]
	return SealedSecret{KeyID: k.id, Data: k.aead.Seal(nil, nil, []byte(secret.Expose()), []byte(ref))}
}

// Decrypt decrypts a secret, or returns ErrNoKey.
func (v *Vault) Decrypt(ref string, s SealedSecret) (awaken.Secret, error) {
	if k, ok := v.find(s.KeyID); ok {
		plain, err := k.aead.Open(nil, nil, s.Data, []byte(ref))
		if err != nil {
			return awaken.Secret{}, fmt.Errorf("secret %s cannot be decrypted: it was altered, or belongs to another field", ref)
		}
		return awaken.NewSecret(string(plain)), nil
	}
	return awaken.Secret{}, fmt.Errorf("secret %s: %w (key id %s)", ref, ErrNoKey, s.KeyID)
}

// Rotate encrypts every secret with the vault's first key, and returns how many were
// encrypted with another one.
func (m *Manager) Rotate(ctx context.Context, by Actor) (int, error) {
	vault := m.o.Vault
	if vault == nil {
		return 0, fmt.Errorf("%w: this server has no secrets key: set secrets.key_file or secrets.key", awaken.ErrInvalid)
	}
	count := 0
	_, err := m.publisher.write(ctx, intent{by: by, resource: "secrets"}, func(_ context.Context, p *plan) error {
		count = 0
		for ref, sealed := range p.now.secrets.sealed {
			if sealed.KeyID == vault.keyID() {
				continue
			}
			value, err := p.now.secrets.value(ref)
			if err != nil {
				return err
			}
			next := vault.Encrypt(ref, value)
			next.Revision, next.UpdatedAt, next.Server, next.Bound = sealed.Revision, sealed.UpdatedAt, sealed.Server, sealed.Bound
			p.secrets = append(p.secrets, SecretChange{Ref: ref, Secret: &next})
			count++
		}
		if count == 0 {
			return nil
		}
		p.event("rotate", "secrets").After = encode(map[string]any{"secrets": count, "key_id": vault.keyID()})
		return nil
	})
	return count, err
}
