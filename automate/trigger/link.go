package trigger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/awaken-go/awaken/automate/webhook"
)

// Link is a signed URL that fires a trigger.
type Link struct {
	Tenant  string
	ID      string
	Expires time.Time // whole seconds; the zero time means never
}

// Sign returns the query of the URL, including its signature.
func (l Link) Sign(secret string) string {
	q := url.Values{"signature": {l.signature(secret)}}
	if l.Tenant != "" {
		q.Set("tenant", l.Tenant)
	}
	if !l.Expires.IsZero() {
		q.Set("expires", strconv.FormatInt(l.Expires.Unix(), 10))
	}
	return q.Encode()
}

func (l Link) signature(secret string) string {
	var expires int64
	if !l.Expires.IsZero() {
		expires = l.Expires.Unix()
	}
	mac := hmac.New(sha256.New, webhook.Key(secret))
	fmt.Fprintf(mac, "awaken trigger\n%d:%s\n%d:%s\n%d", len(l.Tenant), l.Tenant, len(l.ID), l.ID, expires)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// LinkOf parses the query of a request to the trigger with the given ID. It does not verify the signature.
func LinkOf(id string, query url.Values) (Link, error) {
	l := Link{Tenant: query.Get("tenant"), ID: id}
	if text := query.Get("expires"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds <= 0 || strconv.FormatInt(seconds, 10) != text {
			return Link{}, fmt.Errorf("expires is %.40q, want seconds since 1970", text)
		}
		l.Expires = time.Unix(seconds, 0)
	}
	return l, nil
}

// Verify reports whether one of the secrets made the signature of the link. It does not check whether the link has expired.
func (l Link) Verify(signature string, secrets ...string) bool {
	ok := false
	for _, secret := range secrets {
		ok = hmac.Equal([]byte(signature), []byte(l.signature(secret))) || ok
	}
	return ok
}
