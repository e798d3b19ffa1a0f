package mcp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/protocol/mcp"
	"github.com/awaken-go/awaken/store/memory"
)

// A session is over after 30 days: its client is told to begin another.
func TestSession_Expires(t *testing.T) {
	g := newRig(t)
	for days, want := range map[int]int{0: 200, 29: 200, 31: 404} {
		token := mcp.SessionSince(key, time.Now().AddDate(0, 0, -days))
		status, body := g.Ask(http.MethodPost, g.URL+"/v1/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", token)
		if status != want || want == 404 && !strings.Contains(body, "initialize another") {
			t.Errorf("a session of %d days: %d %s", days, status, body)
		}
	}
}

// The levels of sessions do not grow without bound, and the latest are kept.
func TestLevels_AreBounded(t *testing.T) {
	levels := memory.NewProfile()
	for i := range mcp.MaxLevels + 50 {
		if err := levels.Set(t.Context(), "mcp_log_level", fmt.Sprint("old", i), []byte(`"debug"`)); err != nil {
			t.Fatal(err)
		}
	}
	cfg := withTools
	cfg.Levels = levels
	g := newRigWith(t, cfg, nil)
	token := mcp.SessionSince(key, time.Now())
	kept := mcp.MaxLevels + 51
	for i := 0; kept > mcp.MaxLevels && i < 2000; i++ { // old ones are looked for now and then
		if status, body := g.Ask(http.MethodPost, g.URL+"/v1/mcp", `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}`, "Mcp-Session-Id", token); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		list, err := levels.List(t.Context(), "mcp_log_level")
		if err != nil {
			t.Fatal(err)
		}
		kept = len(list)
	}
	if kept > mcp.MaxLevels {
		t.Errorf("%d levels are kept, want at most %d", kept, mcp.MaxLevels)
	}
}
