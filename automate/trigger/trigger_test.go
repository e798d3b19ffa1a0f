package trigger_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/automate/trigger"
)

func TestLink_SignatureIsOfTenantTriggerAndTime(t *testing.T) {
	const secret, former = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "before"
	l := trigger.Link{Tenant: "acme", ID: "deploys", Expires: time.Unix(1_800_000_000, 0)}
	query, err := url.ParseQuery(l.Sign(secret))
	if err != nil {
		t.Fatal(err)
	}
	signature := query.Get("signature")
	if got, err := trigger.LinkOf("deploys", query); err != nil || got != l || !got.Verify(signature, former, secret) {
		t.Errorf("link %+v, %v", got, err)
	}
	for name, other := range map[string]trigger.Link{
		"tenant":  {Tenant: "acm", ID: "edeploys", Expires: l.Expires},
		"id":      {Tenant: "acme", ID: "deploy", Expires: l.Expires},
		"expires": {Tenant: "acme", ID: "deploys", Expires: l.Expires.Add(time.Second)},
		"never":   {Tenant: "acme", ID: "deploys"},
	} {
		if other.Verify(signature, secret) {
			t.Errorf("the signature is also that of another %s", name)
		}
	}
	if l.Verify(signature, former) || l.Verify(signature) || l.Verify("", secret) {
		t.Error("a signature with another secret is accepted")
	}
	for _, bad := range []string{"x", "-1", "0", "01800000000", "+1800000000"} {
		if _, err := trigger.LinkOf("deploys", url.Values{"expires": {bad}}); err == nil {
			t.Errorf("expires=%s is accepted", bad)
		}
	}
}

func TestSpec_Common(t *testing.T) {
	for _, tt := range []struct{ pointer, body, want string }{
		{"/issue/id", ` {"issue":{"id":12345678901234567890}}`, "12345678901234567890"},
		{"/issue/id", `{"issue":{"id":"a\u0062"}}`, "ab"},
		{"/a~1b/~0/0", `{"a/b":{"~":[true]}}`, "true"},
		{"/0", ` ["x"]`, "x"},
	} {
		s := trigger.Spec{ThreadFrom: tt.pointer}
		if got, err := s.Common([]byte(tt.body)); got != tt.want || err != nil {
			t.Errorf("%s of %s is %q, %v; want %q", tt.pointer, tt.body, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ pointer, body, want string }{
		{"/issue/id", `{"issue":{}}`, `the body has no "id" there`},
		{"/issue/id", `{"issue":7}`, `the body has no "id" there`},
		{"/issue", `{"issue":{}}`, `the body has "{}" there; want a text`},
		{"/issue", `{"issue":null}`, `want a text`},
		{"/1", `["x"]`, `no "1" there`},
		{"/00", `["x"]`, `no "00" there`},
		{"/a", `hello`, `no "a" there`},
		{"/a", ``, `no "a" there`},
	} {
		s := trigger.Spec{ThreadFrom: tt.pointer}
		if got, err := s.Common([]byte(tt.body)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %s is %q, %v; want an error with %s", tt.pointer, tt.body, got, err, tt.want)
		}
	}
}

func FuzzCommon(f *testing.F) {
	f.Add("/issue/id", `{"issue":{"id":"x"}}`)
	f.Add("/0/~1", `[{"/":1}]`)
	f.Fuzz(func(t *testing.T, pointer, body string) {
		s := trigger.Spec{ThreadFrom: pointer, Run: json.RawMessage(`{}`)}
		if s.Normalize() != nil || pointer == "" {
			return
		}
		_, _ = s.Common([]byte(body))
	})
}

func TestSpec_Normalize(t *testing.T) {
	run := json.RawMessage(`{}`)
	s := trigger.Spec{Run: run}
	if err := s.Normalize(); err != nil || s.PerMinute != 60 || s.MaxBytes != 65536 {
		t.Errorf("%+v, %v", s, err)
	}
	for want, s := range map[string]trigger.Spec{
		"run is missing":                    {},
		"per_minute is 601; want 1 to 600":  {Run: run, PerMinute: 601},
		"max_bytes is -1; want 1 to 1048":   {Run: run, MaxBytes: -1},
		`thread_from is "issue"; want a`:    {Run: run, ThreadFrom: "issue"},
		"description has 1025 bytes":        {Run: run, Description: strings.Repeat("x", 1025)},
		"thread_from has 300 bytes; want a": {Run: run, ThreadFrom: "/" + strings.Repeat("x", 299)},
	} {
		if err := s.Normalize(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func ExampleLink() {
	query := trigger.Link{Tenant: "acme", ID: "deploys"}.Sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	fmt.Println("https://agents.example.com/v1/triggers/deploys/fire?" + query)
	// Output:
	// https://agents.example.com/v1/triggers/deploys/fire?signature=DxJxFJKwP8NjgDK8BKn5BADEMC9tU6vImdgeFF1HxgE&tenant=acme
}
