package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/sectiontest"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/web"
)

// site answers with pages of all kinds.
func site(t *testing.T) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, `<!doctype html><html><head><title>A &amp; B</title><style>p{}</style></head><body><!-- <p>no</p> --><h1>Hello</h1><script>if (1 < 2) { steal() }</script><p title="a > b">One&nbsp;<b>two</b><br>three 1 < 2</p><ul><li>x</li><li>y</ul></body></html>`)
		case "/json":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"a":1}`)
		case "/image":
			w.Header().Set("Content-Type", "image/png")
		case "/long":
			fmt.Fprint(w, strings.Repeat("ä", 5000))
		case "/title":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<title>"+strings.Repeat("t", 500_000)+"</title>x")
		case "/slow":
			<-r.Context().Done() // the client gives up
		case "/away":
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

// fetch makes one call, and returns its result and the run.
func fetch(t *testing.T, section, url string, allow ...netip.Prefix) (string, *awaken.Run) {
	t.Helper()
	spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{web.Name}}
	if section != "" {
		spec.Sections = map[string]json.RawMessage{web.Name: json.RawMessage(section)}
	}
	args, err := json.Marshal(map[string]string{"url": url})
	if err != nil {
		t.Fatal(err)
	}
	h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{web.New(allow)}}, llmtest.Use("web_fetch", string(args)), llmtest.Say("ok"))
	rec := h.Say("go")
	run, err := h.Store.LoadRun(t.Context(), rec.Result.RunID)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range h.Messages(rec.Result.ThreadID) {
		if m.ToolCallID != "" {
			return m.Text(), run
		}
	}
	return "", run
}

// Every field of the section has its effect; a page is read as text, and taints the run.
func TestSection(t *testing.T) {
	t.Parallel()
	srv := site(t)
	loopback := netip.MustParsePrefix("127.0.0.0/8")
	var docs []string
	for _, tt := range []struct{ name, section, path, want string }{
		{"a page", ``, "/page", `"status":200,"content_type":"text/html","title":"A & B","text":"Hello\nOne two\nthree 1 < 2\nx\ny"`},
		{"JSON", ``, "/json", `"content_type":"application/json","text":"{\"a\":1}"`},
		{"what is not text", ``, "/image", `is image/png, want a text`},
		{"a host that is allowed", `{"hosts":["127.0.0.1"]}`, "/json", `"status":200`},
		{"another host", `{"hosts":["go.dev","*.go.dev"]}`, "/json", `host "127.0.0.1" is not allowed`},
		{"max_bytes", `{"max_bytes":100}`, "/long", `response is too large`},
		{"max_text_bytes", `{"max_text_bytes":5}`, "/long", `"text":"ää","truncated":true`},
		{"a title without end", ``, "/title", `"title":"` + strings.Repeat("t", 1000) + `","text":"x"`},
		{"timeout_seconds", `{"timeout_seconds":1}`, "/slow", `took longer than 1 s, which is timeout_seconds`},
		{"a redirect to an address that is not public", ``, "/away", `address is not allowed`},
	} {
		docs = append(docs, tt.section)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, run := fetch(t, tt.section, srv.URL+tt.path, loopback)
			if !strings.Contains(got, tt.want) {
				t.Errorf("the result is %s, want %s", got, tt.want)
			}
			if run.Taint == nil || run.Taint.Tool != "web_fetch" {
				t.Errorf("the run is tainted by %+v", run.Taint)
			}
		})
	}
	sectiontest.Covers[web.Config](t, docs...)
}

// Addresses that are not public, and what is no address of a page, are refused.
func TestRefuses(t *testing.T) {
	t.Parallel()
	srv := site(t)
	for _, u := range []string{srv.URL + "/json", "http://169.254.169.254/", "http://[::1]/", "http://0x7f000001/", "http://10.0.0.1/", "file:///etc/passwd", "ftp://go.dev/", "gopher://x", "javascript:1", "", "/page",
		"http://user:secret@127.0.0.1/", "http://localhost/"} {
		if got, _ := fetch(t, "", u); strings.Contains(got, `"status"`) {
			t.Errorf("%s was read: %s", u, got)
		}
	}
}

func TestSection_Mistakes(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]string{
		`{"hosts":["http://x"]}`:  `hosts[0] is "http://x", want a host name such as go.dev or *.go.dev`,
		`{"max_bytes":0}`:         `max_bytes is 0, want 1 to 33554432`,
		`{"max_text_bytes":0}`:    `max_text_bytes is 0, want 1 to 1048576`,
		`{"timeout_seconds":301}`: `timeout_seconds is 301, want 1 to 300`,
	} {
		spec := &awaken.AgentSpec{ID: "a", ModelID: "m", PluginIDs: []string{web.Name}, Sections: map[string]json.RawMessage{web.Name: json.RawMessage(section)}}
		_, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{web.New(nil)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", section, err, want)
		}
	}
}
