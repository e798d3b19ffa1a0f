package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/memory"
)

// served is a server on a port of its own, as Run serves it.
type served struct {
	*rig
	addr string
}

// listen serves on a port until the test ends.
func listen(t *testing.T, change ...func(*servertest.Config)) *served {
	t.Helper()
	g := newRig(t, change...)
	ctx, cancel := context.WithCancel(context.Background())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	cfg := servertest.Config{Config: server.Config{Mailbox: g.box, Keys: g.keys, ManualMailbox: true}, Runs: runs.Config{Changes: g.db.(*memory.DB).Changes()}}
	for _, c := range change {
		c(&cfg)
	}
	srv, err := cfg.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	go func() { done <- srv.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return &served{rig: g, addr: l.Addr().String()}
}

// raw sends bytes as they are and returns the status and body of the response. The status is 0 if the
// server closes the connection without one.
func (l *served) raw(payload string) (int, string) {
	l.t.Helper()
	conn, err := net.Dial("tcp", l.addr)
	if err != nil {
		l.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, payload); err != nil && !errors.Is(err, net.ErrClosed) {
		return 0, "" // closed while we were sending
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// get returns a request as bytes. Headers are whole lines.
func get(target string, headers ...string) string {
	return message("GET", target, "", headers...)
}

func message(method, target, body string, headers ...string) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "%s %s HTTP/1.1\r\n", method, target)
	if !slices.ContainsFunc(headers, func(h string) bool { return strings.HasPrefix(h, "Host:") }) {
		sb.WriteString("Host: localhost\r\n")
	}
	if body != "" {
		fmt.Fprintf(&sb, "Content-Length: %d\r\n", len(body))
	}
	for _, h := range headers {
		sb.WriteString(h + "\r\n")
	}
	return sb.String() + "Connection: close\r\n\r\n" + body
}

// TestAttack_Bytes sends malformed and hostile requests byte for byte.
func TestAttack_Bytes(t *testing.T) {
	t.Parallel()
	open := listen(t)
	closed := listen(t, func(c *servertest.Config) { c.Open = new(bool) })
	const key = "Authorization: Bearer " + adminKey
	const threads = "/v1/threads"
	post := func(body string, headers ...string) string {
		return message("POST", "/v1/runs", body, append([]string{"Content-Type: application/json"}, headers...)...)
	}
	hello := runBody("default", "", "hello")
	type attack struct {
		name, payload string
		want          []int // 0 is a closed connection
	}
	refused := []int{403}
	var attacks []attack
	add := func(name, payload string, want ...int) { attacks = append(attacks, attack{name, payload, want}) }

	// Names under which a page could reach this machine.
	for _, host := range []string{"evil.example", "evil.example:3000", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1.nip.io", "rebind.localhost.example",
		"0.0.0.0", "0", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::]", "[::ffff:10.0.0.1]", "10.0.0.1", "169.254.169.254", "localhost.", "127.0.0.1.", "localhost@evil.example",
		"127.0.0.1:3000@evil.example", "evil.example#localhost", "evil.example/localhost", "localhost:x", "localhost:80:80", "[localhost]", "[::1", "::1", "[::1]evil.example", "xn--localhost-", "ｌocalhost",
		"localhost%00.evil.example", "localhost\\.evil.example", "sub.localhost"} {
		add("host "+host, get(threads, "Host: "+host), 403, 400)
	}
	add("host empty", get(threads, "Host:"), refused...)
	add("host twice", get(threads, "Host: localhost", "Host: evil.example"), 400)
	add("host twice, evil first", get(threads, "Host: evil.example", "Host: localhost"), 400)
	add("host missing", "GET /v1/threads HTTP/1.1\r\nConnection: close\r\n\r\n", 400)
	add("host missing in 1.0", "GET /v1/threads HTTP/1.0\r\n\r\n", refused...)
	add("target names another host", "GET http://evil.example/v1/threads HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", refused...)
	for _, h := range []string{"localhost", "LOCALHOST:3000", "127.0.0.1", "127.9.9.9:1", "[::1]:3000", "[::ffff:127.0.0.1]"} {
		add("own host "+h, get(threads, "Host: "+h), 200)
	}
	// A forwarded name changes nothing.
	add("forwarded host", get(threads, "Host: evil.example", "X-Forwarded-Host: localhost", "Forwarded: host=localhost"), refused...)

	// Pages that may not use the server.
	for _, origin := range []string{"null", "http://evil.example", "https://evil.example", "http://localhost.evil.example", "http://127.0.0.1.evil.example", "http://localhost@evil.example",
		"http://evil.example@localhost", "http://evil.example/localhost", "http://localhost/", "http://localhost/path", "http://localhost?x", "http://localhost#x", "file://", "file://localhost", "ftp://localhost",
		"chrome-extension://abcdefgh", "javascript:alert(1)", "localhost", "//localhost", "http://", "http://[::1", "http://[evil.example]", "http://0.0.0.0", "http://[::]", "http://10.0.0.1",
		"http://localhost:3000:80", "http://localhost evil.example", "http://localhost.", "HTTP://EVIL.EXAMPLE", "http:/localhost", "http:localhost", "http://localhost\\@evil.example"} {
		add("origin "+origin, post(hello, "Origin: "+origin), refused...)
		add("origin of a read "+origin, get(threads, "Origin: "+origin), refused...)
	}
	add("two origins", get(threads, "Origin: http://localhost", "Origin: http://evil.example"), refused...)
	add("origins in one", get(threads, "Origin: http://localhost, http://evil.example"), refused...)
	add("closed preflight of a page on this machine", message("OPTIONS", threads, "", "Host: awaken.example", "Origin: http://localhost:5173", "Access-Control-Request-Method: GET"), 403)
	add("closed page of its own", get(threads, "Host: awaken.example", "Origin: http://awaken.example", key), 200)
	add("closed page of another port", get(threads, "Host: awaken.example", "Origin: http://awaken.example:81", key), 403)
	for _, o := range []string{"http://localhost", "http://localhost:5173", "https://127.0.0.1:8443", "http://[::1]:3000", "http://LOCALHOST"} {
		add("own origin "+o, get(threads, "Origin: "+o), 200)
	}
	for _, mode := range []string{"no-cors", "cors", "websocket", ""} {
		add("cross-site read as "+mode, get(threads, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: "+mode), refused...)
	}
	add("cross-site write", post(hello, "Sec-Fetch-Site: cross-site"), refused...)
	add("cross-site write as navigation", post(hello, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"), refused...)
	add("form of another page", message("POST", "/v1/runs", hello, "Content-Type: text/plain", "Origin: http://evil.example"), refused...)
	add("link of another site", get(threads, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"), 200)
	add("preflight of another page", message("OPTIONS", "/v1/runs", "", "Origin: http://evil.example", "Access-Control-Request-Method: POST"), refused...)
	add("preflight of a page here", message("OPTIONS", "/v1/runs", "", "Origin: http://localhost:5173", "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,content-type"), 204)

	// Paths and ids.
	for _, id := range []string{"%2e%2e", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..%2f..", "a%00b", "%00", "%0d%0aX-Evil:%201", "a%0ab", "%ff%fe", "%c0%ae%c0%ae", strings.Repeat("a", 513),
		strings.Repeat("%41", 4000), "a%2fb", "%E2%80%AE", "%EF%BB%BF", "%F0%9F%92%A9", "'%20OR%201=1--", "%22%3E%3Cscript%3E", "$%7Bjndi:ldap:%2F%2Fx%7D", "%7f", "%c2%85", ".", "a;b", "%5c..%5c", "~root", "%20"} {
		add("id "+id[:min(len(id), 40)], get("/v1/threads/"+id+"/runs/latest"), 404, 301, 307)
		add("run id "+id[:min(len(id), 40)], message("POST", "/v1/runs/"+id+"/cancel", ""), 404, 405, 301, 307)
	}
	for _, path := range []string{"//v1/threads", "/v1//threads", "/v1/threads/../keys", "/v1/threads/%2e%2e/keys", "/v1/./keys", "/V1/KEYS", "/v1/keys/", "/v1/keys%2f", "/v1/keys?x", "/v1/keys#x", "/v1/keys;x",
		"/v1/threads/..;/keys", "/./v1/keys", "/v1/keys%00", "/v1/%6b%65%79%73", "/health/../v1/keys", "/metrics/../v1/keys", "/openapi.json/../v1/keys", "/debug/pprof/", "/debug/pprof/cmdline"} {
		add("path "+path, get(path), 401, 404, 301, 307, 400)
	}
	add("path with a control character", "GET /v1/thr\x01eads HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400)
	add("target that is no path", "GET threads HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400)
	add("target *", "GET * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400, 404)
	add("CONNECT", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", refused...)
	add("TRACE", message("TRACE", threads, "", key), 405)
	add("method that is none", message("FROB", threads, ""), 405)
	add("method override", message("POST", threads+"/x", "", "X-HTTP-Method-Override: DELETE"), 405)

	// Credentials that are not.
	for _, h := range []string{"Authorization:", "Authorization: Bearer", "Authorization: Bearer ", "Authorization: " + adminKey, "Authorization: Basic dGhlLWFkbWluLWtleTo=", "Authorization: Bearer wrong-key",
		"Authorization: Bearer " + adminKey[:len(adminKey)-1], "Authorization: Bearer " + adminKey + "x", "Authorization: Bearer  " + adminKey, "Authorization: Bearer\t" + adminKey, "Authorization: Bearer," + adminKey,
		"Authorization: Bearer " + strings.ToUpper(adminKey), "Authorization: Bearer " + adminKey + "\x00", "Authorization: Bearer \"" + adminKey + "\"", "Authorization: Token " + adminKey,
		"Authorization: Bearer " + strings.Repeat("k", 50_000), "Authorization: Bearer ' OR 1=1 --", "Authorization: Bearer *", "Proxy-Authorization: Bearer " + adminKey, "X-Api-Key: " + adminKey, "Cookie: Authorization=Bearer " + adminKey,
		"Authorization : Bearer " + adminKey, "Authorization: Bearer x\r\n " + adminKey} {
		for _, target := range []string{"/v1/keys", "/v1/threads"} {
			attacks = append(attacks, attack{"closed " + target + " " + h[:min(len(h), 60)], get(target, h), []int{401, 400}})
		}
	}
	add("closed credentials twice", get("/v1/keys", key, key), 401)
	add("closed credentials twice, wrong first", get("/v1/keys", "Authorization: Bearer wrong-key", key), 401)
	add("closed credentials in the query", get("/v1/keys?access_token="+adminKey+"&authorization=Bearer%20"+adminKey), 401)
	add("closed credentials in the target", "GET http://x:"+adminKey+"@localhost/v1/keys HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 401)
	add("closed good credentials", get("/v1/keys", key), 200)
	add("closed credentials in lower case", get("/v1/keys", "authorization: bearer "+adminKey), 200)

	// Bodies.
	add("body deep", post(`{"agent_id":"default","messages":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`), 400)
	add("body very deep", post(strings.Repeat(`{"a":`, 50_000)), 400)
	add("body too large", post(`{"agent_id":"`+strings.Repeat("a", 21<<20)+`"}`), 413, 0)
	add("body announced too large", "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"+strings.Repeat(" ", 21<<20), 413, 0)
	add("body not UTF-8", post("{\"agent_id\":\"\xff\xfe\"}"), 400)
	add("body with a lone surrogate", post(`{"agent_id":"\ud800","messages":[{"role":"user","content":"x"}]}`), 400)
	add("body with a name twice", post(`{"agent_id":"other","agent_id":"default","messages":[{"role":"user","content":"x"}]}`), 422)
	add("body with a name twice, in another case", post(`{"Agent_ID":"other","agent_id":"default","messages":[{"role":"user","content":"x"}]}`), 422)
	add("body with two spellings", post(`{"agentId":"other","agent_id":"default","messages":[{"role":"user","content":"x"}]}`), 400)
	add("body with an unknown name", post(`{"agent_id":"default","__proto__":{},"messages":[]}`), 422)
	add("body after the body", post(hello+hello), 400)
	add("body is a list", post("["+hello+"]"), 422)
	add("body is null", post("null"), 400, 422)
	add("body is empty", post(""), 422)
	add("body with NaN", post(`{"agent_id":NaN}`), 400)
	add("body with a huge number", post(`{"agent_id":"default","overrides":{"max_tokens":1e999999},"messages":[{"role":"user","content":"x"}]}`), 422)
	add("body with a comment", post(`/**/`+hello), 400)
	add("body with a mark of bytes", post("\xef\xbb\xbf"+hello), 400)
	add("body in UTF-16", post("{\x00\"\x00a\x00\"\x00:\x001\x00}\x00"), 400)
	add("body with another role", post(`{"agent_id":"default","messages":[{"role":"tool","content":"x"}]}`), 400)
	add("body with an internal message", post(`{"agent_id":"default","messages":[{"role":"system","visibility":"internal","content":"x"}]}`), 422)
	add("body with foreign metadata", post(`{"agent_id":"default","messages":[{"role":"user","content":"x","metadata":{"run_id":"r"}}]}`), 422)
	add("body that rewinds", post(`{"agent_id":"default","rewind":"m","messages":[{"role":"user","content":"x"}]}`), 422)
	add("body that seeds state", post(`{"agent_id":"default","seed":{"a":1},"messages":[{"role":"user","content":"x"}]}`), 422)
	add("body that poses as internal", post(`{"agent_id":"default","origin":"internal","messages":[{"role":"user","content":"x"}]}`), 422)
	add("body with a thread id of control characters", post(`{"agent_id":"default","thread_id":"a\r\nX-Evil: 1","messages":[{"role":"user","content":"x"}]}`), 400)
	add("body with a long thread id", post(runBody("default", strings.Repeat("t", 600), "x")), 400)
	for _, ct := range []string{"text/html", "application/xml", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "application/jsonx", "garbage", "application/json; charset"} {
		add("content type "+ct, message("POST", "/v1/runs", hello, "Content-Type: "+ct), 415)
	}
	add("encoded body", post(hello, "Content-Encoding: gzip"), 415)

	// What proxies and servers have disagreed about.
	add("length and chunks", "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/keys HTTP/1.1\r\nHost: localhost\r\n"+key+"\r\n\r\n", 422)
	add("two lengths", "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", 400)
	add("length with a sign", "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: +4\r\n\r\nabcd", 400)
	add("negative length", "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -4\r\n\r\nabcd", 400)
	add("lengths in a list", "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4, 4\r\n\r\nabcd", 400)
	add("other encoding", "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501)
	add("two encodings", "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", 400, 501)
	add("encoding with a space", "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400)
	add("chunk with a bad size", "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\n\r\n", 400)
	add("chunk too large", "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nfffffffffffffffff\r\n\r\n", 400)
	add("header folded", "GET /v1/threads HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n Host: evil.example\r\nConnection: close\r\n\r\n", 400, 200)
	add("header without a colon", "GET /v1/threads HTTP/1.1\r\nHost: localhost\r\nnonsense\r\n\r\n", 400)
	add("header with a zero", "GET /v1/threads HTTP/1.1\r\nHost: localhost\r\nX-A: a\x00b\r\n\r\n", 400)
	add("header with a bare return", "GET /v1/threads HTTP/1.1\r\nHost: localhost\r\nX-A: a\rb\r\n\r\n", 400)
	add("huge header", get(threads, "X-A: "+strings.Repeat("a", 200_000)), 431, 0)
	add("many headers", get(threads, slices.Repeat([]string{"X-A: a"}, 20_000)...), 431, 0)
	add("huge target", get("/v1/threads?limit="+strings.Repeat("1", 200_000)), 431, 0)
	add("version 2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, 403, 404, 505, 0)
	add("version 3", "GET / HTTP/3.0\r\nHost: localhost\r\n\r\n", 400, 505)
	add("version 0.9", "GET /v1/threads\r\n\r\n", 400)
	add("TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, 0)
	add("upgrade", get(threads, "Upgrade: websocket", "Connection: Upgrade"), 200)
	add("upgrade to 2", get(threads, "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"), 200)

	// Cursors that the server never issued.
	token := func(prefix, data string) string { return prefix + base64.RawURLEncoding.EncodeToString([]byte(data)) }
	for _, c := range []string{"zzz", "-1", "99999999999999999999", "thr_", "thr_!!!", token("thr_", `{"offset":-5}`), token("thr_", `{"offset":1,"tenant":"b"}`), token("thr_", `{"offset":"1"}`), token("msg_", `{"offset":1}`),
		token("thr_", `{"offset":1,"root":true}`), token("thr_", `[]`), token("thr_", strings.Repeat("[", 10_000)), "thr_%00", "1%20OR%201"} {
		add("cursor "+c[:min(len(c), 40)], get("/v1/threads?cursor="+c), 400)
	}
	add("cursor far away", get("/v1/threads?cursor="+token("thr_", `{"offset":9007199254740993}`)), 200, 400)
	add("limit that is none", get("/v1/threads?limit=1e9"), 400)
	add("limit too high", get("/v1/threads?limit=999999999"), 200)
	add("limit too low", get("/v1/threads?limit=-1&offset=-1"), 200)
	add("parameter with a zero", get("/v1/threads?resource_id=%00"), 400)
	add("parameter not UTF-8", get("/v1/threads?resource_id=%ff"), 400)

	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			l := &served{rig: &rig{t: t}, addr: open.addr}
			if strings.HasPrefix(a.name, "closed ") {
				l.addr = closed.addr
			}
			status, body := l.raw(a.payload)
			if !slices.Contains(a.want, status) {
				t.Errorf("status is %d, want %v: %s", status, a.want, body)
			}
			if strings.Contains(body, adminKey) {
				t.Errorf("the answer has the key in it: %s", body)
			}
		})
	}
	t.Logf("%d attacks", len(attacks))
	if len(attacks) < 300 {
		t.Errorf("there are %d attacks only", len(attacks))
	}
}

// TestAttack_Keys calls every operation with every insufficient key.
func TestAttack_Keys(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Open = new(bool) })
	d := readDocument(t, g)
	secret := map[string]string{}
	for _, kind := range []string{"read", "run", "revoked"} {
		body := fmt.Sprintf(`{"kind":%q}`, strings.Replace(kind, "revoked", "admin", 1))
		made := g.want(201, "POST", "/v1/keys", body, admin...)
		secret[kind] = made["secret"].(string)
		if kind == "revoked" {
			g.want(200, "GET", "/v1/keys", "", "Authorization", "Bearer "+secret[kind]) // it was good, and is remembered
			g.want(204, "DELETE", "/v1/keys/"+made["id"].(string), "", admin...)
		}
	}
	level := map[string]int{"read": 1, "run": 2, "admin": 3}
	before := g.shape("")
	cases := 0
	d.operations(func(method, path string, op map[string]any) {
		need, _ := op["x-access"].(string)
		if need == "" {
			return
		}
		target := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "missing")
		body := ""
		if op["requestBody"] != nil {
			body = `{"kind":"admin","title":"x","payload":"x"}`
		}
		for kind, s := range secret {
			cases++
			want := 403
			if kind == "revoked" {
				want = 401
			} else if level[kind] >= level[need] {
				continue
			}
			if status, text := g.ask(method, target, body, "Authorization", "Bearer "+s); status != want {
				t.Errorf("%s %s with a key of kind %s: status is %d, want %d: %s", method, path, kind, status, want, text)
			}
		}
		cases++
		if status, text := g.ask(method, target, body); status != 401 {
			t.Errorf("%s %s without a key: status is %d: %s", method, path, status, text)
		}
	})
	if after := g.shape(""); after != before {
		t.Errorf("something has changed:\n%s\nwas\n%s", after, before)
	}
	t.Logf("%d cases", cases)
}

// shape summarizes what a tenant has.
func (g *rig) shape(tenant string) string {
	g.t.Helper()
	var sb strings.Builder
	s := g.db.Handle(tenant)
	threads, err := s.ListThreads(g.t.Context(), awaken.ThreadQuery{Limit: 1000})
	if err != nil {
		g.t.Fatal(err)
	}
	slices.SortFunc(threads, func(a, b *awaken.Thread) int { return strings.Compare(a.ID, b.ID) })
	for _, th := range threads {
		unread, err := s.Unread(g.t.Context(), th.ID)
		if err != nil {
			g.t.Fatal(err)
		}
		fmt.Fprintf(&sb, "thread %s %q %q %d messages, %d unread\n", th.ID, th.Metadata.Title, th.Metadata.Custom, th.MessageCount, len(unread))
		ds, err := s.Dispatches(g.t.Context(), mailbox.Query{ThreadID: th.ID, Limit: 1000})
		if err != nil {
			g.t.Fatal(err)
		}
		for _, d := range ds {
			fmt.Fprintf(&sb, "  dispatch %s %s %d\n", d.ID, d.Status, d.Revision)
		}
	}
	runs, err := s.ListRuns(g.t.Context(), awaken.RunQuery{Limit: 1000})
	if err != nil {
		g.t.Fatal(err)
	}
	slices.SortFunc(runs, func(a, b *awaken.Run) int { return strings.Compare(a.RunID, b.RunID) })
	for _, r := range runs {
		fmt.Fprintf(&sb, "run %s %s\n", r.RunID, r.Status)
	}
	keys, err := g.keys.List(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	for _, k := range keys {
		if k.Tenant == tenant {
			fmt.Fprintf(&sb, "key %s\n", k.ID)
		}
	}
	return sb.String()
}

// rests reports whether the tenant is idle: every claim is a run in progress, and every queued
// dispatch waits for one.
func (g *rig) rests(tenant string) bool {
	g.t.Helper()
	s := g.db.Handle(tenant)
	threads, err := s.ListThreads(g.t.Context(), awaken.ThreadQuery{Limit: 1000})
	if err != nil {
		g.t.Fatal(err)
	}
	for _, th := range threads {
		live, err := s.Dispatches(g.t.Context(), mailbox.Query{ThreadID: th.ID, Statuses: []mailbox.Status{mailbox.Queued, mailbox.Claimed}})
		if err != nil {
			g.t.Fatal(err)
		}
		goesOn := len(live) == 0
		for _, d := range live {
			run, err := s.LoadRun(g.t.Context(), d.RunID)
			if err != nil {
				g.t.Fatal(err)
			}
			if d.Status == mailbox.Claimed && run.Status != awaken.RunRunning {
				return false
			}
			goesOn = goesOn || d.Status == mailbox.Claimed
		}
		if !goesOn {
			return false
		}
	}
	return true
}

// TestAttack_ForeignTenant requests one tenant's resources with another tenant's key, on every route.
func TestAttack_ForeignTenant(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Open = new(bool) })
	g.tenant = "a"
	keys := map[string][]string{}
	for _, tenant := range []string{"a", "b"} {
		secret := "the-key-of-tenant-" + tenant
		if err := g.keys.Fix(secret, server.Key{ID: "fixed-" + tenant, Kind: server.AdminKey, Tenant: tenant}); err != nil {
			t.Fatal(err)
		}
		keys[tenant] = []string{"Authorization", "Bearer " + secret}
	}
	d := readDocument(t, g)
	made := map[string]bool{} // ids of what B has made, when it was asked to
	d.operations(func(method, path string, op map[string]any) {
		if op["x-access"] == nil {
			return
		}
		name := method + " " + path
		q := successes[name](g, keys["a"])
		var before string
		g.eventually("rest", func() bool {
			if !g.rests("a") {
				return false
			}
			if before = g.shape("a"); strings.Contains(before, "Claimed") { // a run that was resumed is about to end
				time.Sleep(20 * time.Millisecond)
			}
			return g.rests("a") && g.shape("a") == before
		})
		resp := g.do(method, q.path, q.body, keys["b"]...)
		data := []byte(nil)
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") && name != "POST /v1/runs" {
			t.Errorf("%s: the other tenant gets a stream", name)
		} else {
			data, _ = io.ReadAll(resp.Body)
		}
		resp.Body.Close()
		own := []string{"POST /v1/runs", "POST /v1/threads", "POST /v1/keys", "POST /v1/threads/{thread_id}/mailbox", "GET /v1/threads/{thread_id}/mailbox",
			"GET /v1/agents/{agent_id}/budget", "PUT /v1/agents/{agent_id}/budget",
			"GET /v1/mcp-servers/{id}/authorization", "POST /v1/mcp-servers/{id}/authorization", "DELETE /v1/mcp-servers/{id}/authorization"}
		switch {
		case name == "PUT /v1/budget" || name == "POST "+callback || op["x-scope"] == "server": // not even its own
			if resp.StatusCode != 403 {
				t.Errorf("%s: status is %d, want 403: %s", name, resp.StatusCode, data)
			}
		case strings.Contains(path, "{") && !slices.Contains(own, name), name == "GET /v1/events/stream", name == "POST /v1/eval/runs", name == "POST /v1/eval/runs/estimate": // its query names a thread, its body a dataset
			if resp.StatusCode != 404 {
				t.Errorf("%s: status is %d, want 404: %s", name, resp.StatusCode, data)
			}
		case resp.StatusCode >= 300:
			t.Errorf("%s: status is %d: %s", name, resp.StatusCode, data)
		case method == "POST":
			var one struct{ ID string }
			if json.Unmarshal(data, &one) == nil && one.ID != "" {
				made[one.ID] = true
			}
		case method == "GET":
			var list struct{ Items []json.RawMessage }
			_ = json.Unmarshal(data, &list)
			for _, item := range list.Items {
				var one struct{ ID string }
				_ = json.Unmarshal(item, &one)
				agent := name == "GET /v1/search" && bytes.Contains(item, []byte(`"kind":"agent"`)) // which all tenants have
				if name != "GET /v1/keys" && name != "GET /v1/agents" && !made[one.ID] && !agent && !bytes.Contains(item, []byte("in-b")) || bytes.Contains(item, []byte(`"fixed-a"`)) {
					t.Errorf("%s: the other tenant sees %s", name, item)
				}
			}
		}
		if after := g.shape("a"); after != before {
			t.Errorf("%s: the other tenant has changed\n%s\ninto\n%s", name, before, after)
		}
		for _, id := range regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{22}`).FindAllString(before, -1) {
			if bytes.Contains(data, []byte(id)) && !strings.Contains(q.path, id) {
				t.Errorf("%s: the other tenant learns of %s: %s", name, id, data)
			}
		}
		// What B made for itself would be in the next list.
		for _, th := range g.want(200, "GET", "/v1/threads", "", keys["b"]...)["items"].([]any) {
			_ = g.box.Tenant("b").Cancel(t.Context(), th.(string))
			g.eventually("B's thread to be deleted", func() bool {
				status, _ := g.ask("DELETE", "/v1/threads/"+th.(string), "", keys["b"]...)
				return status == 204 || status == 404
			})
		}
	})
	// A key of a tenant makes and revokes no keys of another; one of no tenant does.
	g.want(403, "POST", "/v1/keys", `{"kind":"admin","tenant":"a"}`, keys["b"]...)
	if made := g.want(201, "POST", "/v1/keys", `{"kind":"read"}`, keys["b"]...); made["tenant"] != "b" {
		t.Errorf("the key belongs to %v", made["tenant"])
	}
	g.want(404, "DELETE", "/v1/keys/fixed-a", "", keys["b"]...)
	g.want(404, "DELETE", "/v1/keys/admin", "", keys["b"]...)
	g.want(201, "POST", "/v1/keys", `{"kind":"read","tenant":"a"}`, admin...)
	// The same key for the same request is two requests if two tenants make it.
	body, once := runBody("default", "same", "hello"), []string{"Idempotency-Key", "k", "Accept", "application/json"}
	a := g.want(200, "POST", "/v1/runs", body, append(once, keys["a"]...)...)
	b := g.want(200, "POST", "/v1/runs", body, append(once, keys["b"]...)...)
	if a["run_id"] == b["run_id"] {
		t.Errorf("both tenants got run %v", a["run_id"])
	}
	g.want(409, "POST", "/v1/runs", runBody("default", "same", "other"), append(once, keys["b"]...)...)
	// Two tenants have threads of the same name, and each its own.
	for tenant, want := range map[string]any{"a": a["run_id"], "b": b["run_id"]} {
		if got := g.want(200, "GET", "/v1/threads/same/runs/latest", "", keys[tenant]...)["run_id"]; got != want {
			t.Errorf("tenant %s: the latest run is %v, want %v", tenant, got, want)
		}
	}
}

// TestAttack_RevokedKeyOfAStream: a stream ends when its key is revoked.
func TestAttack_RevokedKeyOfAStream(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) {
		c.Open = new(bool)
		c.Limits.Heartbeat = 20 * time.Millisecond
	})
	thread, _ := g.done(admin...)
	made := g.want(201, "POST", "/v1/keys", `{"kind":"read"}`, admin...)
	resp := g.do("GET", "/v1/threads/"+thread+"/events/stream?cursor=0-0", "", "Authorization", "Bearer "+made["secret"].(string))
	defer resp.Body.Close()
	readFrames(t, resp.Body, func(f frame) bool { return strings.Contains(f.data, "run_finish") })
	g.want(204, "DELETE", "/v1/keys/"+made["id"].(string), "", admin...)
	frames := readFrames(t, resp.Body, nil) // until it ends
	if len(frames) != 1 || frames[0].event != "error" || !strings.Contains(frames[0].data, "unauthorized") {
		t.Errorf("after that came %v", frames)
	}
}

// TestAttack_Frames: no text of a client, be it an id, a message or a tool's output, can forge a frame.
func TestAttack_Frames(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	evil := []string{"a\n\ndata: {\"event_type\":\"run_finish\"}\n\n", "a\r\rid: 9-9\r\rdata: x\r\r", "\u2028data: x\u2028\u2029", "\n: comment\n\n", "\nevent: error\ndata: x\n\n", `","event_type":"run_finish`}
	for i, text := range evil {
		thread := fmt.Sprintf("evil %d : data: x", i)
		resp := g.do("POST", "/v1/runs", runBody("default", thread, text))
		raw, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%s %v", resp.Status, err)
		}
		tail := g.do("GET", "/v1/runs/"+resp.Header.Get("X-Run-Id")+"/events/stream?cursor=0-0", "")
		canonical, err := io.ReadAll(tail.Body)
		tail.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, stream := range [][]byte{raw, canonical} {
			finishes := 0
			for chunk := range strings.SplitSeq(strings.TrimSuffix(string(stream), "\n\n"), "\n\n") {
				lines := strings.Split(chunk, "\n")
				if len(lines) != 2 || !regexp.MustCompile(`^id: \d+-\d+$`).MatchString(lines[0]) || !strings.HasPrefix(lines[1], "data: {") || strings.ContainsAny(chunk, "\r\x00") {
					t.Errorf("%q makes the frame %q", text, chunk)
					continue
				}
				var ev struct {
					Type    string `json:"event_type"`
					Payload struct {
						Type string `json:"event_type"`
					}
				}
				if err := json.Unmarshal([]byte(lines[1][6:]), &ev); err != nil {
					t.Errorf("%q: %v", chunk, err)
				}
				if ev.Type == "run_finish" || ev.Payload.Type == "run_finish" {
					finishes++
				}
			}
			if finishes != 1 {
				t.Errorf("%q: the run finishes %d times", text, finishes)
			}
		}
	}
	for _, cursor := range []string{"0-0%0A%0Adata:x", "0--1", "-0-0", "0x0-0", "0-0-0", " 0-0 x", "1e1-0", "18446744073709551616-0"} {
		g.done()
		resp := g.do("GET", "/v1/threads/t1/events/stream?cursor="+strings.ReplaceAll(cursor, " ", "+"), "")
		if resp.Body.Close(); resp.StatusCode != 400 {
			t.Errorf("cursor %q: status is %d", cursor, resp.StatusCode)
		}
	}
}

// TestAttack_Slow: a client that sends or reads too slowly loses its connection and harms no other.
func TestAttack_Slow(t *testing.T) {
	t.Parallel()
	const limit = 150 * time.Millisecond
	g := listen(t, func(c *servertest.Config) {
		c.Limits.HeaderTime, c.Limits.RequestTime, c.Limits.IdleTime = limit, limit, limit
	})
	for name, start := range map[string]string{
		"header":               "GET /v1/threads HTTP/1.1\r\nHost: localhost\r\nX-A: ",
		"request line":         "GET /v1/thre",
		"nothing":              "",
		"body":                 "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nContent-Type: application/json\r\n\r\n{",
		"chunks":               "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
		"body of no route":     "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
		"body of a refusal":    "POST /v1/keys HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
		"body of another host": "POST /v1/keys HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100\r\n\r\n{",
		"unread body":          "POST /v1/threads/x/cancel HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", g.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			began := time.Now()
			_ = conn.SetDeadline(began.Add(time.Minute))
			if _, err := io.WriteString(conn, start); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			defer func() { <-done }()
			go func() { // a byte now and then must not block other requests
				defer close(done)
				for {
					if _, err := conn.Write([]byte("a")); err != nil {
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
			}()
			_, err = io.Copy(io.Discard, conn)
			conn.Close()
			if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
				t.Errorf("the connection is still open after %s", time.Since(began))
			}
		})
	}
}

// hostileBodies are bodies that the operations get: each reaches its store with one of them.
var hostileBodies = []string{
	`{"kind":"read","agent_id":"default","messages":[{"role":"user","content":"x"}],"action":"resume","tool_call_id":"x","revision":0,"payload":1}`,
	"{}",
	`{"id":"missing","model_id":"m"}`,
	`{"version":"x"}`,
	`{"policy_prompt":"","revision":0}`,
	`{"version":1,"share":0.5}`,
	`{"messages":[{"role":"user","content":"x"}]}`,
	`{"agent_id":"default","messages":[{"role":"user","content":"x"}]}`,
	`{"action":"cancel","tool_call_id":"x"}`,
	`{"kind":"read"}`,
}

// TestAttack_Errors: internal errors appear in the server's log and nowhere else.
func TestAttack_Errors(t *testing.T) {
	t.Parallel()
	const secret = "pgpass=hunter2"
	d := readDocument(t, newRig(t))
	for at, err := range []error{
		errors.New("dial tcp 10.0.0.7:5432: " + secret),
		fmt.Errorf("%s: %w", secret, context.DeadlineExceeded),
		fmt.Errorf("%s: %w", secret, context.Canceled),
	} {
		t.Run([]string{"plain", "timeout", "canceled"}[at], func(t *testing.T) {
			t.Parallel()
			var log safeBuffer
			g := newBrokenRig(t, err, func(c *servertest.Config) { c.Logger = slog.New(slog.NewJSONHandler(&log, nil)) })
			n := at
			d.operations(func(method, path string, op map[string]any) {
				if n++; !testenv.Long() && n%3 != 0 {
					return // another kind of error is that operation's
				}
				bodies := []string{""}
				if op["requestBody"] != nil {
					bodies = hostileBodies
				}
				target := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(strings.ReplaceAll(path, "{namespace}", "agents"), "missing")
				for _, b := range bodies {
					status, text := g.ask(method, target, b, admin...)
					if strings.Contains(text, secret) || strings.Contains(text, "10.0.0.7") {
						t.Errorf("%s %s: %d %s", method, path, status, text)
					}
				}
			})
			if !strings.Contains(log.String(), secret) {
				t.Error("the log does not say what went wrong")
			}
			if strings.Contains(log.String(), adminKey) {
				t.Error("the log has a key in it")
			}
		})
	}
}

// TestAttack_ErrorsOfRuns: internal errors of a run do not appear in its events, its record or its
// dispatch.
func TestAttack_ErrorsOfRuns(t *testing.T) {
	t.Parallel()
	const secret = "pgpass=hunter2"
	for _, after := range []int{0, 1, 2} {
		t.Run(fmt.Sprint("commit ", after+1), func(t *testing.T) {
			t.Parallel()
			db := &failingDB{DB: memory.NewDB(), after: after, err: errors.New("commit failed on 10.0.0.7: " + secret)}
			g := &rig{t: t, db: db, keys: access.NewKeys(memory.NewProfile())}
			if err := g.keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
				t.Fatal(err)
			}
			g.start(func(c *servertest.Config) { c.Limits.WaitTime = 300 * time.Millisecond })
			see := func(what, text string) {
				if strings.Contains(text, secret) || strings.Contains(text, "10.0.0.7") {
					t.Errorf("%s has the secret: %s", what, text)
				}
			}
			watch := make(chan string, 1)
			resp := g.do("POST", "/v1/runs", runBody("default", "t", "RUN_TOOL ask {}"))
			run := resp.Header.Get("X-Run-Id")
			go func() {
				data, _ := io.ReadAll(resp.Body)
				watch <- string(data)
			}()
			g.eventually("a failure", func() bool { return db.failed() })
			g.eventually("another try", func() bool {
				ds, err := db.Handle("").Dispatches(t.Context(), mailbox.Query{RunID: run})
				return err == nil && len(ds) > 0 && ds[0].LastError != "" || db.failures() > 2
			})
			for _, path := range []string{"/v1/runs/" + run, "/v1/threads/t/mailbox", "/v1/threads/t/events", "/v1/runs/" + run + "/events", "/v1/threads/t/messages", "/v1/threads/t/runs/active", "/v1/threads/t/pending", "/metrics"} {
				_, text := g.ask("GET", path, "")
				see(path, text)
			}
			g.srv.Stop()
			see("the stream", <-watch)
			resp.Body.Close()
		})
	}
}

// failingDB fails every commit after the first few.
type failingDB struct {
	*memory.DB
	err   error
	after int

	mu sync.Mutex
	n  int
}

func (f *failingDB) Handle(tenant string) mailbox.Handle { return failingStore{f.Store(tenant), f} }

func (f *failingDB) failures() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n - f.after
}

func (f *failingDB) failed() bool { return f.failures() > 0 }

type failingStore struct {
	*memory.Store
	db *failingDB
}

// next counts a commit and returns its error.
func (s failingStore) next() error {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	if s.db.n++; s.db.n > s.db.after {
		return s.db.err
	}
	return nil
}

func (s failingStore) Commit(ctx context.Context, c *awaken.Commit) error {
	if err := s.next(); err != nil {
		return err
	}
	return s.Store.Commit(ctx, c)
}

func (s failingStore) CommitAndSettle(ctx context.Context, c *awaken.Commit, x mailbox.Settlement, wake *mailbox.Dispatch) (mailbox.Settled, error) {
	if err := s.next(); err != nil {
		return mailbox.Settled{}, err
	}
	return s.Store.CommitAndSettle(ctx, c, x, wake)
}

type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestAttack_Profiles: profiles have an address of their own and need this machine and an admin key.
func TestAttack_Profiles(t *testing.T) {
	t.Parallel()
	box := newRig(t).box
	for _, address := range []string{":6060", "0.0.0.0:6060", "[::]:6060", "10.0.0.1:6060", "example.com:6060", "6060", "localhost.example:1"} {
		if _, err := server.New(server.Config{Mailbox: box, DebugAddress: address}); err == nil {
			t.Errorf("debug address %s was accepted", address)
		}
	}
	for _, address := range []string{":3000", "0.0.0.0:3000", "[::]:3000", "192.168.0.1:3000", "example.com:80"} {
		if _, err := server.New(server.Config{Mailbox: box, Address: address}); err == nil {
			t.Errorf("address %s was accepted without keys", address)
		}
		yes := true
		if _, err := server.New(server.Config{Mailbox: box, Address: address, Keys: access.NewKeys(nil), Open: &yes}); err == nil {
			t.Errorf("address %s was accepted with open access", address)
		}
	}
	var log safeBuffer
	g := listen(t, func(c *servertest.Config) {
		c.DebugAddress, c.Logger = "127.0.0.1:0", slog.New(slog.NewTextHandler(&log, nil))
	})
	run := g.want(201, "POST", "/v1/keys", `{"kind":"run"}`, admin...)["secret"].(string)
	tenants := g.want(201, "POST", "/v1/keys", `{"kind":"admin","tenant":"acme"}`, admin...)["secret"].(string)
	var address []string
	g.eventually("the debug server", func() bool {
		address = regexp.MustCompile(`msg="serving profiles" address=(\S+)`).FindStringSubmatch(log.String())
		return address != nil
	})
	debug := &served{rig: g.rig, addr: address[1]}
	for _, c := range []struct {
		want    int
		headers []string
	}{
		{401, nil},
		{401, []string{"Authorization: Bearer wrong-key"}},
		{403, []string{"Authorization: Bearer " + run}},
		{403, []string{"Authorization: Bearer " + tenants}},
		{403, []string{"Host: evil.example", "Authorization: Bearer " + adminKey}},
		{200, []string{"Authorization: Bearer " + adminKey}},
	} {
		if status, body := debug.raw(get("/debug/pprof/cmdline", c.headers...)); status != c.want {
			t.Errorf("%v: status is %d, want %d: %s", c.headers, status, c.want, body)
		}
	}
}
