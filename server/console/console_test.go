package console

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

func small(t *testing.T, base string) *Console {
	t.Helper()
	c, err := open(fstest.MapFS{
		"index.html":      {Data: []byte(`<!doctype html><head><base href="/"></head>`)},
		"assets/app-1.js": {Data: []byte("plain")},
		"icon.svg":        {Data: []byte("<svg/>")},
	}, base)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ask returns the response of a console, or nil if it leaves the request to the server.
func ask(c *Console, method, target string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	if !c.Serve(w, r) {
		return nil
	}
	return w.Result()
}

func TestConsole_PagesAreForBrowsersAtItsOwnAddresses(t *testing.T) {
	c := small(t, "")
	for _, target := range []string{"/", "/runs", "/runs/01a1/steps/2", "/threads/a%2Fb", "/versions/3...4", "/?status=waiting"} {
		for _, method := range []string{"GET", "HEAD"} {
			res := ask(c, method, target, "Accept: "+browser)
			if res == nil || res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/html; charset=utf-8" {
				t.Errorf("%s %s: %v, want the page", method, target, res)
			}
		}
		for _, header := range []string{"Accept: application/json", "Accept: */*", "X-None: 1"} {
			if res := ask(c, "GET", target, header); res != nil {
				t.Errorf("GET %s with %s: %v, want it left to the server", target, header, res.Status)
			}
		}
		if res := ask(c, "POST", target, "Accept: "+browser); res != nil {
			t.Errorf("POST %s: %v, want it left to the server", target, res.Status)
		}
	}
	for _, target := range []string{"/v1/runs", "/v1/none", "/v2/x", "/v1", "/health", "/openapi.json", "/metrics", "/assets/none.js", "/assets/", "/index.html", "/.well-known/agent-card.json", "/unknown"} {
		if res := ask(c, "GET", target, "Accept: "+browser); res != nil {
			t.Errorf("GET %s: %v, want it left to the server", target, res.Status)
		}
	}
}

func TestConsole_RunsNoForeignCode(t *testing.T) {
	res := ask(small(t, ""), "GET", "/", "Accept: "+browser)
	csp := res.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self'", "base-uri 'self'", "form-action 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(csp, want) {
			t.Errorf("the policy is %q, want %s in it", csp, want)
		}
	}
	if strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") {
		t.Errorf("the policy is %q, want nothing unsafe", csp)
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cache-Control": "no-cache"} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestConsole_FilesOfOneNameAreKeptByBrowsers(t *testing.T) {
	c := small(t, "")
	res := ask(c, "GET", "/assets/app-1.js")
	if got := res.Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
		t.Errorf("Cache-Control of an asset is %q", got)
	}
	if got := ask(c, "GET", "/icon.svg").Header.Get("Cache-Control"); got != "no-cache" {
		t.Errorf("Cache-Control of the icon is %q", got)
	}
}

func TestConsole_CompressesForClientsThatTakeIt(t *testing.T) {
	c := small(t, "")
	for accept, want := range map[string]string{"": "", "gzip": "gzip", "gzip, deflate, br": "gzip", "br;q=0, gzip;q=0.5": "gzip", "gzip;q=0": "", "identity": "", "br": ""} {
		res := ask(c, "GET", "/assets/app-1.js", "Accept-Encoding: "+accept)
		if got := res.Header.Get("Content-Encoding"); got != want {
			t.Errorf("Accept-Encoding %q: Content-Encoding is %q, want %q", accept, got, want)
		}
		if res.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: no Vary", accept)
		}
		body := io.Reader(res.Body)
		if want == "gzip" {
			var err error
			if body, err = gzip.NewReader(res.Body); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := io.ReadAll(body); err != nil || string(got) != "plain" {
			t.Errorf("Accept-Encoding %q: %q (%v), want the file", accept, got, err)
		}
	}
	res := ask(c, "HEAD", "/assets/app-1.js")
	if n, _ := res.Body.Read(make([]byte, 1)); n != 0 || res.Header.Get("Content-Length") != "5" {
		t.Errorf("HEAD has %d bytes and Content-Length %s, want none and 5", n, res.Header.Get("Content-Length"))
	}
}

func TestConsole_PathsLeadToItsFilesOnly(t *testing.T) {
	c := small(t, "")
	for _, target := range []string{"/assets/../console.go", "/../console.go", "/assets/%2e%2e/console.go", "/assets/..%2fconsole.go", "//assets/app-1.js", "/assets//app-1.js", "/assets/app-1.js/", "/assets/app-1.js%00", "/assets/app-1.js.gz", "/dist/index.html"} {
		if res := ask(c, "GET", target, "Accept: "+browser); res != nil {
			t.Errorf("GET %s: %s %s, want it left to the server", target, res.Status, res.Header.Get("Content-Type"))
		}
	}
}

func TestConsole_BasePathIsInThePage(t *testing.T) {
	for base, want := range map[string]string{"": `<base href="/">`, "/awaken": `<base href="/awaken/">`, "/a/b/": `<base href="/a/b/">`, `/"><script>`: `<base href="/&#34;&gt;&lt;script&gt;/">`} {
		var body [200]byte
		n, _ := ask(small(t, base), "GET", "/", "Accept: "+browser).Body.Read(body[:])
		if !strings.Contains(string(body[:n]), want) {
			t.Errorf("base %q: page is %s, want %s", base, body[:n], want)
		}
	}
}

func TestConsole_BuiltFilesAreThere(t *testing.T) {
	c, err := New("")
	if err != nil {
		t.Fatal(err)
	}
	page := string(c.index.data)
	if strings.Contains(page, "<style") || strings.Contains(page, "onload=") || strings.Contains(page, "<script>") {
		t.Errorf("the page has inline code, which its policy refuses: %s", page)
	}
	var scripts, size, zipped int
	for name, f := range c.files {
		if strings.HasSuffix(name, ".js") {
			scripts++
			if f.zipped == nil || !f.lasting {
				t.Errorf("%s is not compressed, or is not kept by browsers", name)
			}
		}
		size += len(f.data)
		if f.zipped != nil {
			zipped += len(f.zipped())
		}
	}
	if scripts == 0 {
		t.Error("there are no scripts; build them with: scripts/console -update")
	}
	if size > 4<<20 || zipped > 1<<20 {
		t.Errorf("the built files have %d bytes, %d with gzip, want at most 4 MiB and 1 MiB", size, zipped)
	}
}
