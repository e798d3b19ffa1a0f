package egress_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/egress"
)

// A host is compared by one spelling, so that no way to write it passes or evades a list.
func TestHost(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://go.dev/x?y=1":            "go.dev",
		"https://GO.dev":                  "go.dev",
		"https://go.dev./":                "go.dev",
		"https://go.dev..":                "",
		"https://go.dev:443/":             "go.dev",
		"http://go.dev:80":                "go.dev",
		"http://go.dev:443":               "go.dev:443",
		"http://go.dev:080":               "go.dev:80",
		"https://go.dev:":                 "go.dev",
		"https://go.dev:8443":             "go.dev:8443",
		"https://go.dev@evil.test/":       "evil.test",
		"https://go.dev%40evil.test/":     "",
		"https://go.dev#@evil.test/":      "go.dev",
		"https://evil.test/go.dev":        "evil.test",
		"https://evil.test?go.dev":        "evil.test",
		"http://[::ffff:10.0.0.1]/":       "10.0.0.1",
		"http://[2001:DB8:0::1]:8080/":    "[2001:db8::1]:8080",
		"http://[fe80::1%25eth0]/":        "",
		"http://2130706433/":              "2130706433",
		"http://0x7f.1/":                  "0x7f.1",
		"https://bücher.test/":            "",
		"https://xn--bcher-kva.test/":     "xn--bcher-kva.test",
		"https://go\u3002dev/":            "",
		"ftp://go.dev/":                   "",
		"go.dev":                          "",
		"http:go.dev":                     "",
		"http:///go.dev":                  "",
		`https://evil.test\@go.dev/`:      "",
		"https://go.dev\tevil.test/":      "",
		"https://.go.dev/":                "",
		"//go.dev/":                       "",
		"https://go.dev:99999999999999/x": "",
	} {
		if got := egress.Of(address); got != want {
			t.Errorf("the host of %s is %q, want %q", address, got, want)
		}
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	list := []string{"go.dev", "*.example.test", "10.0.0.1:8080", "[2001:db8::1]:8080"}
	for host, want := range map[string]bool{
		"go.dev": true, "go.dev:8443": false, "x.go.dev": false, "notgo.dev": false, "go.dev.evil.test": false,
		"a.example.test": true, "a.b.example.test": true, "example.test": false, "badexample.test": false, "a.example.test:81": false, ".example.test": false,
		"10.0.0.1:8080": true, "10.0.0.1": false, "[2001:db8::1]:8080": true, "": false,
	} {
		if got := egress.Allows(list, host); got != want {
			t.Errorf("allows %q: %t", host, got)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"go.dev", "*.go.dev", "go.dev:8443", "*.go.dev:8443", "10.0.0.1", "10.0.0.1:80", "2001:db8::1", "[2001:db8::1]:8080", "localhost", "xn--bcher-kva.test"} {
		if err := egress.Check(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "*", "*.", "Go.dev", "go.dev.", "https://go.dev", "go.dev/x", "bücher.test", "go.*", "*.10.0.0.1", "go.dev:", "go.dev:x", "go.dev:080",
		"a@go.dev", "go dev", "**.go.dev", "::ffff:10.0.0.1", "2001:DB8::1", "fe80::1%eth0", "go..dev"} {
		if err := egress.Check(bad); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Bounds within bounds all apply.
func TestPermit(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	go1, evil := &url.URL{Scheme: "https", Host: "go.dev"}, &url.URL{Scheme: "https", Host: "evil.test"}
	if egress.Permit(ctx, evil) != nil {
		t.Error("a context without bounds has some")
	}
	ctx = egress.With(ctx, []string{"go.dev", "evil.test"})
	if egress.Permit(ctx, evil) != nil || egress.Permit(ctx, &url.URL{Scheme: "https", Host: "other.test"}) == nil {
		t.Error("the bounds do not hold")
	}
	ctx = egress.With(ctx, []string{"go.dev", "other.test"})
	if egress.Permit(ctx, go1) != nil || egress.Permit(ctx, evil) == nil || egress.Permit(ctx, &url.URL{Scheme: "https", Host: "other.test"}) == nil {
		t.Error("inner bounds replace outer ones")
	}
	if egress.Permit(egress.Free(ctx), evil) != nil {
		t.Error("a run within the call is bound, too")
	}
	if egress.Permit(egress.With(ctx, nil), go1) == nil {
		t.Error("no host is a bound, too")
	}
}
