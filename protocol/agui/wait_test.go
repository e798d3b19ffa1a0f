package agui_test

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
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// A page that comes back to a run without an owner waits for the next one, and its stream says so,
// whether the run has events or not, whether the loss was known before or is noticed later, and
// whether the owner died or was stopped.
func TestStream_SaysThatItWaitsForAWorker(t *testing.T) {
	t.Parallel()
	lost := ": waiting for a worker; the previous owner of the run was lost at 20"
	for name, test := range map[string]struct {
		prepare func(t *testing.T, g *protocoltest.Rig, box *mailbox.Mailbox)
		later   bool // the loss is noticed after the page has come back
		want    string
	}{
		"lost before the first event": {func(t *testing.T, g *protocoltest.Rig, box *mailbox.Mailbox) {
			claim(t, g, box, time.Nanosecond)
			reclaim(t, g)
		}, false, lost},
		"noticed later": {func(t *testing.T, g *protocoltest.Rig, box *mailbox.Mailbox) { claim(t, g, box, time.Second) }, true, lost},
		"stopped in the middle of an answer": {func(t *testing.T, g *protocoltest.Rig, box *mailbox.Mailbox) {
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() { defer close(done); _ = box.Work(ctx) }()
			submit(t, box, "slow")
			for g.Open("t") == nil {
				time.Sleep(time.Millisecond)
			}
			cancel() // SIGTERM
			<-done
		}, false, ": waiting for a worker; the previous owner of the run "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slow := make(chan struct{})
			g := protocoltest.Idle(t, agui.Routes())
			g.Slow = slow
			box, url := g.Start(false)
			g.Box = box
			test.prepare(t, g, box)
			resp := g.Send(http.MethodGet, url+"/v1/ag-ui/threads/t/stream", "")
			defer resp.Body.Close()
			if resp.StatusCode != 200 {
				t.Fatal(resp.Status)
			}
			if test.later {
				reclaim(t, g)
			}
			in := bufio.NewReader(resp.Body)
			began := time.Now()
			for {
				line, err := in.ReadString('\n')
				if err != nil || time.Since(began) > 8*time.Second {
					t.Fatalf("after %s: %q, %v, want %q", time.Since(began), line, err, test.want)
				}
				if strings.HasPrefix(line, test.want) {
					break
				}
			}
			close(slow)
			g.Start(true) // another process
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(line, "RUN_FINISHED") {
					break
				}
			}
		})
	}
}

func submit(t *testing.T, box *mailbox.Mailbox, agent string) {
	t.Helper()
	if _, err := box.Tenant("").Submit(t.Context(), mailbox.Submission{Request: awaken.RunRequest{AgentID: agent, ThreadID: "t", Messages: []*llm.Message{llm.UserText("go")}}}); err != nil {
		t.Fatal(err)
	}
}

// claim submits a run and claims it for a process that does nothing.
func claim(t *testing.T, g *protocoltest.Rig, box *mailbox.Mailbox, lease time.Duration) {
	t.Helper()
	submit(t, box, "default")
	if err := g.DB.Join(t.Context(), "lost", time.Hour); err != nil {
		t.Fatal(err)
	}
	if ds, _, err := g.DB.Claim(t.Context(), mailbox.ClaimRequest{Consumer: "lost", Lease: lease, Limit: 1}); len(ds) != 1 || err != nil {
		t.Fatalf("claimed %v, %v", ds, err)
	}
}

// reclaim waits until the claim can be taken back.
func reclaim(t *testing.T, g *protocoltest.Rig) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		n, err := g.DB.Reclaim(t.Context(), 1)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("reclaimed %d, %v", n, err)
		}
		if n == 1 {
			return
		}
	}
}
