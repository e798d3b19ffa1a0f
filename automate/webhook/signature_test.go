package webhook_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/automate/webhook"
)

// The example of the specification of Standard Webhooks.
func TestSign_IsThatOfStandardWebhooks(t *testing.T) {
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	got := webhook.Sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}

func TestVerify(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	secret, other := webhook.NewSecret(), webhook.NewSecret()
	sent := func(secret, id string, at time.Time, body string) http.Header {
		seconds := strconv.FormatInt(at.Unix(), 10)
		return http.Header{webhook.IDHeader: {id}, webhook.TimeHeader: {seconds}, webhook.SignatureHeader: {"v1a,xyz " + webhook.Sign(secret, id, seconds, []byte(body))}}
	}
	with := func(h http.Header, name, value string) http.Header { h.Set(name, value); return h }
	for _, tt := range []struct {
		name string
		h    http.Header
		want string // "" if it is right
	}{
		{"right", sent(secret, "m", now.Add(-4*time.Minute), "body"), ""},
		{"former secret", sent(other, "m", now.Add(4*time.Minute), "body"), ""},
		{"another secret", sent("x", "m", now, "body"), "not that of this message"},
		{"another body", sent(secret, "m", now, "Body"), "not that of this message"},
		{"another id", with(sent(secret, "m", now, "body"), webhook.IDHeader, "n"), "not that of this message"},
		{"too old", sent(secret, "m", now.Add(-6*time.Minute), "body"), "6m0s from now, want at most 5m0s"},
		{"too new", sent(secret, "m", now.Add(6*time.Minute), "body"), "6m0s from now"},
		{"no time", with(sent(secret, "m", now, "body"), webhook.TimeHeader, "today"), `webhook-timestamp is "today"`},
		{"nothing", http.Header{}, "want the headers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id, err := webhook.Verify(tt.h.Get, []byte("body"), now, secret, other)
			if tt.want == "" && (id != "m" || err != nil) {
				t.Errorf("id %q, %v", id, err)
			}
			if tt.want != "" && (!errors.Is(err, webhook.ErrSignature) || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("m", "1800000000", "v1,abc", "body")
	f.Fuzz(func(t *testing.T, id, seconds, signature, body string) {
		h := http.Header{webhook.IDHeader: {id}, webhook.TimeHeader: {seconds}, webhook.SignatureHeader: {signature}}
		if _, err := webhook.Verify(h.Get, []byte(body), time.Unix(1_800_000_000, 0), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"); err == nil {
			t.Errorf("accepted %v", h)
		}
	})
}
