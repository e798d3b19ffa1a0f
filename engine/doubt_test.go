package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/claimtest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// doubtRig is a rig whose run r on thread t was lost in its call c1 of the tool pay, which has taken effect.
type doubtRig struct {
	*rig
	made int // how often the tool was called
}

// newDoubt returns a rig after the loss. The model answers "ok" from then on.
func newDoubt(t *testing.T, spec awaken.ToolSpec, opts ...option) *doubtRig {
	t.Helper()
	d := &doubtRig{}
	spec.ID = "pay"
	pay := awaken.NewTool(spec, func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
		if d.made++; d.made == 1 {
			d.fenceOff("t") // the owner is lost in the middle of the call
		}
		return awaken.TextResult("paid"), nil
	})
	turns := []llmtest.Turn{uses("pay")}
	for range 5 {
		turns = append(turns, llmtest.Say("ok"))
	}
	d.rig = newRig(t, turns, append([]option{withTools(pay)}, opts...)...)
	req := say("hi")
	req.RunID, req.Messages[0].ID = "r", "m1"
	if _, err := d.rt.Run(t.Context(), req, nil); !errors.Is(err, awaken.ErrFenced) {
		t.Fatalf("error is %v, want ErrFenced", err)
	}
	d.restart()
	return d
}

// asked continues the run until it asks about the call.
func (d *doubtRig) asked() *doubtRig {
	d.t.Helper()
	res, p := d.run(awaken.RunRequest{Continue: "r"})
	checkTermination(d.t, res, p, awaken.Suspended)
	return d
}

// seen returns everything that the model was shown last, and everything that clients and the ledger have about the calls of the run.
func (d *doubtRig) seen() (model, rest string) {
	d.t.Helper()
	reqs := d.model.Requests()
	model = strings.Join(outline(reqs[len(reqs)-1].Messages), "\n")
	ledger, err := json.Marshal(d.calls("r"))
	if err != nil {
		d.t.Fatal(err)
	}
	entries, err := d.store.Entries(context.Background(), "t", awaken.EntryQuery{})
	if err != nil {
		d.t.Fatal(err)
	}
	var b strings.Builder
	b.Write(ledger)
	for i := range entries {
		text, err := awaken.AppendEvent(nil, entries[i].Event)
		if err != nil {
			d.t.Fatal(err)
		}
		b.Write(text)
		b.WriteByte('\n')
	}
	return model, b.String()
}

var suspends = awaken.ToolSpec{InDoubt: awaken.DoubtSuspend}

// Whatever becomes of a call in doubt, until it is settled nothing says that it was made or not, the model sees that it is not known,
// and the record of the call and of its run say so.
func TestDoubt_StaysUntilItIsSettled(t *testing.T) {
	t.Parallel()
	refuse := awaken.Decision{Target: "c1", Action: awaken.ActionCancel, Reason: "no"}
	again := awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("and now?")}}
	for _, tt := range []struct {
		name string
		spec awaken.ToolSpec
		opts []option
		out  func(t *testing.T, d *doubtRig)
	}{
		{"the model goes on", awaken.ToolSpec{}, nil, func(t *testing.T, d *doubtRig) { d.run(awaken.RunRequest{Continue: "r"}) }},
		{"a person refuses to make it again", suspends, nil, func(t *testing.T, d *doubtRig) { d.asked().resume("r", refuse) }},
		{"a client refuses with a payload of its own", suspends, nil, func(t *testing.T, d *doubtRig) {
			denied := refuse
			denied.Result = json.RawMessage(`{"approved":false,"reason":"it was not made"}`)
			d.asked().resume("r", denied)
		}},
		{"a new message while it is asked about", suspends, nil, func(t *testing.T, d *doubtRig) { d.asked().run(again) }},
		{"a new message before it is asked about", suspends, nil, func(t *testing.T, d *doubtRig) { d.run(again) }},
		{"the run is ended while it is asked about, and another follows", suspends, nil, func(t *testing.T, d *doubtRig) {
			d.asked().run(awaken.RunRequest{Continue: "r", End: &awaken.Termination{Type: awaken.Cancelled}})
			d.run(again)
		}},
		{"the run is ended before it is asked about, and another follows", suspends, nil, func(t *testing.T, d *doubtRig) {
			d.run(awaken.RunRequest{Continue: "r", End: &awaken.Termination{Type: awaken.Cancelled}})
			d.run(again)
		}},
		{"the tool is gone when it is approved again", suspends, nil, func(t *testing.T, d *doubtRig) {
			d.asked()
			d.cfg.Tools = nil
			d.restart()
			d.resume("r", approve("c1"))
		}},
		{"a gate refuses another attempt", suspends, nil, func(t *testing.T, d *doubtRig) {
			d.asked()
			withPlugins(gate(func(context.Context, *awaken.HookCall) (awaken.Verdict, error) { return awaken.Block("closed"), nil }))(&d.cfg)
			d.restart()
			d.resume("r", approve("c1"))
			d.run(again)
		}},
		{"the conversation is rewound", suspends, nil, func(t *testing.T, d *doubtRig) {
			d.asked()
			edited := again
			edited.Rewind = "m1"
			d.run(edited)
		}},
		{"the conversation is rewound after the model was told", awaken.ToolSpec{}, nil, func(t *testing.T, d *doubtRig) {
			d.run(awaken.RunRequest{Continue: "r"})
			edited := again
			edited.Rewind = "m1"
			d.run(edited)
		}},
		{"the thread is forked while it is asked about", suspends, nil, func(t *testing.T, d *doubtRig) {
			d.asked()
			if _, err := d.store.Fork(t.Context(), "t", 2, "f", nil); err != nil {
				t.Fatal(err)
			}
			forked := again
			forked.ThreadID = "f"
			d.run(forked)
		}},
		{"an idempotent call that a gate asks about is refused", awaken.ToolSpec{Effect: awaken.Idempotent}, nil, func(t *testing.T, d *doubtRig) {
			withPlugins(askAbout("pay", awaken.Ticket{}))(&d.cfg)
			d.restart()
			d.asked().resume("r", refuse)
		}},
		{"an idempotent call that a gate asks about is superseded", awaken.ToolSpec{Effect: awaken.Idempotent}, nil, func(t *testing.T, d *doubtRig) {
			withPlugins(askAbout("pay", awaken.Ticket{}))(&d.cfg)
			d.restart()
			d.asked().run(again)
		}},
		{"a question about it expires", awaken.ToolSpec{Effect: awaken.Idempotent}, nil, func(t *testing.T, d *doubtRig) {
			withPlugins(askAbout("pay", awaken.Ticket{ExpiresIn: time.Minute}))(&d.cfg)
			d.restart()
			d.asked()
			d.cfg.Now = func() time.Time { return time.Now().Add(time.Hour) }
			d.restart()
			d.run(awaken.RunRequest{Continue: "r"})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDoubt(t, tt.spec, tt.opts...)
			tt.out(t, d)
			model, rest := d.seen()
			if !strings.Contains(model, "pay") || !strings.Contains(model, "whether it took effect is not known") {
				t.Errorf("the model is not shown that the call is in doubt:\n%s", model)
			}
			for _, text := range []string{model, strings.ReplaceAll(rest, "closed", "")} {
				if claims := claimtest.Find(strings.ReplaceAll(text, `"it was not made"`, "")); len(claims) > 0 {
					t.Errorf("claims %q in\n%s", claims, text)
				}
			}
			reqs := d.model.Requests()
			checkValid(t, reqs[len(reqs)-1].Messages)
			if c := d.calls("r")[0]; c.Outcome() != awaken.OutcomeInDoubt || c.Doubt.Origin != awaken.DoubtIntent || c.Doubt.Since == 0 || d.record("r").InDoubt != 1 {
				t.Errorf("the call is %s, doubt %+v; the run has %d calls in doubt, want 1", c.Outcome(), c.Doubt, d.record("r").InDoubt)
			}
			if d.made != 1 {
				t.Errorf("the tool was called %d times", d.made)
			}
		})
	}
}

// A decision with an outcome settles a call that is asked about.
func TestDoubt_IsSettledByADecision(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		d       awaken.Decision
		made    int
		status  awaken.CallStatus
		by      string
		outcome awaken.Outcome
		model   string
	}{
		{"made", awaken.Decision{Outcome: awaken.OutcomeMade, Result: json.RawMessage(`{"receipt":17}`)}, 1, awaken.CallSucceeded, "person", awaken.OutcomeMade, `{"receipt":17}`},
		{"made, no result", awaken.Decision{Outcome: awaken.OutcomeMade}, 1, awaken.CallSucceeded, "person", awaken.OutcomeMade, "took effect, as a person has found out"},
		{"not made", awaken.Decision{Outcome: awaken.OutcomeNotMade}, 1, awaken.CallCancelled, "person", awaken.OutcomeNotMade, "did not take effect, as a person has found out"},
		{"not made, make it now", awaken.Decision{Outcome: awaken.OutcomeNotMade, Action: awaken.ActionResume}, 2, awaken.CallSucceeded, "", awaken.OutcomeMade, "paid"},
		{"make it again", awaken.Decision{Action: awaken.ActionResume}, 2, awaken.CallSucceeded, "tool", awaken.OutcomeMade, "paid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDoubt(t, suspends).asked()
			tt.d.Target, tt.d.Actor = "c1", &awaken.Actor{User: "ada"}
			d.resume("r", tt.d)
			model, _ := d.seen()
			c := d.calls("r")[0]
			by := ""
			if c.Doubt != nil && c.Doubt.Settled != nil {
				by = c.Doubt.Settled.By
			}
			if d.made != tt.made || c.Status != tt.status || by != tt.by || c.Outcome() != tt.outcome || !strings.Contains(model, tt.model) || d.record("r").InDoubt != 0 {
				t.Errorf("called %d times, call is %s, %s by %q; the run has %d in doubt; the model sees\n%s", d.made, c.Status, c.Outcome(), by, d.record("r").InDoubt, model)
			}
		})
	}
}

// A call that is over, of a run that may have ended, is settled in the ledger at once. The next run tells the model, and nothing is
// woken. An equal settlement has no effect, and a different one is refused.
func TestDoubt_IsSettledAfterTheEnd(t *testing.T) {
	t.Parallel()
	d := newDoubt(t, awaken.ToolSpec{})
	d.run(awaken.RunRequest{Continue: "r"}) // the model reads of it
	made := awaken.Decision{Target: "c1", Outcome: awaken.OutcomeMade, Result: json.RawMessage(`{"receipt":17}`), Reason: "seen", Actor: &awaken.Actor{User: "ada"}}
	asked := len(d.model.Requests())
	for range 2 {
		if err := d.rt.Decide(t.Context(), "r", made); err != nil {
			t.Fatal(err)
		}
	}
	c := d.calls("r")[0]
	if s := c.Doubt.Settled; s == nil || s.Outcome != awaken.OutcomeMade || s.By != "person" || s.Actor.User != "ada" || string(s.Result) != `{"receipt":17}` || c.Outcome() != awaken.OutcomeMade {
		t.Errorf("the ledger has %+v", c.Doubt)
	}
	if d.record("r").Status != awaken.RunDone || len(d.model.Requests()) != asked {
		t.Error("a settlement has woken the run")
	}
	var other *awaken.Decided
	err := d.rt.Decide(t.Context(), "r", awaken.Decision{Target: "c1", Outcome: awaken.OutcomeNotMade})
	if !errors.As(err, &other) || !errors.Is(err, awaken.ErrDecided) || other.Outcome != awaken.OutcomeMade {
		t.Errorf("the error of a different settlement is %v, want the record of the first", err)
	}
	d.run(say("and now?"))
	got := outline(d.request(asked + 1).Messages)
	note := func(s string) bool {
		return strings.Contains(s, "took effect, with this result: {\"receipt\":17} (seen), as a person has found out")
	}
	if n := len(got); !slices.ContainsFunc(got, note) || got[n-1] != "user: and now?" {
		t.Errorf("the next run's model is shown\n%s", strings.Join(got, "\n"))
	}
	d.run(say("again"))
	if got := outline(d.request(asked + 2).Messages); len(slices.DeleteFunc(got, func(s string) bool { return !note(s) })) != 1 {
		t.Errorf("the model reads it %d times", len(got))
	}
}

// An outcome is only for a call in doubt.
func TestDoubt_AnOutcomeIsRefused(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("ok")}, withTools(echo("pay")), withPlugins(askAbout("pay", awaken.Ticket{})))
	req := say("hi")
	req.RunID = "r"
	g.run(req)
	decide := func(d awaken.Decision, want string) {
		t.Helper()
		d.Target = "c1"
		if err := g.rt.Decide(t.Context(), "r", d); !errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
	decide(awaken.Decision{Outcome: awaken.OutcomeMade}, "outcome is made, but the call is not in doubt; want a decision without outcome")
	decide(awaken.Decision{Outcome: "perhaps"}, `outcome is "perhaps", want made, not_made or none`)
	decide(awaken.Decision{Outcome: awaken.OutcomeMade, Action: awaken.ActionCancel}, "action is cancel, want resume or none with outcome made")
	decide(awaken.Decision{Outcome: awaken.OutcomeNotMade, Result: json.RawMessage(`1`)}, "result is set")
	g.resume("r", approve("c1"))
	decide(awaken.Decision{Outcome: awaken.OutcomeNotMade}, "the call is not in doubt")
}

// A call that no process has begun is known not to have been made, and the texts say so.
func TestDoubt_ACallThatNeverBeganWasNotMade(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("ok")}, withTools(echo("pay")), withPlugins(askAbout("pay", awaken.Ticket{})))
	req := say("hi")
	req.RunID = "r"
	g.run(req)
	g.resume("r", awaken.Decision{Target: "c1", Action: awaken.ActionCancel})
	c := g.calls("r")[0]
	if c.Outcome() != awaken.OutcomeNotMade || !strings.Contains(c.Result.Message, "It was not made.") || c.Doubt != nil {
		t.Errorf("the call is %s: %s", c.Outcome(), c.Result.Message)
	}
}

// An effectful call whose tool gives no answer is in doubt, although its process lives: the tool was too slow, was told to stop, or
// panicked. So is a later attempt that fails: its error says nothing about the first.
func TestDoubt_WithoutAnAnswerOfTheTool(t *testing.T) {
	t.Parallel()
	d := newDoubt(t, suspends).asked()
	d.cfg.Tools = []awaken.Tool{tool("pay", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
		return nil, errors.New("the bank is down, so the call was not made")
	})}
	d.restart()
	d.resume("r", approve("c1"))
	c := d.calls("r")[0]
	if c.Outcome() != awaken.OutcomeInDoubt || !strings.Contains(c.Result.Message, "an earlier attempt of the call is in doubt") || !c.Result.InDoubt() {
		t.Errorf("the call is %s: %s", c.Outcome(), c.Result.Message)
	}
	g := newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("ok")}, withTools(tool("pay", func(context.Context, *awaken.ToolCall, args) (*awaken.ToolResult, error) {
		panic("halfway")
	})))
	req := say("hi")
	req.RunID = "r"
	g.run(req)
	if c := g.calls("r")[0]; c.Outcome() != awaken.OutcomeInDoubt || !strings.Contains(c.Result.Message, "whether it took effect is not known") {
		t.Errorf("the call is %s: %s", c.Outcome(), c.Result.Message)
	}
}

// An idempotent call that is repeated after a crash has its answer, and no doubt is left.
func TestDoubt_EndsWithTheAnswerOfARepetition(t *testing.T) {
	t.Parallel()
	d := newDoubt(t, awaken.ToolSpec{Effect: awaken.Idempotent})
	d.run(awaken.RunRequest{Continue: "r"})
	if c := d.calls("r")[0]; d.made != 2 || c.Doubt != nil || c.Outcome() != awaken.OutcomeMade || d.record("r").InDoubt != 0 {
		t.Errorf("called %d times; the call is %s with doubt %+v", d.made, c.Outcome(), c.Doubt)
	}
}
