package oauth

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParseDemand holds that no header of a server makes a demand that cannot be used: scopes are words, and few.
func FuzzParseDemand(f *testing.F) {
	for _, h := range []string{`Bearer`, `Bearer realm="x", scope="a b", resource_metadata="https://h/m"`, `Basic realm="x", Bearer error="insufficient_scope", scope="a"`,
		`Bearer scope="a`, `"`, `Bearer a=b,,c`, `DPoP algs="ES256", resource_metadata="https://h"`, "Bearer scope=\"" + strings.Repeat("s ", 500) + "\""} {
		f.Add(h)
	}
	f.Fuzz(func(t *testing.T, h string) {
		d := parseDemand([]string{h, "Bearer scope=own"})
		if len(d.scopes) > maxScopes || len(d.scopes) == 0 {
			t.Errorf("%d scopes", len(d.scopes))
		}
		for _, s := range d.scopes {
			if s == "" || len(strings.Fields(s)) != 1 {
				t.Errorf("scope %q", s)
			}
		}
	})
}

// FuzzParseIssued holds that an answer becomes a token only if it has one that can be sent in a header, and that errors
// quote no token.
func FuzzParseIssued(f *testing.F) {
	for _, s := range []string{`{"access_token":"tokenvalue","token_type":"Bearer","expires_in":60,"refresh_token":"r","scope":"a b"}`, `{"access_token":"tokenvalue","token_type":"mac"}`,
		`{"error":"invalid_grant","error_description":"no"}`, `{"access_token":"token\nvalue","token_type":"bearer"}`, `{"access_token":"tokenvalue","token_type":"bearer","expires_in":1e999}`, `[]`, ``} {
		f.Add(200, s)
		f.Add(400, s)
	}
	f.Fuzz(func(t *testing.T, status int, s string) {
		out, err := parseIssued(status, []byte(s))
		var v struct {
			Access string `json:"access_token"`
		}
		_ = json.Unmarshal([]byte(s), &v)
		if err != nil {
			if r, ok := errors.AsType[*refusal](err); !ok && len(v.Access) > 8 && strings.Contains(err.Error(), v.Access) && !strings.Contains(s, `"token_type"`) {
				t.Errorf("the error quotes the token: %v, %v", err, r)
			}
			return
		}
		if status != http.StatusOK || out.access == "" || out.lasts < 0 || out.lasts > maxLasts || !utf8.ValidString(out.access) {
			t.Errorf("%+v", out)
		}
		if err := (&http.Request{Header: http.Header{"Authorization": {"Bearer " + out.access}}}).Header.Write(httptest.NewRecorder()); err != nil {
			t.Error(err)
		}
	})
}

// FuzzOpenState holds that only states of the broker are accepted.
func FuzzOpenState(f *testing.F) {
	sealer, err := NewSealer(make([]byte, 32))
	if err != nil {
		f.Fatal(err)
	}
	b := &Broker{cfg: Config{Sealer: sealer}}
	own, err := b.state(&Server{ID: "s"}, Owner{Tenant: "t", User: "u"}, "id")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own)
	f.Add("")
	f.Add(own[:len(own)-2])
	f.Fuzz(func(t *testing.T, state string) {
		ref, s, o, err := b.open(state)
		switch {
		case state == own && (err != nil || ref.ID != "id" || s.ID != "s" || o.User != "u" || o.Tenant != "t"):
			t.Errorf("%+v, %v", ref, err)
		case err == nil && ref != (stateRef{Server: "s", Grant: PerUser, Tenant: "t", User: "u", ID: "id"}):
			t.Errorf("%q is accepted: %+v", state, ref)
		}
	})
}

// FuzzCheckAddress holds that endpoints are addresses of HTTPS, or of this machine.
func FuzzCheckAddress(f *testing.F) {
	if checkAddress("http://127.evil.example/") == nil {
		f.Error("a name that looks like an address is accepted")
	}
	for _, s := range []string{"https://h/p", "http://127.0.0.1:1/p", "http://127.evil.example/", "javascript:x", "http://h", "https://u:p@h", "http://[::1]/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if s == "" || checkAddress(s) != nil {
			return
		}
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "https" && (u.Scheme != "http" || u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback()) {
			t.Errorf("%q is accepted", s)
		}
	})
}
