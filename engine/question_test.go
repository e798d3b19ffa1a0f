package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// A call that is in doubt twice asks twice, each time under an id of its own: a client that derives
// its decision's id from the ticket can answer both.
func TestDoubt_EveryQuestionHasItsOwnID(t *testing.T) {
	t.Parallel()
	var g *rig
	n := 0
	pay := awaken.NewTool(awaken.ToolSpec{ID: "pay", InDoubt: awaken.DoubtSuspend}, func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
		if n++; n < 3 {
			g.fenceOff("t") // the owner is lost in the middle of the call
		}
		return awaken.TextResult("paid"), nil
	})
	g = newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("ok")}, withTools(pay))
	req := say("hi")
	req.RunID = "r"
	if _, err := g.rt.Run(t.Context(), req, nil); !errors.Is(err, awaken.ErrFenced) {
		t.Fatalf("error is %v, want ErrFenced", err)
	}
	for i, want := range []string{"in_doubt_c1", "in_doubt_c1~2"} {
		g.restart()
		res, p := g.run(awaken.RunRequest{Continue: "r"})
		checkTermination(t, res, p, awaken.Suspended)
		run, err := g.store.LoadRun(t.Context(), "r")
		if err != nil || run.Waiting == nil || len(run.Waiting.TicketIDs) != 1 || run.Waiting.TicketIDs[0] != want {
			t.Fatalf("question %d: the run waits for %+v, %v, want %s", i+1, run.Waiting, err, want)
		}
		ticket := run.Waiting.TicketIDs[0]
		if err := g.rt.Decide(t.Context(), "r", awaken.Decision{Target: ticket, ID: "decision-" + ticket, Action: awaken.ActionResume}); err != nil {
			t.Fatalf("%s: %v", ticket, err)
		}
		if i == 0 {
			if _, err := g.rt.Resume(t.Context(), "r", nil); !errors.Is(err, awaken.ErrFenced) {
				t.Fatalf("error is %v, want ErrFenced", err)
			}
		}
	}
	res, p := g.resume("r")
	checkTermination(t, res, p, awaken.NaturalEnd)
	if n != 3 {
		t.Errorf("the tool ran %d times, want 3", n)
	}
	calls, err := g.store.Calls(t.Context(), "r")
	if err != nil || len(calls) != 1 || len(calls[0].Earlier) != 1 || calls[0].Earlier[0].Target != "in_doubt_c1" {
		t.Errorf("the call's record has the earlier decisions %+v, %v", calls[0].Earlier, err)
	}
}

// The question about a call in doubt can be answered with the result that the call is known to
// have had: the tool is not called again, and the model gets that result. An answer that only
// approves makes the call again.
func TestDoubt_TakesTheResultThatIsKnown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, payload string
		calls         int
		result        string // what the model gets
	}{
		{"a result", `{"receipt":17}`, 1, `{"receipt":17}`},
		{"a text", `"paid, says the bank"`, 1, "paid, says the bank"},
		{"yes", `{"approved":true,"reason":"it was not sent"}`, 2, "paid"},
		{"nothing", ``, 2, "paid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var g *rig
			n := 0
			pay := awaken.NewTool(awaken.ToolSpec{ID: "pay", InDoubt: awaken.DoubtSuspend}, func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
				if n++; n == 1 {
					g.fenceOff("t") // the owner is lost in the middle of the call
				}
				return awaken.TextResult("paid"), nil
			})
			g = newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("ok")}, withTools(pay))
			req := say("hi")
			req.RunID = "r"
			if _, err := g.rt.Run(t.Context(), req, nil); !errors.Is(err, awaken.ErrFenced) {
				t.Fatalf("error is %v, want ErrFenced", err)
			}
			g.restart()
			res, p := g.run(awaken.RunRequest{Continue: "r"})
			checkTermination(t, res, p, awaken.Suspended)
			d := awaken.Decision{Target: "in_doubt_c1", ID: "d", Action: awaken.ActionResume, Result: json.RawMessage(c.payload)}
			if err := g.rt.Decide(t.Context(), "r", d); err != nil {
				t.Fatal(err)
			}
			res, p = g.resume("r")
			checkTermination(t, res, p, awaken.NaturalEnd)
			if n != c.calls {
				t.Errorf("the tool was called %d times, want %d", n, c.calls)
			}
			reqs := g.model.Requests()
			last := reqs[len(reqs)-1]
			data, err := json.Marshal(last.Messages)
			if err != nil {
				t.Fatal(err)
			}
			want, _ := json.Marshal(c.result)
			if !strings.Contains(string(data), strings.Trim(string(want), `"`)) {
				t.Errorf("the model got %s, want a result %s", data, want)
			}
		})
	}
}

// A person is asked about a call in doubt also if its tool is not there, as one of a server that is not connected yet, when
// another process takes the run over. The call is not made again when they give its result.
func TestDoubt_IsAskedWithoutTheTool(t *testing.T) {
	t.Parallel()
	var g *rig
	n := 0
	pay := awaken.NewTool(awaken.ToolSpec{ID: "pay", InDoubt: awaken.DoubtSuspend}, func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
		n++
		g.fenceOff("t") // the owner is lost in the middle of the call
		return awaken.TextResult("paid"), nil
	})
	g = newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("ok")}, withTools(pay))
	req := say("hi")
	req.RunID = "r"
	if _, err := g.rt.Run(t.Context(), req, nil); !errors.Is(err, awaken.ErrFenced) {
		t.Fatalf("error is %v, want ErrFenced", err)
	}
	g.cfg.Tools = nil
	g.restart()
	res, p := g.run(awaken.RunRequest{Continue: "r"})
	checkTermination(t, res, p, awaken.Suspended)
	if err := g.rt.Decide(t.Context(), "r", awaken.Decision{Target: "in_doubt_c1", ID: "d", Action: awaken.ActionResume, Result: json.RawMessage(`{"receipt":17}`)}); err != nil {
		t.Fatal(err)
	}
	res, p = g.resume("r")
	checkTermination(t, res, p, awaken.NaturalEnd)
	calls, err := g.store.Calls(t.Context(), "r")
	if err != nil || n != 1 || calls[0].Status != awaken.CallSucceeded || string(calls[0].Result.Data) != `{"receipt":17}` {
		t.Errorf("the tool was called %d times; the call is %+v, %v", n, calls[0], err)
	}
}

// A question that escalates when its time is over keeps waiting, and takes the first decision
// that comes, also if no run has noticed yet that its time is over.
func TestExpiry_AnEscalatedQuestionTakesTheFirstDecision(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		g := newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("ok")}, withTools(echo("pay")),
			withPlugins(askAbout("pay", awaken.Ticket{ExpiresIn: time.Minute, OnExpiry: awaken.ExpireEscalate})))
		res, _ := g.run(say("hi"))
		time.Sleep(time.Minute)
		if err := g.rt.Decide(t.Context(), res.RunID, approve("c1")); err != nil {
			t.Fatalf("the first decision after the deadline: %v", err)
		}
		res, p := g.resume(res.RunID)
		checkTermination(t, res, p, awaken.NaturalEnd)
	})
}

// A call that asks nothing cannot be decided, and the error says in which state it is.
func TestDecide_ACallBehindASuspendedOneAsksNothing(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{uses("pay", "log"), llmtest.Say("ok")}, withTools(echo("pay"), echo("log")), withPlugins(askAbout("pay", awaken.Ticket{})))
	res, _ := g.run(say("hi"))
	err := g.rt.Decide(t.Context(), res.RunID, approve("c2"))
	if !errors.Is(err, awaken.ErrInvalid) || errors.Is(err, awaken.ErrDecided) {
		t.Errorf("error is %v, want ErrInvalid", err)
	}
	says(t, err, `decision on "c2"`, "the call is new and asks nothing")
}

// lookup is a tool that is lost in its first call and can look up that nothing happened.
type lookup struct {
	awaken.Tool
	found awaken.Probe
}

func (l *lookup) Probe(context.Context, *awaken.ToolCall) (awaken.Probe, error) { return l.found, nil }

// patient is a queue whose workers may be silent for a while.
type patient struct {
	awaken.Queue
	silence time.Duration
}

func (p patient) Silence() time.Duration { return p.silence }

// A tool's finding that a call took no effect counts once the lost owner can no longer make the call.
// How long that is follows from how long a worker may be silent.
func TestProbe_NothingHappenedIsBelievedOnceNothingCanHappen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		silence, after time.Duration
		outcome        awaken.ProbeOutcome
		calls          int
	}{
		{"too early", 0, 69 * time.Second, awaken.ProbeNotDone, 1},
		{"late enough", 0, 70 * time.Second, awaken.ProbeNotDone, 2},
		{"too early after a long silence", time.Minute, 125 * time.Second, awaken.ProbeNotDone, 1},
		{"late enough after a long silence", time.Minute, 126 * time.Second, awaken.ProbeNotDone, 2},
		{"that it happened counts at once", time.Minute, 0, awaken.ProbeDone, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubbletest.Test(t, func(t *testing.T) {
				var g *rig
				n := 0
				pay := &lookup{awaken.NewTool(awaken.ToolSpec{ID: "pay", Timeout: time.Minute}, func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
					if n++; n == 1 {
						g.fenceOff("t")
					}
					return awaken.TextResult("paid"), nil
				}), awaken.Probe{Outcome: c.outcome, Result: awaken.TextResult("paid before")}}
				g = newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("ok")}, withTools(pay))
				req := say("hi")
				req.RunID = "r"
				if _, err := g.rt.Run(t.Context(), req, nil); !errors.Is(err, awaken.ErrFenced) {
					t.Fatalf("error is %v, want ErrFenced", err)
				}
				time.Sleep(c.after)
				g.restart()
				rt := g.rt
				if c.silence > 0 {
					rt = rt.With(g.store, nil, patient{silence: c.silence})
				}
				if _, err := rt.Run(t.Context(), awaken.RunRequest{Continue: "r"}, nil); err != nil {
					t.Fatal(err)
				}
				calls, err := g.store.Calls(t.Context(), "r")
				if err != nil || len(calls) != 1 || n != c.calls {
					t.Fatalf("the tool ran %d times, want %d; the ledger has %v, %v", n, c.calls, calls, err)
				}
				if doubtful := calls[0].Result.Metadata["in_doubt"] == true; doubtful != (c.calls == 1 && c.outcome == awaken.ProbeNotDone) {
					t.Errorf("the result is %+v", calls[0].Result)
				}
			})
		})
	}
}
