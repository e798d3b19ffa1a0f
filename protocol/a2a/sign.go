package a2a

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

// Signature is a signature of a card, a JSON Web Signature without its content.
type Signature struct {
	Protected string `json:"protected"`
	Signature string `json:"signature"`
}

// signer signs cards.
type signer struct {
	key       crypto.Signer
	protected string
}

// newSigner returns a signer with a key, or nil if there is none.
func newSigner(secret awaken.Secret) (*signer, error) {
	if secret.IsZero() {
		return nil, nil
	}
	block, _ := pem.Decode([]byte(secret.Expose()))
	if block == nil {
		return nil, errors.New("a2a: the key of the cards is not PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("a2a: the key of the cards is not a private key in PKCS #8")
	}
	alg := ""
	switch k := parsed.(type) {
	case ed25519.PrivateKey:
		alg = "EdDSA"
	case *ecdsa.PrivateKey:
		if k.Curve == elliptic.P256() {
			alg = "ES256"
		}
	}
	if alg == "" {
		return nil, errors.New("a2a: the key of the cards is of another kind, want Ed25519 or ECDSA P-256")
	}
	key := parsed.(crypto.Signer)
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("a2a: the key of the cards: %w", err)
	}
	header := fmt.Sprintf(`{"alg":%q,"kid":"%x","typ":"JOSE"}`, alg, sha256.Sum256(public))
	return &signer{key: key, protected: base64.RawURLEncoding.EncodeToString([]byte(header))}, nil
}

// sign signs a card, if there is a key.
func (c *Config) sign(card *Card) error {
	if c.signer == nil {
		return nil
	}
	payload, err := canonicalCard(card)
	if err != nil {
		return err
	}
	text := []byte(c.signer.protected + "." + base64.RawURLEncoding.EncodeToString(payload))
	var signature []byte
	switch key := c.signer.key.(type) {
	case ed25519.PrivateKey:
		signature = ed25519.Sign(key, text)
	case *ecdsa.PrivateKey:
		sum := sha256.Sum256(text)
		r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
		if err != nil {
			return err
		}
		signature = make([]byte, 64)
		r.FillBytes(signature[:32])
		s.FillBytes(signature[32:])
	}
	card.Signatures = []Signature{{Protected: c.signer.protected, Signature: base64.RawURLEncoding.EncodeToString(signature)}}
	return nil
}

// canonicalCard returns a card without its signatures as RFC 8785 writes it.
func canonicalCard(card *Card) ([]byte, error) {
	unsigned := *card
	unsigned.Signatures = nil
	data, err := json.Marshal(unsigned)
	if err != nil {
		return nil, err
	}
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	return appendCanonical(nil, doc), nil
}

// appendCanonical appends JSON without numbers as RFC 8785 writes it. The names of a card are ASCII.
func appendCanonical(buf []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		buf = append(buf, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				buf = append(buf, ',')
			}
			buf = append(appendCanonical(buf, name), ':')
			buf = appendCanonical(buf, v[name])
		}
		return append(buf, '}')
	case []any:
		buf = append(buf, '[')
		for i, e := range v {
			if i > 0 {
				buf = append(buf, ',')
			}
			buf = appendCanonical(buf, e)
		}
		return append(buf, ']')
	case string:
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(v) // a string can always be encoded
		text := strings.TrimSuffix(b.String(), "\n")
		if strings.ContainsAny(v, "\u2028\u2029") { // which encoding/json escapes
			text = strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(text)
		}
		return append(buf, text...)
	case bool:
		return fmt.Append(buf, v)
	}
	return append(buf, "null"...)
}
