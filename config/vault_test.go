package config

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
)

func vault(t *testing.T, keys ...string) *Vault {
	t.Helper()
	v, err := NewVault(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVault_DecryptsWhatItEncrypts(t *testing.T) {
	v := vault(t, NewKey())
	for _, plain := range []string{"", "s", strings.Repeat("long ", 10_000), "\x00\xff"} {
		s := v.Encrypt("providers/p#/api_key", awaken.NewSecret(plain))
		got, err := v.Decrypt("providers/p#/api_key", s)
		if err != nil || got.Expose() != plain {
			t.Errorf("%q: got %q, %v", plain, got.Expose(), err)
		}
		if len(plain) > 3 && bytes.Contains(s.Data, []byte(plain[:4])) {
			t.Error("it is not encrypted")
		}
	}
}

// The same secret is never the same twice, and cannot be moved or changed.
func TestVault_BindsSecretsToTheirPlace(t *testing.T) {
	v := vault(t, NewKey())
	a, b := v.Encrypt("r", awaken.NewSecret("s")), v.Encrypt("r", awaken.NewSecret("s"))
	if bytes.Equal(a.Data, b.Data) {
		t.Error("two are the same")
	}
	if _, err := v.Decrypt("other", a); err == nil {
		t.Error("it was moved")
	}
	for i := range a.Data {
		changed := SealedSecret{KeyID: a.KeyID, Data: bytes.Clone(a.Data)}
		changed.Data[i] ^= 1
		if _, err := v.Decrypt("r", changed); err == nil {
			t.Fatalf("byte %d was changed", i)
		}
	}
	if _, err := v.Decrypt("r", SealedSecret{KeyID: a.KeyID}); err == nil {
		t.Error("there is nothing")
	}
}

func TestVault_Rotates(t *testing.T) {
	first, second := NewKey(), NewKey()
	old := vault(t, first)
	s := old.Encrypt("r", awaken.NewSecret("s"))
	both := vault(t, second, first)
	got, err := both.Decrypt("r", s)
	if err != nil || got.Expose() != "s" {
		t.Fatalf("%v, %v", got.Expose(), err)
	}
	if s.KeyID != old.keyID() || s.KeyID == both.keyID() {
		t.Errorf("keys are %s, %s, %s", s.KeyID, old.keyID(), both.keyID())
	}
	s = both.Encrypt("r", got)
	if got, err = vault(t, second).Decrypt("r", s); err != nil || got.Expose() != "s" {
		t.Errorf("%v, %v", got.Expose(), err)
	}
	if _, err = old.Decrypt("r", s); !errors.Is(err, ErrNoKey) || !strings.Contains(err.Error(), s.KeyID) {
		t.Error(err)
	}
}

func TestNewVault_Keys(t *testing.T) {
	raw := bytes.Repeat([]byte{0xfb}, 32) // has + and / in base64
	id := vault(t, hex.EncodeToString(raw)).keyID()
	for _, text := range []string{base64.StdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw), " " + strings.ToUpper(hex.EncodeToString(raw)) + "\n"} {
		if v := vault(t, text); v.keyID() != id {
			t.Errorf("%s: another key", text)
		}
	}
	for _, keys := range [][]string{{}, {""}, {"password"}, {hex.EncodeToString(raw[1:])}, {hex.EncodeToString(raw), base64.StdEncoding.EncodeToString(raw)}} {
		_, err := NewVault(keys...)
		if err == nil {
			t.Errorf("%q is taken", keys)
		}
		for _, k := range keys {
			if err != nil && k != "" && strings.Contains(err.Error(), k) {
				t.Errorf("the key is in %v", err)
			}
		}
	}
}

func TestKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if _, err := OpenVault(file); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := AddKey(file); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	first, err := OpenVault(file)
	if err != nil {
		t.Fatal(err)
	}
	s := first.Encrypt("r", awaken.NewSecret("s"))
	if err := AddKey(file); err != nil {
		t.Fatal(err)
	}
	second, err := OpenVault(file)
	if err != nil || second.keyID() == first.keyID() {
		t.Fatalf("%v, %v", second, err)
	}
	if got, err := second.Decrypt("r", s); err != nil || got.Expose() != "s" {
		t.Errorf("%v, %v", got.Expose(), err)
	}
	for content, want := range map[string]string{"": "has no key", "# a comment\n\n": "has no key", "short\n": "secrets key 1 of 1: it is 5 characters that are not a key"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenVault(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
		if err := AddKey(file); err == nil {
			t.Errorf("%q: a key was added to a file that is none of keys", content)
		}
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenVault(file); err == nil || !strings.Contains(err.Error(), "has the permissions 0640, want 0600 or 0400") {
		t.Error(err)
	}
	if _, err := OpenVault(filepath.Dir(file)); err == nil {
		t.Error("a folder is a key file")
	}
}

// A vault of a file knows a key that was put into the file later.
func TestVault_LooksAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := AddKey(file); err != nil {
		t.Fatal(err)
	}
	old, err := OpenVault(file)
	if err != nil {
		t.Fatal(err)
	}
	first := old.Encrypt("agents/a#/x", awaken.NewSecret("one"))
	if err := AddKey(file); err != nil {
		t.Fatal(err)
	}
	now, err := OpenVault(file)
	if err != nil {
		t.Fatal(err)
	}
	second := now.Encrypt("agents/a#/x", awaken.NewSecret("two"))
	for want, sealed := range map[string]SealedSecret{"one": first, "two": second} {
		if got, err := old.Decrypt("agents/a#/x", sealed); err != nil || got.Expose() != want {
			t.Errorf("%q, %v, want %q", got.Expose(), err, want)
		}
	}
	if old.keyID() != now.keyID() {
		t.Error("it goes on to encrypt with the old key")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Decrypt("agents/a#/x", SealedSecret{KeyID: "other"}); !errors.Is(err, ErrNoKey) {
		t.Errorf("error is %v, want ErrNoKey", err)
	}
	if got, err := old.Decrypt("agents/a#/x", first); err != nil || got.Expose() != "one" {
		t.Errorf("without the file: %q, %v", got.Expose(), err)
	}
}
