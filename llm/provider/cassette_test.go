package provider

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
)

func TestPlayer_ReturnsWhatWasRecorded(t *testing.T) {
	t.Parallel()
	answers := []func(w http.ResponseWriter){
		func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Set-Cookie", "session=secret-cookie")
			for _, s := range []string{"data: {\"key\":\"sec", "ret-key\"}\n\n", "data: caf\xc3", "\xa9\n\n"} {
				_, _ = io.WriteString(w, s)
				_ = http.NewResponseController(w).Flush()
			}
		},
		func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":{"message":"slow"}}`)
		},
		func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, "data: half")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	}
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		answers[n-1](w)
	}))
	file := filepath.Join(t.TempDir(), "tape.jsonl")
	rec := &Recorder{File: file, Secrets: []string{"secret-word"}}
	type answer struct {
		status     int
		body       string
		retryAfter string
		failed     bool
	}
	exchange := func(rt http.RoundTripper, base string) (out []answer) {
		for i := range answers {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/x?key=secret-key&a=b", strings.NewReader(`{"n":`+string(rune('0'+i))+`,"k":"secret-key","w":"secret-word"}`))
			req.Header.Set("Authorization", "Bearer secret-key")
			resp, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			out = append(out, answer{resp.StatusCode, string(body), resp.Header.Get("Retry-After"), err != nil})
		}
		return out
	}
	live := exchange(rec, srv.URL)
	srv.Close()
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(file)
	if strings.Contains(string(data), "secret") {
		t.Errorf("a secret is in the file:\n%s", data)
	}
	player, err := OpenPlayer(file)
	if err != nil {
		t.Fatal(err)
	}
	again := exchange(player, "http://nowhere.invalid")
	for i := range live {
		live[i].body = strings.ReplaceAll(live[i].body, "secret-key", removed)
		if live[i] != again[i] {
			t.Errorf("answer %d: %+v, want %+v", i, again[i], live[i])
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://nowhere.invalid/v1/x", strings.NewReader("{}"))
	if n := player.Left(); n != 0 {
		t.Errorf("%d exchanges are left", n)
	}
	if _, err := player.RoundTrip(req); err == nil || !strings.Contains(err.Error(), "has no recorded response") {
		t.Errorf("a request that was not recorded: %v", err)
	}
}

// A secret is removed even if it spans chunks, and no other byte moves to another chunk.
func TestCassette_RemovesSecretsThatSpanChunks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"a|b|c", "a|b|c"},
		{"a sec|ret-|key b|c", "a REMOVED| b|c"},
		{"secret-key|secret-key", "REMOVED|REMOVED"},
		{"x|secret-|key|y", "x|REMOVED|y"},
		{"secret-kez|secret-", "secret-kez|secret-"},
		{"secret-key-2 secret-key", "REMOVED REMOVED"},
	} {
		var in []chunk
		for s := range strings.SplitSeq(c.in, "|") {
			in = append(in, chunk(s))
		}
		var got []string
		for _, out := range cleanChunks(in, []string{"secret-key-2", "secret-key"}) {
			got = append(got, string(out))
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%q became %q, want %q", c.in, s, c.want)
		}
	}
}

func TestPlayer_RejectsInvalidCassettes(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"{":                                   "exchange 1",
		`{"method":"POST"}`:                   "want a status",
		`{"status":200,"error":"melted"}`:     `error is "melted"`,
		`{"status":200,"chunks":[{"a":1},7]}`: "exchange 1",
	} {
		file := filepath.Join(t.TempDir(), "tape.jsonl")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenPlayer(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", content, err, want)
		}
	}
}

// The order of fields and the prompt cache key do not matter.
func TestPlayer_SameBody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		recorded, body string
		want           bool
	}{
		{`{"a":1,"b":"x"}`, `{"b":"x", "a":1}`, true},
		{`{"a":1,"prompt_cache_key":"t1"}`, `{"prompt_cache_key":"t2","a":1}`, true},
		{`{"a":[{"b":1,"c":"<"}],"d":{}}`, `{"d":{},"a":[{"c":"\u003c","b":1}]}`, true},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":"REMOVED"}`, `{"a":"key"}`, true},
		{`{"a":"REMOVED"}`, `{"a":"key","b":1}`, false},
		{`plain`, `plain`, true},
		{`plain`, `other`, false},
	} {
		if got := sameBody(c.recorded, c.body); got != c.want {
			t.Errorf("%s and %s: %v", c.recorded, c.body, got)
		}
	}
}

func TestConfig_Key(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOME_API_KEY", "from-env")
	for want, c := range map[string]Config{"given": {APIKey: "given", KeyFile: file}, "from-file": {KeyFile: file}, "from-env": {}} {
		if got, err := c.Key("p", "OTHER_KEY", "SOME_API_KEY"); got != want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	t.Setenv("SOME_API_KEY", "")
	if _, err := (Config{}).Key("p", "SOME_API_KEY"); err == nil || err.Error() != "p: no API key: configure a key or a key file, or set SOME_API_KEY" {
		t.Errorf("no key: %v", err)
	}
	if _, err := (Config{KeyFile: filepath.Join(dir, "none")}).Key("p", "SOME_API_KEY"); err == nil {
		t.Error("a missing key file is not an error")
	}
}

func TestGuarded_RejectsLoopbackAddresses(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(srv.Close)
	a, err := Open("p", Config{BaseURL: srv.URL, HTTPClient: Guarded()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.HTTP().Get(srv.URL)
	if llm.KindOf(err) != llm.InvalidRequest {
		t.Errorf("%v", err)
	}
}

func TestReadEvents_ToleratesNonconformingServers(t *testing.T) {
	t.Parallel()
	in := "\xef\xbb\xbfevent: a\ndata: 1\n\n: comment\n\ndata:2\r\ndata: 3\r\n\r\nevent: b\n\nid: 7\ndata\n\ndata: [DONE]"
	var got []string
	for ev, err := range readEvents(strings.NewReader(in), 1<<20) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(ev.Type)+"|"+string(ev.Data))
	}
	if s := strings.Join(got, " "); s != "a|1 |2\n3 |[DONE]" {
		t.Errorf("%q", s)
	}
}
