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

// Vault encrypts and decrypts secrets with AES-256-GCM. What is encrypted is bound to its
// reference, so that it cannot be put in the place of another. A Vault is safe for
// concurrent use.
//
// The first key encrypts, and all of them decrypt. A key is replaced by putting a new one
// in front, encrypting everything again ([Manager.Rotate]), and removing the old one. A
// vault of a file looks into it again when it meets a key that it does not know.
type Vault struct {
	file string // "" if there is none
	keys atomic.Pointer[[]vaultKey]
}

type vaultKey struct {
	id   string
	aead cipher.AEAD
}

// ErrNoKey means that a secret is encrypted with a key that the vault does not have.
var ErrNoKey = errors.New("the key that it is encrypted with is not there")

const keyBytes = 32

// NewVault returns a vault with these keys, each 32 bytes, written in hex or base64.
func NewVault(keys ...string) (*Vault, error) {
	if len(keys) == 0 {
		return nil, errors.New("a vault needs a key")
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
			return nil, fmt.Errorf("secrets key %d of %d is there twice", i+1, len(keys))
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

// parseKey reads a key. Its errors do not hold it.
func parseKey(text string) ([]byte, error) {
	if raw, err := hex.DecodeString(text); err == nil && len(raw) == keyBytes {
		return raw, nil
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if raw, err := enc.DecodeString(text); err == nil && len(raw) == keyBytes {
			return raw, nil
		}
	}
	return nil, fmt.Errorf("it is %d characters that are not a key, want 32 random bytes in base64 (44 characters) or hex (64 characters)", len(text))
}

// OpenVault returns a vault with the keys of a file: one on a line, the first encrypts.
// Empty lines and those that begin with # do not count. Nobody but the owner may be able to
// read or write the file.
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
		return nil, fmt.Errorf("%s is not a file", file)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("%s has the permissions %04o, want 0600 or 0400: others can read the keys of all secrets", file, mode)
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
		return nil, fmt.Errorf("%s has no key", file)
	}
	v, err := NewVault(keys...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	v.file = file
	return v, nil
}

// find returns a key.
func (v *Vault) find(id string) (vaultKey, bool) {
	known := func(k vaultKey) bool { return k.id == id }
	keys := *v.keys.Load()
	i := slices.IndexFunc(keys, known)
	if i < 0 && v.file != "" {
		if now, err := OpenVault(v.file); err == nil {
			v.keys.Store(now.keys.Load())
			keys = *v.keys.Load()
			i = slices.IndexFunc(keys, known)
		}
	}
	if i < 0 {
		return vaultKey{}, false
	}
	return keys[i], true
}

// NewKey returns a random key.
func NewKey() string {
	raw := make([]byte, keyBytes)
	rand.Read(raw)
	return base64.StdEncoding.EncodeToString(raw)
}

// AddKey puts a new random key in front of those of a file, which is made if it is not
// there; fs.ErrExist means that another process made it meanwhile. The file is replaced as a
// whole, or not at all.
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
	tmp, err := os.CreateTemp(filepath.Dir(file), ".key-*") // 0600
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
			return err // another process may have been faster: its key must not be lost
		}
	}
	return os.Rename(tmp.Name(), file)
}

// keyID is the id of the key that encrypts.
func (v *Vault) keyID() string { return (*v.keys.Load())[0].id }

// Encrypt returns a secret that is encrypted for that reference. Revision and UpdatedAt are
// left to the caller.
func (v *Vault) Encrypt(ref string, secret awaken.Secret) SealedSecret {
	k := (*v.keys.Load())[0]
	return SealedSecret{KeyID: k.id, Data: k.aead.Seal(nil, nil, []byte(secret.Expose()), []byte(ref))}
}

// Decrypt returns a secret. ErrNoKey means that its key is not there.
func (v *Vault) Decrypt(ref string, s SealedSecret) (awaken.Secret, error) {
	if k, ok := v.find(s.KeyID); ok {
		plain, err := k.aead.Open(nil, nil, s.Data, []byte(ref))
		if err != nil {
			return awaken.Secret{}, fmt.Errorf("secret %s was changed, or is of another place", ref)
		}
		return awaken.NewSecret(string(plain)), nil
	}
	return awaken.Secret{}, fmt.Errorf("secret %s: %w (its id is %s)", ref, ErrNoKey, s.KeyID)
}

// Rotate encrypts every secret with the vault's first key, and returns how many were
// encrypted with another one.
func (m *Manager) Rotate(ctx context.Context, by Actor) (int, error) {
	vault := m.o.Vault
	if vault == nil {
		return 0, fmt.Errorf("%w: this server has no key for secrets: set secrets.key_file or secrets.key", awaken.ErrInvalid)
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
			next.Revision, next.UpdatedAt, next.Server = sealed.Revision, sealed.UpdatedAt, sealed.Server
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
