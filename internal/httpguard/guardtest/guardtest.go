// Package guardtest tests that a sender of requests to configured addresses reaches only the public internet: it gives the sender a client
// with names and connections of its own, and a corpus of addresses to try.
package guardtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken/internal/httpguard"
)

// private are addresses that must not be reached: of this machine, of private networks, and of the services of clouds.
var private = []string{"127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "169.254.170.2", "100.100.100.200", "0.0.0.0", "192.0.0.192", "168.63.129.16", "224.0.0.1"}

// spellings returns the ways to write an IPv4 address that some program understands.
func spellings(address string) []string {
	a := netip.MustParseAddr(address).As4()
	n := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
	return []string{
		address,
		address + ".",
		fmt.Sprint(n),
		fmt.Sprintf("0x%x", n),
		fmt.Sprintf("0%o", n),
		fmt.Sprintf("0x%x.0x%x.0x%x.0x%x", a[0], a[1], a[2], a[3]),
		fmt.Sprintf("0%o.0%o.0%o.0%o", a[0], a[1], a[2], a[3]),
		fmt.Sprintf("%03d.%03d.%03d.%03d", a[0], a[1], a[2], a[3]),
		fmt.Sprintf("%d.%d", a[0], n&0xffffff),
		fmt.Sprintf("%d.%d.%d", a[0], a[1], n&0xffff),
		fmt.Sprintf("[::ffff:%s]", address),
		fmt.Sprintf("[::ffff:%x:%x]", n>>16, n&0xffff),
		fmt.Sprintf("[::%x:%x]", n>>16, n&0xffff),
		fmt.Sprintf("[::ffff:0:%x:%x]", n>>16, n&0xffff),
		fmt.Sprintf("[64:ff9b::%x:%x]", n>>16, n&0xffff),
		fmt.Sprintf("[64:ff9b:1::%x:%x]", n>>16, n&0xffff),
		fmt.Sprintf("[2002:%x:%x::1]", n>>16, n&0xffff),
		strings.NewReplacer("0", "０", "1", "１", "2", "２", "6", "６", "9", "９").Replace(address), // fullwidth digits
		strings.ReplaceAll(address, ".", "。"),                                                  // an ideographic full stop
		strings.ReplaceAll(address, ".", "-") + ".names.example",                               // a name that says what it resolves to
	}
}

// hosts are further hosts that must not be reached.
var hosts = []string{
	"[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[fe80::1]", "[fe80::1%25eth0]", "[fec0::1]", "[fc00::1]", "[fd00:ec2::254]", "[fd20:ce::254]", "[ff02::1]", "[2001::1]", "[2001:db8::1]", "[3fff::1]", "[100::1]", "[5f00::1]",
	"localhost", "LOCALHOST", "localhost.", "localhost.localdomain", "ip6-localhost", "a.localhost", "private", "private.", "PRIVATE", "mixed.example", "six.private.example", "mapped.example",
	"metadata.google.internal", "metadata.google.internal.", "metadata", "instance-data", "kubernetes.default.svc", "host.docker.internal", "none.example", "unknown.example",
	"ⓛocalhost", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "xn--localhost-.example", "loc%61lhost", "ｌｏｃａｌｈｏｓｔ",
}

// Corpus returns addresses that must not be reached.
func Corpus() (out []string) {
	for _, a := range private {
		for _, s := range spellings(a) {
			out = append(out, "http://"+s+"/")
		}
		out = append(out, "https://"+a+"/", "http://"+a+":8080/latest/meta-data/", "http://public.example@"+a+"/", "http://public.example:80@"+a+"/", "http://user:pw@"+a+"/", "http://"+a+"#@public.example/", "http://"+a+"?@public.example/",
			"http://public.example/redirect?to="+url.QueryEscape("http://"+a+"/"), "http://public.example/redirect?to="+url.QueryEscape("//"+a+"/"))
	}
	for _, h := range hosts {
		out = append(out, "http://"+h+"/", "http://"+h+":2375/")
	}
	return append(out, "http://user:pw@public.example/", "file:///etc/passwd", "gopher://127.0.0.1:6379/_INFO", "ftp://127.0.0.1/", "unix:///var/run/docker.sock", "data:text/plain,x", "javascript:alert(1)", "http:127.0.0.1", "http:///", "http://", "//127.0.0.1/",
		"http://127.0.0.1\\@public.example/", "http://public.example\\@127.0.0.1/", "http://127.0.0.1%2f@public.example/", "http://127.0.0.1%00.public.example/", "http:// 127.0.0.1/", "http://127.0.0.1:-1/", "http://127.0.0.1:65536/", "http://[::1/", "http://[127.0.0.1]/", "")
}

// Public are addresses that can be reached.
var Public = []string{"http://public.example/", "http://public.example:8080/path", "http://93.184.216.34/", "http://[2606:4700::1]/"}

// world is the internet of a test: every address that is dialled leads to one server, which redirects where it is told.
type world struct {
	server *httptest.Server

	mu       sync.Mutex
	dialed   []netip.AddrPort
	requests int
}

// LookupNetIP implements [httpguard.Resolver]. It understands whatever some resolver of the C library does.
func (*world) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if below, ok := strings.CutSuffix(name, ".names.example"); ok {
		if a, err := netip.ParseAddr(strings.ReplaceAll(below, "-", ".")); err == nil {
			return []netip.Addr{a}, nil
		}
	}
	switch name {
	case "public.example":
		return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
	case "mixed.example":
		return []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("10.0.0.1")}, nil
	case "six.private.example":
		return []netip.Addr{netip.MustParseAddr("fd00::1")}, nil
	case "mapped.example":
		return []netip.Addr{netip.MustParseAddr("::ffff:127.0.0.1")}, nil
	case "metadata.google.internal", "metadata", "instance-data":
		return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
	case "none.example":
		return nil, nil
	case "unknown.example":
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if a, ok := numeric(name); ok {
		return []netip.Addr{a}, nil
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil // what else a hostile name resolves to
}

// numeric parses an address as inet_aton does: one to four numbers, decimal, octal or hexadecimal.
func numeric(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	var n uint64
	for i, p := range parts {
		if len(p) == 3 && len(s) == len("010.000.000.001") {
			p = cmp.Or(strings.TrimLeft(p, "0"), "0") // some read these as decimal
		}
		v, err := strconv.ParseUint(p, 0, 32)
		if err != nil || len(parts) > 4 {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			n |= v << (24 - 8*i)
		} else {
			n |= v
		}
	}
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), true
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("dialled %q, which is no checked address: %w", address, err)
	}
	w.mu.Lock()
	w.dialed = append(w.dialed, at)
	w.mu.Unlock()
	if !httpguard.Public(at.Addr()) {
		return nil, errors.New("this must not be dialled")
	}
	return (&net.Dialer{}).DialContext(ctx, network, w.server.Listener.Addr().String())
}

// made returns how many requests the server has got.
func (w *world) made() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests
}

// Test lets a sender try all addresses of the corpus. Reach makes the sender send one request to an address with a client, and returns when the request was
// made or refused. Options are what the sender chooses of the client; the names and connections are those of the test.
func Test(t *testing.T, o httpguard.Options, reach func(t *testing.T, client *http.Client, address string)) {
	t.Helper()
	w := &world{}
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.requests++
		w.mu.Unlock()
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(rw, r, to, http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(w.server.Close)
	o.Resolver, o.Dial = w, w.dial
	client := httpguard.New(o)
	seen := map[string]bool{}
	for _, address := range Corpus() {
		seen[address] = true
		reach(t, client, address)
		w.mu.Lock()
		for _, at := range w.dialed {
			if !httpguard.Public(at.Addr()) {
				t.Errorf("%q made it dial %s", address, at)
			}
		}
		w.dialed = nil
		w.mu.Unlock()
	}
	if len(seen) < 200 {
		t.Errorf("the corpus has %d addresses, want at least 200", len(seen))
	}
	for _, address := range Public {
		before := w.made()
		if reach(t, client, address); w.made() == before {
			t.Errorf("%q was not reached", address)
		}
	}
	t.Logf("%d addresses, %d requests to the public internet", len(seen), w.made())
}
