package httpguard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"8.8.8.8", "1.1.1.1", "93.184.216.34", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2606:4700:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8", "64:ff9b::808:808", "2001:200::1"} {
		if !Public(netip.MustParseAddr(s)) {
			t.Errorf("%s is not public", s)
		}
	}
	for _, s := range []string{"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.168.1.1",
		"192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "168.63.129.16",
		"::", "::1", "::2", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1",
		"fd00:ec2::254", "ff02::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "3fff::1", "4000::1", "5f00::1", "2606:4700::1%eth0"} {
		if Public(netip.MustParseAddr(s)) {
			t.Errorf("%s is public", s)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// names is a fake resolver; each lookup of a name takes the next of its answers.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string
	asked   []string
}

func (n *names) LookupNetIP(_ context.Context, _, host string) (out []netip.Addr, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, host)
	a := n.answers[host]
	if len(a) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(a) > 1 {
		n.answers[host] = a[1:]
	}
	for _, s := range a[0] {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

// world is a server behind every public address, and a record of what was dialled.
type world struct {
	*httptest.Server
	names *names

	mu     sync.Mutex
	dialed []string
}

func newWorld(t *testing.T, h http.HandlerFunc) *world {
	w := &world{Server: httptest.NewServer(h), names: &names{answers: map[string][][]string{
		"good.example":   {{"93.184.216.34"}},
		"other.example":  {{"93.184.216.35"}},
		"six.example":    {{"2606:4700::1"}},
		"private":        {{"10.0.0.1"}},
		"localhost":      {{"127.0.0.1", "::1"}},
		"mixed.example":  {{"93.184.216.34", "127.0.0.1"}},
		"mapped.example": {{"::ffff:127.0.0.1"}},
		"meta.example":   {{"169.254.169.254"}},
		"rebind.example": {{"93.184.216.34"}, {"127.0.0.1"}},
		"none.example":   {{}},
	}}}
	t.Cleanup(w.Close)
	return w
}

func (w *world) client(o Options) *http.Client {
	o.Resolver = w.names
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		w.mu.Lock()
		w.dialed = append(w.dialed, address)
		w.mu.Unlock()
		return (&net.Dialer{}).DialContext(ctx, network, w.Listener.Addr().String())
	}
	return New(o)
}

func TestClient_ReachesPublicAddressesOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "hello") })
	c := w.client(Options{})
	for _, u := range []string{"http://good.example/", "http://good.example.:8080/", "http://six.example/", "http://93.184.216.34/", "http://[2606:4700::1]/"} {
		w.names.answers["good.example."] = [][]string{{"93.184.216.34"}}
		resp, err := c.Get(u)
		if err != nil {
			t.Errorf("%s: %v", u, err)
			continue
		}
		resp.Body.Close()
	}
	n := len(w.dialed)
	for _, u := range []string{"http://private/", "http://localhost/", "http://mixed.example/", "http://mapped.example/", "http://meta.example/", "http://none.example/", "http://127.0.0.1/", "http://[::1]/", "http://[::ffff:127.0.0.1]/",
		"http://169.254.169.254/latest/meta-data", "http://[fd00:ec2::254]/", "http://0.0.0.0/", "http://[::]/", "http://[fe80::1%25eth0]/", "http://user:pw@good.example/", "ftp://good.example/", "file:///etc/passwd", "gopher://good.example/"} {
		resp, err := c.Get(u)
		if err == nil {
			resp.Body.Close()
			t.Errorf("%s was reached", u)
		} else if !errors.Is(err, ErrAddress) {
			t.Errorf("%s: %v", u, err)
		}
	}
	// Not every resolver takes these for names; the client takes them for nothing else.
	for _, u := range []string{"http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/"} {
		if resp, err := c.Get(u); err == nil {
			resp.Body.Close()
			t.Errorf("%s was reached", u)
		}
	}
	if len(w.dialed) != n {
		t.Errorf("connections were made to %v", w.dialed[n:])
	}
}

func TestClient_DialsWhatItChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) { rw.Header().Set("Connection", "close") })
	c := w.client(Options{})
	resp, err := c.Get("http://rebind.example/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if len(w.names.asked) != 1 || len(w.dialed) != 1 || w.dialed[0] != "93.184.216.34:80" {
		t.Errorf("asked for %v, dialled %v", w.names.asked, w.dialed)
	}
	if resp, err := c.Get("http://rebind.example/"); !errors.Is(err, ErrAddress) {
		if err == nil {
			resp.Body.Close()
		}
		t.Errorf("the second time: %v", err)
	}
}

func TestClient_Redirects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(rw, r, to, http.StatusFound)
			return
		}
		_, _ = io.WriteString(rw, r.Header.Get("Authorization"))
	})
	c := w.client(Options{Redirects: 2})
	get := func(u string) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer x")
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err == nil && strings.Contains(u, "other") && len(data) > 0 {
			return fmt.Errorf("the other host was told %q", data)
		}
		return err
	}
	again := func(n int) string {
		u := "http://good.example/"
		for range n {
			u = "http://good.example/?to=" + url.QueryEscape(u)
		}
		return u
	}
	for n, want := range map[int]error{0: nil, 1: nil, 2: nil, 3: ErrRedirect} {
		if err := get(again(n)); !errors.Is(err, want) {
			t.Errorf("%d redirects: %v, want %v", n, err, want)
		}
	}
	if err := get("http://good.example/?to=http://other.example/"); err != nil {
		t.Error(err)
	}
	for _, to := range []string{"http://127.0.0.1/", "http://private/", "http://meta.example/", "http://[::ffff:7f00:1]/", "file:///etc/passwd", "http://u:p@good.example/"} {
		if err := get("http://good.example/?to=" + url.QueryEscape(to)); !errors.Is(err, ErrAddress) {
			t.Errorf("redirect to %s: %v", to, err)
		}
	}
	c = w.client(Options{Redirects: -1})
	if err := get(again(1)); !errors.Is(err, ErrRedirect) {
		t.Errorf("a redirect where none is allowed: %v", err)
	}
	down := newGuard(Options{})
	from, _ := http.NewRequest(http.MethodGet, "https://good.example/", nil)
	to, _ := http.NewRequest(http.MethodGet, "http://good.example/", nil)
	if err := down.redirect(to, []*http.Request{from}); !errors.Is(err, ErrRedirect) {
		t.Errorf("from https to http: %v", err)
	}
}

func TestClient_Allow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(http.ResponseWriter, *http.Request) {})
	c := w.client(Options{Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("127.0.0.1/32")}, Hosts: []string{"private", "mapped.example", "*.example", "10.0.1.1"}})
	for u, want := range map[string]error{
		"http://private/": nil, "http://mapped.example/": nil, "http://good.example/": nil, "http://meta.example/": ErrAddress,
		"http://localhost/": ErrAddress, "http://10.0.1.1/": ErrAddress, "http://example/": ErrAddress, "http://evilexample/": ErrAddress, "http://private.evil/": ErrAddress,
	} {
		resp, err := c.Get(u)
		if err == nil {
			resp.Body.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", u, err, want)
		}
	}
}

func TestClient_Sizes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/chunks" {
			rw.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(rw, strings.Repeat("a", len(r.URL.Query().Get("n"))))
	})
	c := w.client(Options{MaxBytes: 10})
	for n := range 13 {
		for _, path := range []string{"/", "/chunks"} {
			var data []byte
			resp, err := c.Get("http://good.example" + path + "?n=" + strings.Repeat("a", n))
			if err == nil {
				data, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if n <= 10 && (err != nil || len(data) != n) || n > 10 && !errors.Is(err, ErrTooLarge) || len(data) > 10 {
				t.Errorf("%s with %d bytes: %d bytes, %v", path, n, len(data), err)
			}
		}
	}
}

func TestClient_Times(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			rw.(http.Flusher).Flush()
		}
		<-hold
	})
	defer close(hold)
	for path, o := range map[string]Options{"/headers": {Headers: 20 * time.Millisecond}, "/body": {Timeout: 20 * time.Millisecond}} {
		resp, err := w.client(o).Get("http://good.example" + path)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestClient_Proxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://proxy.example:1")
	t.Setenv("http_proxy", "http://proxy.example:1")
	var hosts []string
	w := newWorld(t, func(_ http.ResponseWriter, r *http.Request) { hosts = append(hosts, r.URL.Host) })
	resp, err := w.client(Options{}).Get("http://good.example/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if w.dialed[0] != "93.184.216.34:80" {
		t.Errorf("without a proxy it dialled %v", w.dialed)
	}
	proxied := w.client(Options{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "10.9.9.9:3128"})})
	if resp, err = proxied.Get("http://good.example/"); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if w.dialed[1] != "10.9.9.9:3128" || hosts[1] != "good.example" {
		t.Errorf("with a proxy it dialled %v for %v", w.dialed, hosts)
	}
	if resp, err := proxied.Get("http://meta.example/"); !errors.Is(err, ErrAddress) {
		if err == nil {
			resp.Body.Close()
		}
		t.Errorf("through a proxy: %v", err)
	}
}

// FuzzPublic compares the classifier with the standard library, in every spelling of an address.
func FuzzPublic(f *testing.F) {
	for _, s := range []string{"8.8.8.8", "127.0.0.1", "::ffff:10.0.0.1", "fe80::1", "64:ff9b::7f00:1", "2002:7f00:1::", "169.254.169.254", "ff02::1", "::", "100.64.0.1"} {
		a := netip.MustParseAddr(s).As16()
		f.Add(a[:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		u := a.Unmap()
		if Public(a) != Public(u) {
			t.Errorf("%s and %s differ", a, u)
		}
		if Public(a) && (u.IsLoopback() || u.IsPrivate() || u.IsLinkLocalUnicast() || u.IsMulticast() || u.IsUnspecified() || u.IsInterfaceLocalMulticast() || !u.IsGlobalUnicast()) {
			t.Errorf("%s is public", a)
		}
		if u.Is4() {
			four := u.As4()
			for _, way := range []string{"::ffff:%02x%02x:%02x%02x", "64:ff9b::%02x%02x:%02x%02x"} {
				other := netip.MustParseAddr(fmt.Sprintf(way, four[0], four[1], four[2], four[3]))
				if Public(other) && !Public(u) {
					t.Errorf("%s is public by way of %s", u, other)
				}
			}
			if sixToFour := netip.MustParseAddr(fmt.Sprintf("2002:%02x%02x:%02x%02x::", four[0], four[1], four[2], four[3])); Public(sixToFour) {
				t.Errorf("%s is public", sixToFour)
			}
			if compatible := netip.MustParseAddr(fmt.Sprintf("::%02x%02x:%02x%02x", four[0], four[1], four[2], four[3])); Public(compatible) {
				t.Errorf("%s is public", compatible)
			}
		}
		if Public(a.WithZone("eth0")) && a.Is6() {
			t.Errorf("%s with a zone is public", a)
		}
	})
}

// Without TLS, only the addresses of Allow are reached: not public ones, not those that a second lookup gives, and not by a redirect.
func TestClient_RequireTLS(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Connection", "close")
		if r.URL.Path == "/away" {
			http.Redirect(rw, r, "http://good.example/", http.StatusTemporaryRedirect)
		}
	})
	w.names.answers["flips.example"] = [][]string{{"10.0.0.1"}, {"93.184.216.34"}}
	c := w.client(Options{RequireTLS: true, Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	get := func(u string) error {
		resp, err := c.Get(u)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	for _, u := range []string{"http://private/", "http://10.0.0.1/", "http://flips.example/"} {
		if err := get(u); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
	n := len(w.dialed)
	for _, u := range []string{"http://good.example/", "http://93.184.216.34/", "http://localhost/", "http://flips.example/"} {
		if err := get(u); !errors.Is(err, ErrAddress) {
			t.Errorf("%s: %v, want %v", u, err, ErrAddress)
		}
	}
	if len(w.dialed) != n {
		t.Errorf("connections were made to %v", w.dialed[n:])
	}
	if err := get("http://private/away"); !errors.Is(err, ErrAddress) {
		t.Errorf("a redirect: %v, want %v", err, ErrAddress)
	}
	// https is dialled; that the server behind it speaks none is another error.
	if err := get("https://good.example/"); err == nil || errors.Is(err, ErrAddress) {
		t.Errorf("https: %v, want an error of TLS", err)
	}
}
