package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/internal/testenv"
)

var (
	shellBlock = regexp.MustCompile("(?s)\n```sh\n(.*?)\n```")
	wanted     = regexp.MustCompile(`# (\d\d\d)$`)
	// What answers put into the variables of the commands after them.
	learned = map[string]*regexp.Regexp{
		"RUN":     regexp.MustCompile(`"run_id":"([^"]+)"`),
		"CALL":    regexp.MustCompile(`"tool_call_id":"([^"]+)"`),
		"PENDING": regexp.MustCompile(`"pending_id":"([^"]+)"`),
		"KEY_ID":  regexp.MustCompile(`"id":"(key_[^"]+)"`),
	}
)

// curlLines returns the curl commands of a document, in order. A line that ends in a
// backslash goes on in the next.
func curlLines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), path))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, block := range shellBlock.FindAllStringSubmatch(string(data), -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", "\x00")) {
			if line = strings.TrimSpace(strings.ReplaceAll(line, "\x00", "\\\n")); strings.HasPrefix(line, "curl ") {
				out = append(out, line)
			}
		}
	}
	return out
}

// The curl commands of the documents work as they are there. Their status is below 300,
// or the one in the comment behind them.
func TestDocs_Curl(t *testing.T) {
	for _, c := range []struct {
		path, seed string
		least      int // commands that there must be
	}{{"README.md", "minimal", 2}, {"docs/getting-started.md", "demo", 3}, {"docs/http.md", "demo", 50}, {"docs/operations.md", "demo", 2}} {
		t.Run(filepath.Base(c.path), func(t *testing.T) {
			t.Parallel()
			lines := curlLines(t, c.path)
			if len(lines) < c.least {
				t.Fatalf("%s has %d curl commands, want %d or more", c.path, len(lines), c.least)
			}
			h := host(t, func(s *settings.Settings) { s.SeedProfile = c.seed })
			vars := map[string]string{"AWAKEN_KEY": h.key}
			for _, line := range lines {
				runCurl(t, h, line, vars)
			}
		})
	}
}

func runCurl(t *testing.T, h *hosted, line string, vars map[string]string) {
	t.Helper()
	words, err := shellWords(strings.ReplaceAll(line, "http://127.0.0.1:3000", h.url), vars)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var buf bytes.Buffer
	var out io.Writer = &buf
	endless := strings.Contains(line, "/v1/threads/") && strings.Contains(line, "/events/stream")
	if endless {
		out = &firstFrame{done: cancel}
	}
	status, err := curl(ctx, words[1:], out)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if f, ok := out.(*firstFrame); ok {
		buf = f.buf
	}
	t.Logf("%d %s", status, line)
	want := "2.."
	if m := wanted.FindStringSubmatch(line); m != nil {
		want = m[1]
	}
	if ok, _ := regexp.MatchString("^"+want+"$", strconv.Itoa(status)); !ok {
		t.Errorf("%s\n%d, want %s: %s", line, status, want, buf.String())
	}
	if strings.Contains(line, "curl -N") && !strings.Contains(buf.String(), "\ndata: {") {
		t.Errorf("%s\nno events: %s", line, buf.String())
	}
	if !endless && strings.Contains(line, "curl -N") && !strings.Contains(buf.String(), "run_finish") {
		t.Errorf("%s\nit did not end: %s", line, buf.String())
	}
	for name, re := range learned {
		if m := re.FindAllStringSubmatch(buf.String(), -1); m != nil && status < 300 {
			vars[name] = m[len(m)-1][1]
		}
	}
}
