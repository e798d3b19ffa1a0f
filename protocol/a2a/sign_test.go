package a2a_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol/a2a"
)

// A card is signed with the key that is configured: a signature over the card without it, with sorted names.
func TestCard_Signed(t *testing.T) {
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for alg, key := range map[string]any{"EdDSA": ed, "ES256": ec} {
		t.Run(alg, func(t *testing.T) {
			der, err := x509.MarshalPKCS8PrivateKey(key)
			if err != nil {
				t.Fatal(err)
			}
			text := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
			if _, err := a2a.Routes(a2a.Config{CardKey: awaken.NewSecret(text)}); err == nil {
				t.Error("the key signs every host that a request names")
			}
			g := newRigWith(t, a2a.Config{CardKey: awaken.NewSecret(text), URL: "https://agents.example"}, nil)
			_, card := g.Ask("GET", g.URL+"/.well-known/agent-card.json", "")
			var doc map[string]any
			g.decode([]byte(card), &doc)
			signed := doc["signatures"].([]any)[0].(map[string]any)
			delete(doc, "signatures")
			var payload bytes.Buffer
			enc := json.NewEncoder(&payload) // sorts names
			enc.SetEscapeHTML(false)
			if err := enc.Encode(doc); err != nil {
				t.Fatal(err)
			}
			protected := signed["protected"].(string)
			message := []byte(protected + "." + base64.RawURLEncoding.EncodeToString(bytes.TrimSpace(payload.Bytes())))
			signature, err := base64.RawURLEncoding.DecodeString(signed["signature"].(string))
			if err != nil {
				t.Fatal(err)
			}
			var header struct{ Alg, Kid, Typ string }
			data, err := base64.RawURLEncoding.DecodeString(protected)
			if err != nil || json.Unmarshal(data, &header) != nil || header.Alg != alg || header.Kid == "" {
				t.Errorf("%s %v", data, err)
			}
			sum := sha256.Sum256(message)
			ok := false
			if alg == "EdDSA" {
				ok = ed25519.Verify(ed.Public().(ed25519.PublicKey), message, signature)
			} else {
				ok = ecdsa.Verify(&ec.PublicKey, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
			}
			if !ok {
				t.Errorf("the signature is not valid: %s", card)
			}
		})
	}
	for _, bad := range []string{"x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := a2a.Routes(a2a.Config{CardKey: awaken.NewSecret(bad), URL: "https://agents.example"}); err == nil {
			t.Errorf("%q is a key", bad)
		}
	}
}

// The extended card is for clients with its token, and lists every exposed agent.
func TestCard_Extended(t *testing.T) {
	g := newRigWith(t, a2a.Config{Agents: []string{"default", "slow"}, ExtendedCardToken: awaken.NewSecret("s3cret"), RequireKey: true, URL: "https://agents.example/"}, nil)
	g.rpc = true
	if r := g.ask("GetExtendedAgentCard", map[string]any{}); r.reason != "" {
		t.Errorf("a client with a key: %+v", r)
	}
	g.rpc = false
	t.Run("REST", func(t *testing.T) {
		for _, auth := range []string{"", "Bearer wrong", "s3cret "} {
			if r := g.ask("GetExtendedAgentCard", map[string]any{}, "Authorization", auth); r.reason != "UNAUTHENTICATED" || !g.rpc && r.status != 401 {
				t.Errorf("%q: %+v", auth, r)
			}
		}
		var card a2a.Card
		g.decode(g.ask("GetExtendedAgentCard", map[string]any{}, "Authorization", "Bearer s3cret").result, &card)
		if len(card.Skills) != 2 || card.Skills[1].ID != "slow" || !card.Capabilities.ExtendedAgentCard || len(card.Requirements) != 1 || card.Interfaces[0].URL != "https://agents.example/v1/a2a" {
			t.Errorf("%+v", card)
		}
	})
}
