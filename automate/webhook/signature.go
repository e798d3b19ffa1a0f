package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The headers of a signed message, by the rules of Standard Webhooks.
const (
	IDHeader        = "Webhook-Id"
	TimeHeader      = "Webhook-Timestamp"
	SignatureHeader = "Webhook-Signature"
)

// NewSecret returns a secret that signs messages.
func NewSecret() string {
	var key [24]byte
	_, _ = rand.Read(key[:]) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(key[:])
}

// Key returns the bytes of a secret. One that begins with whsec_ is base64.
func Key(secret string) []byte {
	if text, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			return decoded
		}
	}
	return []byte(secret)
}

// Sign returns the signature of a message. Seconds is when it was sent, as in its header.
func Sign(secret, id, seconds string, body []byte) string {
	mac := hmac.New(sha256.New, Key(secret))
	fmt.Fprintf(mac, "%s.%s.", id, seconds)
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Tolerance is how far the time of a message may be from now.
const Tolerance = 5 * time.Minute

// ErrSignature says that a message is not signed with a secret, or not now.
var ErrSignature = errors.New("the signature is wrong")

// Verify checks that a message, which has these headers, was signed with one of the secrets, at most [Tolerance] ago, and returns its id. Errors are [ErrSignature].
func Verify(header func(name string) string, body []byte, now time.Time, secrets ...string) (id string, err error) {
	id, seconds := header(IDHeader), header(TimeHeader)
	if id == "" || seconds == "" || header(SignatureHeader) == "" {
		return "", fmt.Errorf("%w: want the headers webhook-id, webhook-timestamp and webhook-signature", ErrSignature)
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return "", fmt.Errorf("%w: webhook-timestamp is %.40q, want seconds since 1970", ErrSignature, seconds)
	}
	if off := now.Sub(time.Unix(at, 0)).Abs(); off > Tolerance {
		return "", fmt.Errorf("%w: webhook-timestamp is %s from now, want at most %s", ErrSignature, off.Round(time.Second), Tolerance)
	}
	for _, secret := range secrets {
		want := Sign(secret, id, seconds, body)
		for given := range strings.FieldsSeq(header(SignatureHeader)) {
			if hmac.Equal([]byte(given), []byte(want)) {
				return id, nil
			}
		}
	}
	return "", fmt.Errorf("%w: webhook-signature is not that of this message", ErrSignature)
}
