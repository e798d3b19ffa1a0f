package deliver

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/internal/httpguard"
	"github.com/awaken-go/awaken/internal/httpguard/guardtest"
	"github.com/awaken-go/awaken/mailbox"
)

// No hook makes a sender reach anything but the public internet, even if its URL was not checked when it was set.
func TestSender_Corpus(t *testing.T) {
	t.Parallel()
	guardtest.Test(t, httpguard.Options{}, func(t *testing.T, client *http.Client, address string) {
		s, err := New(Config{Store: new(webhook.Memory), Mailbox: new(mailbox.Mailbox), Client: client})
		if err != nil {
			t.Fatal(err)
		}
		if a := s.post(t.Context(), &webhook.Target{URL: address, Secret: "s"}, "r.1.1", []byte("{}"), "application/json"); a.Error == "" && a.Status != http.StatusOK {
			t.Errorf("%q: %+v", address, a)
		}
	})
}

// A URL is refused when it is set, if it is plain from it that it leads elsewhere.
func TestSender_CheckURL(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Store: new(webhook.Memory), Mailbox: new(mailbox.Mailbox), Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, address := range guardtest.Corpus() {
		if s.CheckURL(address) != nil {
			refused++
		}
	}
	if all := len(guardtest.Corpus()); refused < all*9/10 {
		t.Errorf("%d of %d are refused", refused, all)
	}
	for _, address := range []string{"https://public.example/", "https://public.example:8443/told?x=1", "https://public.example:65535/", "https://public.example:/", "https://93.184.216.34/"} {
		if err := s.CheckURL(address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, port := range []string{"0", "65536", "99999", "18446744073709551617"} {
		if err := s.CheckURL("https://public.example:" + port + "/"); err == nil || err.Error() != "url has the port "+port+", want 1 to 65535" {
			t.Errorf("port %s: %v", port, err)
		}
	}
	if err := s.CheckURL("http://public.example/"); err == nil {
		t.Error("a receiver without TLS")
	}
}

// Networks that are allowed may be reached without TLS, and no others.
func TestSender_CheckURL_Allow(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Store: new(webhook.Memory), Mailbox: new(mailbox.Mailbox), Timeout: time.Second, Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"http://10.1.2.3/":          "",
		"https://10.1.2.3/":         "",
		"https://93.184.216.34/":    "",
		"http://93.184.216.34/":     "url has the scheme http, want https; http is for networks that the operator allows (outbound.tenants_allow)",
		"http://10.2.0.1/":          `url names the host "10.2.0.1", which is not on the public internet; the operator can allow its network (outbound.tenants_allow)`,
		"http://localhost/":         `url names the host "localhost", which is not on the public internet; the operator can allow its network (outbound.tenants_allow)`,
		"http://receiver.internal/": "", // what the name stands for is checked with every delivery
	} {
		got := ""
		if err := s.CheckURL(address); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	a := s.post(t.Context(), &webhook.Target{URL: "http://93.184.216.34/", Headers: map[string]string{"Authorization": "x"}}, "r.1.1", []byte("{}"), "application/json")
	if !strings.Contains(a.Error, "93.184.216.34, which may be reached by https only") {
		t.Errorf("the delivery ended with %q", a.Error)
	}
}
