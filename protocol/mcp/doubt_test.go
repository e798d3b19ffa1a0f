package mcp_test

import (
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/claimtest"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/mcp"
)

// The log of a call does not say that a tool has completed whose call is in doubt.
func TestEncoder_LogsACallInDoubt(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]awaken.Event{
		"done":    &awaken.ToolCallDone{ID: "c", Result: awaken.InDoubtResult("no answer"), Outcome: awaken.CallFailed},
		"resumed": &awaken.ToolCallResumed{TargetID: "c", Outcome: awaken.CallCancelled, Doubt: &awaken.Doubt{Since: 1, Origin: awaken.DoubtIntent}},
	} {
		enc := mcp.NewEncoder(mcp.Options{RunID: "r", Request: []byte("1"), Level: "info"})
		var f protocol.Frames
		for i, ev := range []awaken.Event{&awaken.ToolCallReady{ID: "c", Name: "pay"}, end} {
			if err := enc.Encode(&f, &awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: uint64(i + 1)}, Event: ev}); err != nil {
				t.Fatal(err)
			}
		}
		text := string(f.Bytes())
		if claims := claimtest.Find(text); len(claims) > 0 || !strings.Contains(text, "tool pay is in doubt") {
			t.Errorf("%s: the client gets %s, with the claims %q", name, text, claims)
		}
	}
}
