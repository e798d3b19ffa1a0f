package aisdk_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// A page that comes back to a run whose owner is lost waits for the next owner, and its stream says so.
func TestStream_SaysThatItWaitsForAWorker(t *testing.T) {
	g := protocoltest.Idle(t, aisdk.Routes())
	box, url := g.Start(false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := box.Tenant("").Submit(ctx, mailbox.Submission{Request: awaken.RunRequest{AgentID: "echo", ThreadID: "t", Messages: []*llm.Message{llm.UserText("go")}}}); err != nil {
		t.Fatal(err)
	}
	if err := g.DB.Join(ctx, "lost", time.Hour); err != nil {
		t.Fatal(err)
	}
	if ds, _, err := g.DB.Claim(ctx, mailbox.ClaimRequest{Consumer: "lost", Lease: time.Nanosecond, Limit: 1}); len(ds) != 1 || err != nil {
		t.Fatalf("claimed %v, %v", ds, err)
	}
	time.Sleep(2 * time.Millisecond)
	if n, err := g.DB.Reclaim(ctx, 1); n != 1 || err != nil {
		t.Fatalf("reclaimed %d, %v", n, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/ai-sdk/chat/t/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", resp, err)
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	line, err := in.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, ": waiting for a worker; the previous owner of the run was lost at 20") {
		t.Fatalf("the stream begins with %q, %v", line, err)
	}
	g.Start(true) // another process
	for !strings.Contains(line, "[DONE]") {
		if line, err = in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
}
