package main

import (
	"strings"
	"testing"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
)

// The guide docs/tools.md works as written.
func TestTools_Guide(t *testing.T) {
	t.Parallel()
	h := host(t, func(s *settings.Settings) { s.SeedProfile = "demo" })
	lines := curlLines(t, "docs/tools.md")
	want := []string{`"id":"clerk"`, `\"result\":\"0.3\"`, "Asia/Tokyo", "pack the books", "pack the books", "Which day?", "", "address is not allowed"}
	if len(lines) != len(want) {
		t.Fatalf("docs/tools.md has %d commands, want %d", len(lines), len(want))
	}
	vars := map[string]string{"AWAKEN_KEY": h.key}
	for i, line := range lines {
		if got := runCurl(t, h, line, vars); !strings.Contains(got, want[i]) {
			t.Errorf("%s: the answer is %s, want %s", line, got, want[i])
		}
	}
}
