package mcp_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/mcp"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// TestGolden encodes the events of every run of the golden corpus, for both eras, and compares the bytes with testdata/runs.
func TestGolden(t *testing.T) {
	protocoltest.Golden(t, ".txtar", func(t *testing.T, r *protocoltest.GoldenRun) []byte {
		older := mcp.Options{Request: []byte("1"), Progress: []byte("2"), Level: "info", Elicits: true}
		newer := mcp.Options{Request: []byte("1"), Modern: true, Elicits: true, State: func(tickets []string) string { return strings.Join(tickets, " ") }}
		return txtar.Format(&txtar.Archive{Files: []txtar.File{
			{Name: "2025-11-25", Data: []byte(protocoltest.Encode(t, mcp.NewEncoder(older), r.First(), protocol.Position{}))},
			{Name: "2026-07-28", Data: []byte(protocoltest.Encode(t, mcp.NewEncoder(newer), r.First(), protocol.Position{}))},
		}})
	})
}
