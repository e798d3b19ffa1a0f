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

// The headers of a message, as defined by Standard Webhooks.
const (
	IDHeader        = "Webhook-Id"
	TimeHeader      = "Webhook-Timestamp"
	SignatureHeader = "Webhook-Signature"
)

// NewSecret returns a random signing secret.
func NewSecret() string {
	var key [24]byte
	_, _ = rand.Read(key[:]) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(key[:])
}

// Key returns the key bytes of a secret. If the secret begins with whsec_, the rest is base64.
func Key(secret string) []byte {
	if text, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			return decoded
		}
	}
	return []byte(secret)
}

// Sign returns the signature of a message. Seconds is the value of its timestamp header.
func Sign(secret, id, seconds string, body []byte) string {
	mac := hmac.New(sha256.New, Key(secret))
	fmt.Fprintf(mac, "%s.%s.", id, seconds)
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Tolerance is the greatest accepted difference between a message's timestamp and now.
const Tolerance = 5 * time.Minute

// ErrSignature reports that no accepted secret signed the message, or that its timestamp is outside [Tolerance].
var ErrSignature = errors.New("the signature is wrong")

// Verify checks that one of the secrets signed the message and that its timestamp is within [Tolerance] of now, and returns the message ID.
// Errors are [ErrSignature].
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
