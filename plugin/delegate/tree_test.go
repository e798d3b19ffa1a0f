package delegate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
)

// Delegations of one tree that start at the same moment, in one process or in two, never
// exceed the limit of the tree.
func TestLimit_OfDescendantsHoldsForConcurrentStarts(t *testing.T) {
	const most, each = 5, 16
	for _, processes := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d processes", processes), func(t *testing.T) {
			for range 5 {
				c := newCrew(t)
				// Each boss delegates more work than the whole tree may have.
				var work []llmtest.Call
				for range each {
					work = append(work, call("agent_run_leaf", `{"prompt": "x"}`))
				}
				section := map[string]json.RawMessage{"delegate": json.RawMessage(fmt.Sprintf(`{"max_children": 100, "max_descendants": %d}`, most))}
				for i := range processes {
					a := c.member(fmt.Sprintf("boss%d", i), []string{"leaf"}, calls(work...), llmtest.Say("done"))
					a.Sections, a.ToolExecutionMode = section, awaken.ParallelStreaming
				}
				c.memberWith("leaf", nil, llmtest.NewScript(llmtest.Say("leaf done")).Loop())
				c.member("root", nil, llmtest.Say("done"))
				if _, err := c.runtime().Run(t.Context(), withID(say("t", "go"), "r"), nil); err != nil {
					t.Fatal(err)
				}
				// The bosses are tasks of the root, each in its own process.
				var wg sync.WaitGroup
				for i := range processes {
					if err := c.db.Store("").CreateThread(t.Context(), &awaken.Thread{ID: fmt.Sprintf("boss%d", i), ParentThreadID: "t"}); err != nil {
						t.Fatal(err)
					}
				}
				for i := range processes {
					rt := c.runtime()
					wg.Go(func() {
						req := say(fmt.Sprintf("boss%d", i), "go")
						req.AgentID, req.ParentThreadID, req.ParentRunID, req.Origin, req.Depth = fmt.Sprintf("boss%d", i), "t", "r", "subagent", 1
						if res, err := rt.Run(t.Context(), req, nil); err != nil || res.Response != "done" {
							t.Errorf("got %+v, %v", res, err)
						}
					})
				}
				wg.Wait()
				n, refused := 0, 0
				for _, r := range c.runs() {
					if r.RunID != "r" {
						n++
					}
					list, err := c.db.Store("").Calls(t.Context(), r.RunID)
					if err != nil {
						t.Fatal(err)
					}
					for _, s := range list {
						if strings.Contains(s.Result.Message, "delegation_limit") {
							refused++
						}
					}
				}
				if n > most || processes == 1 && n != most {
					t.Errorf("there are %d runs below the root, at most %d are allowed", n, most)
				}
				if got := n - processes + refused; got != processes*each {
					t.Errorf("%d calls came out, want %d", got, processes*each)
				}
				threads, err := c.db.Store("").ListThreads(t.Context(), awaken.ThreadQuery{Limit: 1000})
				if err != nil || len(threads) != n+1 {
					t.Errorf("there are %d threads for %d runs, %v", len(threads), n+1, err)
				}
			}
		})
	}
}

// A draining process does not wait for a delegate to end: all nested runs yield at the end of
// the step of the lowest one, and another process continues them.
func TestDrain_DoesNotWaitForADelegateToEnd(t *testing.T) {
	for _, mode := range []awaken.ExecutionMode{awaken.Sequential, awaken.ParallelStreaming} {
		t.Run(string(mode), func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				c := newCrew(t)
				c.hold = make(chan struct{})
				c.member("root", []string{"mid"}, calls(call("free", `{"text": "1"}`), call("agent_run_mid", `{"prompt": "x"}`)), llmtest.Say("root done")).ToolExecutionMode = mode
				c.member("mid", []string{"leaf"}, give("leaf"), llmtest.Say("mid done"))
				leaf := llmtest.NewScript(llmtest.Use("slow", `{}`), llmtest.Use("slow", `{}`), llmtest.Use("slow", `{}`), llmtest.Say("leaf done")).Record()
				c.memberWith("leaf", nil, leaf)
				first, stop := c.serve()
				if _, err := first.Submit(t.Context(), mailbox.Submission{Request: withID(say("t", "go"), "r")}); err != nil {
					t.Fatal(err)
				}
				<-c.started
				stopped := make(chan struct{})
				go func() {
					stop()
					close(stopped)
				}()
				synctest.Wait()      // it is draining
				c.hold <- struct{}{} // the first step of the leaf ends, two more are to come
				<-stopped
				if n := leaf.Calls(); n != 1 {
					t.Errorf("the leaf was asked %d times before the process stopped", n)
				}
				wantEnds(t, c, map[string]string{"root": "running", "mid": "running", "leaf": "running"})

				_, stop = c.serve()
				for range 2 {
					<-c.started
					c.hold <- struct{}{}
				}
				synctest.Wait()
				stop()
				wantEnds(t, c, map[string]string{"root": natural, "mid": natural, "leaf": natural})
				wantDone(t, c, "free 1", "slow", "slow", "slow")
				if n := leaf.Calls(); n != 4 {
					t.Errorf("the leaf was asked %d times, want 4", n)
				}
			})
		})
	}
}

// The same without a queue: Yield on the root's thread is enough.
func TestYield_ReachesDelegates(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		c := newCrew(t)
		c.hold = make(chan struct{})
		c.member("root", []string{"mid"}, give("mid"), llmtest.Say("root done"))
		c.member("mid", nil, llmtest.Use("slow", `{}`), llmtest.Use("slow", `{}`), llmtest.Say("mid done"))
		rt := c.runtime()
		done := make(chan error, 1)
		go func() {
			_, err := rt.Run(t.Context(), withID(say("t", "go"), "r"), nil)
			done <- err
		}()
		<-c.started
		rt.Yield("t")
		c.hold <- struct{}{}
		if err := <-done; !errors.Is(err, awaken.ErrYielded) {
			t.Fatalf("error is %v, want %v", err, awaken.ErrYielded)
		}
		close(c.hold)
		if res, err := c.runtime().Run(t.Context(), awaken.RunRequest{Continue: "r"}, nil); err != nil || res.Response != "root done" {
			t.Fatalf("got %+v, %v", res, err)
		}
		wantDone(t, c, "slow", "slow")
	})
}
