package server_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/server/servertest"
)

// raw sends a request and returns the response with its body.
func (g *rig) raw(method, path, mediaType string, body []byte, headers ...string) (*http.Response, []byte) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.http.URL+path, bytes.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return resp, data
}

// upload uploads a file and returns its ID.
func (g *rig) upload(mediaType string, data []byte, headers ...string) string {
	g.t.Helper()
	resp, body := g.raw("POST", "/v1/blobs", mediaType, data, headers...)
	if resp.StatusCode != 201 {
		g.t.Fatalf("the upload got %s: %s", resp.Status, body)
	}
	return strings.TrimPrefix(resp.Header.Get("Location"), "/v1/blobs/")
}

// A file comes back as it was, whole, in part or not at all if the client has it.
func TestBlobs_UploadAndDownload(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	data := bytes.Repeat([]byte("0123456789"), 60_000)
	id := g.upload("image/png", data)
	if again := g.upload("image/png", data); again != id {
		t.Errorf("the same file is %s and %s", id, again)
	}
	resp, body := g.raw("GET", "/v1/blobs/"+id, "", nil)
	if resp.StatusCode != 200 || !bytes.Equal(body, data) || resp.Header.Get("Content-Type") != "image/png" || resp.Header.Get("ETag") != `"`+id+`"` {
		t.Errorf("the download got %s, %d bytes, %v", resp.Status, len(body), resp.Header)
	}
	if resp, body := g.raw("GET", "/v1/blobs/"+id, "", nil, "Range", "bytes=599990-"); resp.StatusCode != 206 || string(body) != "0123456789" {
		t.Errorf("a part got %s, %q", resp.Status, body)
	}
	if resp, _ := g.raw("GET", "/v1/blobs/"+id, "", nil, "If-None-Match", `"`+id+`"`); resp.StatusCode != 304 {
		t.Errorf("a client that has it got %s", resp.Status)
	}
	if resp, body := g.raw("HEAD", "/v1/blobs/"+id, "", nil); resp.StatusCode != 200 || resp.ContentLength != 600_000 || len(body) > 0 {
		t.Errorf("HEAD got %s, %d", resp.Status, resp.ContentLength)
	}
	list := g.want(200, "GET", "/v1/blobs?limit=1", "")
	if items := list["items"].([]any); len(items) != 1 || items[0].(map[string]any)["url"] != "/v1/blobs/"+id {
		t.Errorf("the list is %v", list)
	}
}

// A file that could have scripts is never shown by a browser as a page of this server.
func TestBlobs_PagesAreNotShown(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for mediaType, shown := range map[string]bool{"text/html": false, "image/svg+xml": false, "application/xhtml+xml": false, "image/png": true, "text/plain; charset=utf-8": true} {
		resp, _ := g.raw("GET", "/v1/blobs/"+g.upload(mediaType, []byte("<script>alert(1)</script>")), "", nil)
		h := resp.Header
		if (h.Get("Content-Disposition") == "") != shown || h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s has headers %v", mediaType, h)
		}
	}
}

// Pages of the list have every file once.
func TestBlobs_List(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for i := range 5 {
		g.upload("text/plain", fmt.Append(nil, i))
	}
	seen, path := map[any]bool{}, "/v1/blobs?limit=2"
	for n := 0; ; n++ {
		page := g.want(200, "GET", path, "")
		for _, item := range page["items"].([]any) {
			seen[item.(map[string]any)["id"]] = true
		}
		next, more := page["next_cursor"].(string)
		if !more {
			break
		}
		if n > 5 {
			t.Fatal("the list has no end")
		}
		path = "/v1/blobs?limit=2&cursor=" + next
	}
	if len(seen) != 5 {
		t.Errorf("the pages have %d files", len(seen))
	}
	g.want(400, "GET", "/v1/blobs?cursor=nonsense", "")
}

// What cannot be stored is refused with a reason, and leaves nothing behind.
func TestBlobs_BadInput(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Files.Bytes, c.Files.Total = 1000, 1500 })
	for _, c := range []struct {
		mediaType string
		size      int
		encoding  string
		status    int
		want      string
	}{
		{"", 1, "", 400, "want one such as image/png"},
		{"nonsense", 1, "", 400, "want one such as image/png"},
		{"*/*", 1, "", 400, "want one such as image/png"},
		{"text/plain", 1, "gzip", 415, "want identity"},
		{"text/plain", 1001, "", 413, "want at most 1000"},
	} {
		resp, body := g.raw("POST", "/v1/blobs", c.mediaType, make([]byte, c.size), "Content-Encoding", c.encoding)
		if resp.StatusCode != c.status || !strings.Contains(string(body), c.want) {
			t.Errorf("%+v got %s: %s", c, resp.Status, body)
		}
	}
	// A body without a length is measured as it arrives.
	req, _ := http.NewRequestWithContext(t.Context(), "POST", g.http.URL+"/v1/blobs", io.MultiReader(bytes.NewReader(make([]byte, 5000))))
	req.Header.Set("Content-Type", "text/plain")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 413 {
		t.Errorf("a long body without a length got %s", resp.Status)
	}
	if items := g.want(200, "GET", "/v1/blobs", "")["items"].([]any); len(items) > 0 {
		t.Errorf("there are files: %v", items)
	}
	g.upload("text/plain", make([]byte, 900))
	if resp, body := g.raw("POST", "/v1/blobs", "text/plain", make([]byte, 700)); resp.StatusCode != 413 || !strings.Contains(string(body), "leaves 600 of 1500") {
		t.Errorf("more than the tenant may have got %s: %s", resp.Status, body)
	}
	inline := base64.StdEncoding.EncodeToString(make([]byte, 9000))
	resp2, body := g.raw("POST", "/v1/runs", "application/json", []byte(`{"agent_id":"default","thread_id":"t","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+inline+`"}}]}]}`))
	if resp2.StatusCode != 413 || !strings.Contains(string(body), "leaves 600 of 1500") {
		t.Errorf("a message with more than the tenant may have got %s: %s", resp2.Status, body)
	}
	g.want(404, "GET", "/v1/threads/t", "")
	for _, id := range []string{"x", strings.Repeat("0", 64), "%2e%2e%2fetc"} {
		if resp, _ := g.raw("GET", "/v1/blobs/"+id, "", nil); resp.StatusCode != 404 {
			t.Errorf("blob %s got %s", id, resp.Status)
		}
	}
}

// A message refers to an uploaded file, and a large file in a message becomes one.
func TestBlobs_InMessages(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	data := bytes.Repeat([]byte("x"), 50_000)
	id := g.upload("image/png", data)
	inline := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("y"), 50_000))
	body := fmt.Sprintf(`{"agent_id":"default","thread_id":"t","stream":false,"messages":[{"role":"user","content":[{"type":"text","text":"hi"},
		{"type":"image","source":{"type":"blob","id":%q,"media_type":"image/png"}},{"type":"image","source":{"type":"base64","media_type":"image/png","data":%q}}]}]}`, id, inline)
	g.want(200, "POST", "/v1/runs", body)
	_, page := g.raw("GET", "/v1/threads/t/messages", "", nil)
	if strings.Contains(string(page), inline) || strings.Count(string(page), `"type":"blob"`) != 2 || !strings.Contains(string(page), `"size":50000`) {
		t.Errorf("the messages are %.600s", page)
	}
	for _, c := range []struct{ source, want string }{
		{`{"type":"blob","id":"` + strings.Repeat("0", 64) + `","media_type":"image/png"}`, "does not exist; upload it"},
		{`{"type":"blob","id":"../x","media_type":"image/png"}`, "does not exist"},
		{`{"type":"blob","id":"` + id + `","media_type":"application/pdf"}`, `but the file is \"image/png\"`},
		{`{"type":"blob","id":"` + id + `","media_type":"image/p"}`, `but the file is \"image/png\"`},
		{`{"type":"blob","id":"` + id + `","media_type":";"}`, `but the file is \"image/png\"`},
	} {
		resp, body := g.raw("POST", "/v1/runs", "application/json", []byte(`{"agent_id":"default","thread_id":"t2","messages":[{"role":"user","content":[{"type":"image","source":`+c.source+`}]}]}`))
		if resp.StatusCode != 400 || !strings.Contains(string(body), c.want) {
			t.Errorf("%s got %s: %s", c.source, resp.Status, body)
		}
	}
	g.want(404, "GET", "/v1/threads/t2", "")
}

// A user reads, lists and sends what the user uploaded or has in a thread, and nothing else.
func TestBlobs_OfUsers(t *testing.T) {
	t.Parallel()
	g, operator := withUsers(t)
	alice, bob := []string{"X-User", "alice"}, []string{"X-User", "bob"}
	id := g.upload("image/png", []byte("hers"), alice...)
	for _, c := range []struct {
		who    []string
		status int
		items  int
	}{{alice, 200, 1}, {bob, 404, 0}, {nil, 404, 0}, {operator, 200, 1}} {
		if resp, _ := g.raw("GET", "/v1/blobs/"+id, "", nil, c.who...); resp.StatusCode != c.status {
			t.Errorf("%v got %s", c.who, resp.Status)
		}
		if items := g.want(200, "GET", "/v1/blobs", "", c.who...)["items"].([]any); len(items) != c.items {
			t.Errorf("%v lists %v", c.who, items)
		}
	}
	message := `{"agent_id":"default","stream":false,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"blob","media_type":"image/png","id":"` + id + `"}}]}]`
	g.want(400, "POST", "/v1/runs", message+`}`, bob...)
	ran := g.want(200, "POST", "/v1/runs", message+`}`, alice...)
	// An operator gives the thread to another user, who then reads its file.
	g.want(200, "PATCH", "/v1/threads/"+ran["thread_id"].(string), `{"user_id":"bob"}`, operator...)
	if resp, _ := g.raw("GET", "/v1/blobs/"+id, "", nil, bob...); resp.StatusCode != 200 {
		t.Errorf("the thread's user got %s", resp.Status)
	}
}

// A submission that is refused gives no other user its files: neither by the thread that it named, nor by that thread when
// the other user creates it.
func TestBlobs_OfRefusedSubmissions(t *testing.T) {
	t.Parallel()
	g, _ := withUsers(t)
	alice, bob := []string{"X-User", "alice", "Idempotency-Key", "k"}, []string{"X-User", "bob"}
	g.want(200, "POST", "/v1/runs", `{"agent_id":"default","thread_id":"hers","stream":false,"messages":[{"role":"user","content":"hi"}]}`, alice...)
	id := g.upload("image/png", []byte("hers"), alice[:2]...)
	inline := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("y"), 50_000))
	g.want(409, "POST", "/v1/runs", `{"agent_id":"default","thread_id":"wanted","messages":[{"role":"user","content":[{"type":"image","source":{"type":"blob","media_type":"image/png","id":"`+id+`"}},
		{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+inline+`"}}]}]}`, alice...)
	g.want(200, "POST", "/v1/runs", `{"agent_id":"default","thread_id":"wanted","stream":false,"messages":[{"role":"user","content":"hi"}]}`, bob...)
	if items := g.want(200, "GET", "/v1/blobs", "", bob...)["items"].([]any); len(items) > 0 {
		t.Errorf("the other user lists %v", items)
	}
	if resp, _ := g.raw("GET", "/v1/blobs/"+id, "", nil, bob...); resp.StatusCode != 404 {
		t.Errorf("the other user got %s", resp.Status)
	}
	if items := g.want(200, "GET", "/v1/blobs", "", alice[:2]...)["items"].([]any); len(items) != 2 {
		t.Errorf("the user lists %v", items)
	}
}

// patient is a response that records the deadline of its connection for reading.
type patient struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (p *patient) SetReadDeadline(t time.Time) error { p.deadline = t; return nil }

// A deadline for reading ends a request when it passes. None is left while a file that has arrived is
// stored, and while a client downloads one, which may take longer than a request may.
func TestBlobs_NoDeadlineEndsTransfers(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for _, r := range []*http.Request{
		httptest.NewRequestWithContext(t.Context(), "POST", "/v1/blobs", strings.NewReader("x")),
		httptest.NewRequestWithContext(t.Context(), "GET", "/v1/blobs/"+g.upload("text/plain", []byte("x")), nil),
	} {
		r.Host = strings.TrimPrefix(g.http.URL, "http://")
		r.Header.Set("Content-Type", "text/plain")
		w := &patient{httptest.NewRecorder(), time.Now()}
		g.http.Config.Handler.ServeHTTP(w, r)
		if w.Code >= 300 || !w.deadline.IsZero() {
			t.Errorf("%s got %d: %s, and the connection may be read until %s", r.Method, w.Code, w.Body, w.deadline)
		}
	}
}
