// Package console has the web console of a server, and serves it.
//
// The console is a page that uses the HTTP API: it can do nothing that a program with the same key cannot.
// So its files are public, and what they show is not. They are built from the folder console of the
// repository and committed, so that a program with the console needs only Go:
//
//	web, err := console.New("")
//	...
//	srv, err := server.New(server.Config{Mailbox: box, Wings: wings, Console: web})
package console

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"html"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed all:dist
var built embed.FS

// policy lets the page load scripts, styles and data from its own server only, and no other page frame it. Inline
// code and eval do not run, so text of a model that ends up in the page is text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"

// pages are the first segments of the console's addresses. Those of the API are not among them, so a wrong address of
// the API is never answered with a page.
var pages = map[string]bool{"": true}

func init() {
	for _, name := range []string{"sign-in", "approvals", "runs", "threads", "agents", "compare", "tools", "skills", "assistant", "versions", "evals", "queue",
		"dead-letters", "cost", "audit", "providers", "models", "pools", "mcp-servers", "a2a-servers", "keys", "system", "config", "datasets", "traces", "schedules", "webhooks", "triggers"} {
		pages[name] = true
	}
}

// Console serves the files of the web console. It is safe for concurrent use.
type Console struct {
	files map[string]*file // by their path, without a leading slash
	index *file
}

// file is a file of the console.
type file struct {
	kind    string // the media type
	lasting bool   // the content of this name never changes
	data    []byte
	zipped  func() []byte // data with gzip, made when a client first takes it; nil if it would not be much shorter
}

func newFile(name string, data []byte) *file {
	f := &file{kind: kindOf(name), lasting: strings.HasPrefix(name, "assets/"), data: data}
	switch path.Ext(name) {
	case ".js", ".css", ".svg":
		f.zipped = sync.OnceValue(func() []byte {
			var b bytes.Buffer
			w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
			_, _ = w.Write(data)                                  // a buffer takes everything
			_ = w.Close()
			return b.Bytes()
		})
	}
	return f
}

// New returns the console of a server whose clients see it at base: "" for the root, or a path such as "/awaken".
func New(base string) (*Console, error) {
	dist, err := fs.Sub(built, "dist")
	if err != nil {
		return nil, err
	}
	return open(dist, base)
}

// open is New with the files of a folder.
func open(dist fs.FS, base string) (*Console, error) {
	c := &Console{files: map[string]*file{}}
	err := fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		c.files[name] = newFile(name, data)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	index := c.files["index.html"]
	if index == nil {
		return nil, fmt.Errorf("console: the built files have no index.html")
	}
	delete(c.files, "index.html") // it is at the pages' addresses
	const root = `<base href="/"`
	page := index.data
	if !bytes.Contains(page, []byte(root)) {
		return nil, fmt.Errorf("console: index.html has no %s>", root)
	}
	page = bytes.Replace(page, []byte(root), []byte(`<base href="`+html.EscapeString(strings.TrimSuffix(base, "/"))+`/"`), 1)
	c.index = &file{kind: "text/html; charset=utf-8", data: page}
	return c, nil
}

// kindOf returns the media type of a file. The types of the machine do not matter.
func kindOf(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".webmanifest":
		return "application/manifest+json"
	case ".txt":
		return "text/plain; charset=utf-8"
	default:
		if t := mime.TypeByExtension(ext); t != "" {
			return t
		}
		return "application/octet-stream"
	}
}

// Serve answers a request for a file of the console, or of a browser for one of its pages, and reports whether it
// did. All other requests are left to the server: those of programs too, which do not ask for HTML.
func (c *Console) Serve(w http.ResponseWriter, r *http.Request) (served bool) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	if f := c.files[name]; f != nil {
		f.write(w, r)
		return true
	}
	first, _, _ := strings.Cut(name, "/")
	if first == "" && name != "" || !pages[first] || !wantsPage(r) {
		return false
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	c.index.write(w, r)
	return true
}

// wantsPage reports whether a request accepts HTML by name, as browsers do when they open an address.
func wantsPage(r *http.Request) bool {
	for _, list := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(list, ",") {
			if kind, _, _ := strings.Cut(part, ";"); strings.EqualFold(strings.TrimSpace(kind), "text/html") {
				return true
			}
		}
	}
	return false
}

// write sends a file, with gzip if the client takes it.
func (f *file) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if f.lasting {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	data := f.data
	if f.zipped != nil {
		h.Add("Vary", "Accept-Encoding")
		if accepts(r, "gzip") {
			data = f.zipped()
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(data)
	}
}

// accepts reports whether a client names a content coding, and does not refuse it.
func accepts(r *http.Request, coding string) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), coding) {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
			return err != nil || q > 0
		}
	}
	return false
}
