package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	atEnd      = regexp.MustCompile(`run_finish|RUN_FINISHED|"status":"done"|TASK_STATE_COMPLETED|response\.completed|data: \[DONE\]|"jsonrpc":"2.0","id":\d+,"result":`)
	jqField    = regexp.MustCompile(`^jq -r '\.(\w+)'$`)
	// What answers put into the variables of the commands after them.
	learned = map[string]*regexp.Regexp{
		"BLOB":        regexp.MustCompile(`"url":"/v1/blobs/([0-9a-f]{64})"`),
		"RUN":         regexp.MustCompile(`"run_id":"([^"]+)"`),
		"CALL":        regexp.MustCompile(`"tool_call_id":"([^"]+)"`),
		"PENDING":     regexp.MustCompile(`"pending_id":"([^"]+)"`),
		"EVENT":       regexp.MustCompile(`"id":"([^"]+)","ts"`),
		"RESPONSE":    regexp.MustCompile(`"id":"(resp_[^"]+)"`),
		"APPROVAL":    regexp.MustCompile(`"id":"(mcpr_[^"]+)"`),
		"TOOL_CALL":   regexp.MustCompile(`"call_id":"(call_[^"]+)"`),
		"COOKIE":      regexp.MustCompile(`Set-Cookie: (awaken_session[^;]+);`),
		"KEY_ID":      regexp.MustCompile(`"id":"(key_[^"]+)"`),
		"DIGEST":      regexp.MustCompile(`"name":"default",[^{}]*"digest":"([0-9a-f]{64})"`),
		"EVAL":        regexp.MustCompile(`"run":\{"id":"([^"]+)","dataset_id"`),
		"TRIGGER_URL": regexp.MustCompile(`"url":"(http[^"]+/fire[^"]+)"`),
		"TASK":        regexp.MustCompile(`"task":\{"id":"([^"]+)"`),
	}
)

// curlLines returns the curl commands of a document, in order. A command continues on the
// next line after a backslash, and inside quotes.
func curlLines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testenv.ModuleRoot(t), path))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, block := range shellBlock.FindAllStringSubmatch(string(data), -1) {
		for _, line := range commands(block[1]) {
			if strings.HasPrefix(line, "curl ") {
				out = append(out, line)
			}
		}
	}
	return out
}

// commands takes a script apart.
func commands(script string) []string {
	var out []string
	var quote rune
	comment, escaped, from := false, false, 0
	for i, r := range script + "\n" {
		switch {
		case escaped:
			escaped = false
		case comment && r != '\n', quote == '\'' && r != quote:
		case r == '\\':
			escaped = true
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case r == '#' && (i == from || script[i-1] == ' '):
			comment = true
		case r == '\n':
			if line := strings.TrimSpace(script[from:min(i, len(script))]); line != "" {
				out = append(out, line)
			}
			comment, from = false, i+1
		}
	}
	return out
}

// The curl commands in the documents work as written. Their status is below 300, or the one in
// the comment after them.
func TestDocs_Curl(t *testing.T) {
	for _, c := range []struct {
		path, seed string
		least      int // commands that there must be
	}{{"README.md", "minimal", 2}, {"docs/getting-started.md", "demo", 3}, {"docs/http.md", "demo", 80}, {"docs/openai.md", "demo", 16}, {"docs/operations.md", "demo", 2}, {"docs/a2a.md", "demo", 10}, {"docs/mcp.md", "demo", 3}, {"docs/mcp-tools.md", "demo", 6}, {"docs/skills.md", "demo", 5}, {"docs/schedules.md", "demo", 8}, {"docs/webhooks.md", "demo", 6}, {"docs/triggers.md", "demo", 8}, {"docs/generative-ui.md", "demo", 9}, {"docs/observability.md", "demo", 3}} {
		t.Run(filepath.Base(c.path), func(t *testing.T) {
			t.Parallel()
			lines := curlLines(t, c.path)
			if len(lines) < c.least {
				t.Fatalf("%s has %d curl commands, want %d or more", c.path, len(lines), c.least)
			}
			h := host(t, func(s *settings.Settings) {
				s.SeedProfile, s.Server.MCP.Commands, s.Admin.Traces = c.seed, []string{"awaken"}, true
			})
			vars := map[string]string{"AWAKEN_KEY": h.key}
			for _, line := range lines {
				runCurl(t, h, line, vars)
			}
		})
	}
}

// runCurl runs a command and returns what it prints. Behind it there may be a jq that takes
// one field.
func runCurl(t *testing.T, h *hosted, line string, vars map[string]string) string {
	t.Helper()
	field := ""
	if before, pipe, ok := strings.Cut(line, " | "); ok {
		m := jqField.FindStringSubmatch(pipe)
		if m == nil {
			t.Fatalf("%s: the test knows no %s", line, pipe)
		}
		line, field = before, m[1]
	}
	words, err := shellWords(strings.ReplaceAll(line, "http://127.0.0.1:3000", h.url), vars)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var buf bytes.Buffer
	var out io.Writer = &buf
	endless := (strings.Contains(line, "/v1/threads/") || strings.Contains(line, "/v1/events/")) && strings.Contains(line, "/events/stream")
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
	if !endless && strings.Contains(line, "curl -N") && !atEnd.MatchString(buf.String()) {
		t.Errorf("%s\nit did not end: %s", line, buf.String())
	}
	for name, re := range learned {
		if m := re.FindAllStringSubmatch(buf.String(), -1); m != nil && status < 300 {
			vars[name] = m[len(m)-1][1]
		}
	}
	if field == "" {
		return buf.String()
	}
	var fields map[string]any
	if err := json.Unmarshal(buf.Bytes(), &fields); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	text, ok := fields[field].(string)
	if !ok {
		t.Errorf("%s\nthere is no text %s: %s", line, field, buf.String())
	}
	return text
}
