package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// TakeOver lets two runtimes own a thread one after the other: the second takes over while
// the first is paused at a random event, and finishes the run; then the first continues.
// TakeOver repeats this trials times and checks that the first owner, once replaced, wrote
// nothing and began no effect.
//
// An effect begins when its intent is committed. An intent that was committed before the
// takeover may still take effect once, and the second owner treats the call as in doubt.
func TakeOver(t *testing.T, s awaken.Store, trials int) {
	rng := rand.New(rand.NewPCG(3, 4))
	var stale, doubts int
	for i := range trials {
		tr := &takeover{T: t, store: s, thread: fmt.Sprintf("thread-%d", i), run: fmt.Sprintf("run-%d", i),
			pauseAt: 1 + rng.IntN(28), done: map[string][]string{}}
		tr.try()
		stale += tr.stale
		doubts += tr.doubts
		if t.Failed() {
			return
		}
	}
	t.Logf("%d takeovers, %d of them stopped the first owner before its end, %d calls in doubt", trials, stale, doubts)
	if stale < trials/2 || doubts == 0 {
		t.Errorf("only %d first owners were fenced and %d calls in doubt: the trials do not cover the takeover", stale, doubts)
	}
}

type takeover struct {
	*testing.T
	store       awaken.Store
	thread, run string
	pauseAt     int

	mu    sync.Mutex
	taken bool                // the second owner has the thread
	begun map[string]bool     // keys whose intent was committed before that
	done  map[string][]string // key -> owners that made the call

	stale, doubts int
}

// runtime is one of the two owners.
func (tr *takeover) runtime(who string) *engine.Runtime {
	effect := awaken.NewTool(awaken.ToolSpec{ID: "effect"}, func(_ context.Context, call *awaken.ToolCall, _ struct{}) (string, error) {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.done[call.Key] = append(tr.done[call.Key], who)
		if who == "first" && tr.taken && !tr.begun[call.Key] {
			tr.Errorf("%s: the first owner began %s after it was replaced", tr.thread, call.Key)
		}
		return "done by " + who, nil
	})
	model := llmtest.NewRules(
		llmtest.Rule{
			Match: func(req *llm.Request) bool { return answers(req) < 3 },
			Turn: func(req *llm.Request) llmtest.Turn {
				n := answers(req)
				return llmtest.Turn{Text: llmtest.Text{"now ", "this"}, ToolCalls: []llmtest.Call{
					{ID: fmt.Sprintf("a%d", n), Name: "effect", Arguments: []byte(`{}`)}, {ID: fmt.Sprintf("b%d", n), Name: "effect", Arguments: []byte(`{}`)}}}
			},
		},
		llmtest.Rule{Turn: func(*llm.Request) llmtest.Turn { return llmtest.Say("all done") }},
	)
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": model},
		Tools:     []awaken.Tool{effect},
		Store:     tr.store,
	})
	if err != nil {
		tr.Fatal(err)
	}
	return rt
}

// answers is the number of answers in which the model calls tools.
func answers(req *llm.Request) int {
	n := 0
	for _, m := range req.Messages.All() {
		if len(m.ToolCalls) > 0 {
			n++
		}
	}
	return n
}

func (tr *takeover) try() {
	ctx := tr.Context()
	paused, goOn := make(chan struct{}), make(chan struct{})
	events := 0
	pause := awaken.SinkFunc(func(context.Context, awaken.Entry) error {
		if events++; events == tr.pauseAt {
			close(paused)
			<-goOn
		}
		return nil
	})
	finished := make(chan error, 1)
	go func() {
		_, err := tr.runtime("first").Run(ctx, awaken.RunRequest{ThreadID: tr.thread, RunID: tr.run, Messages: []*llm.Message{llm.UserText("go")}}, pause)
		finished <- err
	}()
	select {
	case <-paused:
	case err := <-finished: // the run finished before it was paused
		if err != nil {
			tr.Errorf("%s: %v", tr.thread, err)
		}
		return
	}
	calls, err := tr.store.Calls(ctx, tr.run)
	if err != nil {
		tr.Fatal(err)
	}
	tr.mu.Lock()
	tr.taken, tr.begun = true, map[string]bool{}
	for _, c := range calls {
		if c.StartedAt != 0 {
			tr.begun[c.Key] = true
		}
	}
	tr.mu.Unlock()
	second, err := tr.runtime("second").Resume(ctx, tr.run, nil)
	if err != nil && !errors.Is(err, awaken.ErrConflict) { // the run may just have finished
		tr.Fatalf("%s: the second owner: %v", tr.thread, err)
	}
	before := tr.left()
	close(goOn)
	err = <-finished
	if second != nil {
		if !errors.Is(err, awaken.ErrFenced) {
			tr.Errorf("%s: the first owner continued and returned %v, want ErrFenced", tr.thread, err)
		}
		tr.stale++
	}
	if after := tr.left(); after != before {
		tr.Errorf("%s: the first owner wrote after it was replaced: %s became %s", tr.thread, before, after)
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for key, by := range tr.done {
		if len(by) > 1 {
			tr.Errorf("%s: call %s was made %d times, by %v", tr.thread, key, len(by), by)
		}
	}
}

// left summarizes what the store holds of the run.
func (tr *takeover) left() string {
	run, err := tr.store.LoadRun(tr.Context(), tr.run)
	if err != nil {
		tr.Fatal(err)
	}
	msgs, err := tr.store.Messages(tr.Context(), tr.thread, awaken.MessageQuery{})
	if err != nil {
		tr.Fatal(err)
	}
	calls, err := tr.store.Calls(tr.Context(), tr.run)
	if err != nil {
		tr.Fatal(err)
	}
	tr.doubts = 0
	text := fmt.Sprintf("%s %s, %d messages", run.Status, run.Termination, len(msgs))
	for _, c := range calls {
		text += fmt.Sprintf(", %s %s", c.CallID, c.Status)
		if c.Result != nil && c.Result.Metadata["in_doubt"] == true {
			tr.doubts++
		}
	}
	return text
}
