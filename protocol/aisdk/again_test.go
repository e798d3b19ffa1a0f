package aisdk_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// works makes a mailbox work until stop is called.
func works(box *mailbox.Mailbox) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = box.Work(ctx) }()
	return func() { cancel(); <-done }
}

const (
	yesPart = `{"type":"tool-ask","toolCallId":"call_0","state":"approval-responded","approval":{"id":"suspend_call_0","approved":true}}`
	noPart  = `{"type":"tool-ask","toolCallId":"call_0","state":"approval-responded","approval":{"id":"suspend_call_0","approved":false}}`
)

// A page knows that its decision was accepted, although no worker is free to act on it.
func TestDecisions_AreAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	g := &rig{protocoltest.Idle(t, aisdk.Routes())}
	g.Box, g.URL = g.Start(false)
	stop := works(g.Box)
	if status, body := g.post(g.URL, `{"id":"t","agentId":"again","messages":[{"id":"m1","role":"user","content":"go"}]}`); status != 200 {
		t.Fatal(status, body)
	}
	stop()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second) // a heartbeat comes after 15
	defer cancel()
	body := fmt.Sprintf(`{"id":"t","messages":[{"id":"m1","role":"user","content":"go"},{"role":"assistant","parts":[%s]}]}`, yesPart)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+"/v1/ai-sdk/chat", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
}

// A page may lose the response to its approval and send its chat again before any worker has read the
// decision, or after the run has ended without reading it. The approval is the same one.
func TestDecisions_AnAcceptedOneThatIsSentAgainIsEqualBeforeARunReadsIt(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []bool{false, true} {
		t.Run(fmt.Sprintf("cancelled %t", cancelled), func(t *testing.T) {
			t.Parallel()
			g := &rig{protocoltest.Idle(t, aisdk.Routes())}
			g.Box, g.URL = g.Start(false)
			stop := works(g.Box)
			if status, body := g.post(g.URL, `{"id":"t","agentId":"again","messages":[{"id":"m1","role":"user","content":"go"}]}`); status != 200 {
				t.Fatal(status, body)
			}
			stop()
			run := g.Open("t")
			send := func(part string) *http.Response {
				t.Helper()
				return g.Send(http.MethodPost, g.URL+"/v1/ai-sdk/chat", fmt.Sprintf(`{"id":"t","messages":[{"id":"m1","role":"user","content":"go"},{"role":"assistant","parts":[%s]}]}`, part))
			}
			var streams sync.WaitGroup // no worker answers yet
			for i := range 3 {
				streams.Go(func() {
					resp := send(yesPart)
					defer resp.Body.Close()
					body, err := io.ReadAll(resp.Body)
					if err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), "[DONE]") || !cancelled && find(chunksOf(t, string(body)), "tool-output-available") == nil {
						t.Errorf("approval %d: %s, %v, %s", i, resp.Status, err, body)
					}
				})
			}
			records := func() []*awaken.Decided {
				t.Helper()
				list, err := g.Box.Tenant("").Decisions(t.Context(), mailbox.DecisionQuery{})
				if err != nil {
					t.Fatal(err)
				}
				return list
			}
			for len(records()) == 0 {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(50 * time.Millisecond) // the others follow
			refused := func(when string) {
				t.Helper()
				resp := send(noPart)
				defer resp.Body.Close()
				if body, _ := io.ReadAll(resp.Body); resp.StatusCode != 409 || !strings.Contains(string(body), "already_decided") {
					t.Errorf("a rejection %s: %s %s", when, resp.Status, body)
				}
			}
			refused("before a worker has read the approval")
			if cancelled {
				if err := g.Box.Tenant("").Cancel(t.Context(), run.RunID); err != nil {
					t.Fatal(err)
				}
			}
			defer works(g.Box)()
			streams.Wait()
			resp := send(yesPart)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if end := map[bool]string{true: "cancelled", false: "natural_end"}[cancelled]; err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), "[DONE]") || !strings.Contains(string(body), end) {
				t.Errorf("the approval, sent again after the end: %s, %v, %s", resp.Status, err, body)
			}
			refused("after the end")
			if list := records(); len(list) != 1 || list[0].Applied == nil || *list[0].Applied == cancelled {
				t.Errorf("records: %+v", list)
			}
		})
	}
}

// The same holds for the question of a delegate.
func TestDecisions_OnADelegateThatAreSentAgainAreEqual(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	status, body := g.post(g.URL, `{"id":"t","agentId":"boss","messages":[{"role":"user","content":"go"}]}`)
	asked := find(chunksOf(t, body), "tool-approval-request")
	if status != 200 || asked == nil {
		t.Fatalf("%d: %s", status, body)
	}
	part := func(approved bool) string {
		return fmt.Sprintf(`{"type":"tool-ask","toolCallId":%[1]q,"state":"approval-responded","approval":{"id":%[1]q,"approved":%[2]t}}`, asked["approvalId"], approved)
	}
	for range 2 {
		if status, body := g.decide(g.URL, "t", part(true)); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		for deadline := time.Now().Add(10 * time.Second); g.Open("t") != nil; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the run does not end")
			}
		}
	}
	if status, body := g.decide(g.URL, "t", part(false)); status != 409 || !strings.Contains(body, string(awaken.ActionResume)) {
		t.Errorf("a rejection: %d %s", status, body)
	}
}
