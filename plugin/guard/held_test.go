package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/guard"
	"github.com/awaken-go/awaken/store/sqlite"
)

func railed(section string) engine.Config {
	return engine.Config{
		Agents: []*awaken.AgentSpec{{ID: engine.DefaultAgentID, PluginIDs: []string{guard.Name},
			Sections: map[string]json.RawMessage{guard.Name: json.RawMessage(section)}}},
		Plugins: []awaken.Plugin{guard.Rails()},
	}
}

// A held text is durable: at each point, for each decision, across a restart, and with the
// decision sent twice.
func TestHeld_SurvivesARestart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, border, said string
		decision           awaken.Decision
		end                awaken.TerminationType
		log                string // what is stored
		answer             string
	}{
		{"input approved", "input", "ok", awaken.Decision{Action: awaken.ActionResume}, awaken.NaturalEnd, "user: a secret plan\nassistant: ok\n", "ok"},
		{"input edited", "input", "ok", awaken.Decision{Action: awaken.ActionResume, Arguments: json.RawMessage(`{"text":"a plan"}`)}, awaken.NaturalEnd, "user: a plan\nassistant: ok\n", "ok"},
		{"input refused", "input", "ok", awaken.Decision{Action: awaken.ActionCancel, Reason: "no"}, awaken.Blocked, "", ""},
		{"output approved", "output", "my secret", awaken.Decision{Action: awaken.ActionResume}, awaken.NaturalEnd, "user: a secret plan\nassistant: my secret\n", "my secret"},
		{"output edited", "output", "my secret", awaken.Decision{Action: awaken.ActionResume, Arguments: json.RawMessage(`{"text":"mine"}`)}, awaken.NaturalEnd, "user: a secret plan\nassistant: mine\n", "mine"},
		{"output refused", "output", "my secret", awaken.Decision{Action: awaken.ActionCancel}, awaken.Blocked, "user: a secret plan\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "awaken.db")
			cfg := railed(`{"rules":[{"name":"words","on":["` + tt.border + `"],"pattern":"secret","action":"suspend","reason":"words"}]}`)
			open := func() (*awakentest.Harness, *sqlite.DB) {
				db, err := sqlite.Open(t.Context(), path, nil)
				if err != nil {
					t.Fatal(err)
				}
				cfg.Store = db.Store("")
				return awakentest.New(t, cfg, llmtest.Say(tt.said)), db
			}
			h, db := open()
			rec := h.Run(awaken.RunRequest{ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("a secret plan")}})
			if rec.Result.Status != awaken.RunWaiting || len(rec.Result.Waiting.Tickets) != 1 {
				t.Fatalf("the run does not wait: %+v", rec.Result)
			}
			ticket := rec.Result.Waiting.Tickets[0]
			if ticket.ToolName != "guard_"+tt.border || !strings.HasPrefix(ticket.TicketID, "guard_words_") || !strings.HasSuffix(ticket.Reason, "words") {
				t.Errorf("the ticket is %+v", ticket)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}

			h, db = open()
			defer db.Close()
			tt.decision.Target, tt.decision.ID = ticket.TicketID, "d1"
			for range 2 {
				if err := h.Runtime.Decide(t.Context(), "r", tt.decision); err != nil {
					t.Fatal(err)
				}
			}
			rec = h.Run(awaken.RunRequest{Continue: "r"})
			if rec.Result.Termination.Type != tt.end || rec.Result.Response != tt.answer {
				t.Errorf("the run ends with %s and says %q, want %s and %q", rec.Result.Termination, rec.Result.Response, tt.end, tt.answer)
			}
			if asked := len(h.Model.Requests()); tt.border == "output" && asked > 0 {
				t.Errorf("the model was asked %d times for an answer that it had given", asked)
			}
			recs, err := h.Store.Messages(t.Context(), "t", awaken.MessageQuery{})
			if err != nil && !errors.Is(err, awaken.ErrNotFound) {
				t.Fatal(err)
			}
			var log strings.Builder
			for _, r := range recs {
				log.WriteString(string(r.Message.Role) + ": " + r.Message.Text() + "\n")
			}
			if log.String() != tt.log {
				t.Errorf("the log is\n%swant\n%s", &log, tt.log)
			}
			if err := h.Runtime.Decide(t.Context(), "r", awaken.Decision{Target: ticket.TicketID, Action: awaken.ActionResume, Arguments: json.RawMessage(`{"text":"another"}`), ID: "d2"}); !errors.Is(err, awaken.ErrDecided) {
				t.Errorf("a second decision: %v, want %v", err, awaken.ErrDecided)
			}
		})
	}
}

// hourly suspends everything at one point, for an hour.
type hourly struct {
	border awaken.GuardPoint
	then   awaken.ExpiryPolicy
}

func (hourly) Name() string { return "hourly" }

func (p hourly) Register(r *awaken.Registrar) error {
	r.Guard(p.border, func(context.Context, *awaken.HookCall, *awaken.Passage) (awaken.Verdict, error) {
		return awaken.SuspendCall(awaken.Ticket{ExpiresIn: time.Hour, OnExpiry: p.then, Suspension: awaken.Suspension{Action: "guard:hourly", Message: "Well?"}}), nil
	})
	return nil
}

func TestHeld_Expires(t *testing.T) {
	t.Parallel()
	for _, border := range []awaken.GuardPoint{awaken.InputPoint, awaken.OutputPoint} {
		for then, want := range map[awaken.ExpiryPolicy]awaken.TerminationType{
			awaken.ExpireReject: awaken.Blocked, awaken.ExpireApprove: awaken.NaturalEnd, awaken.ExpireEscalate: awaken.Suspended,
		} {
			h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{{ID: engine.DefaultAgentID, PluginIDs: []string{"hourly"}}},
				Plugins: []awaken.Plugin{hourly{border, then}}}, llmtest.Say("ok"))
			rec := h.Say("hi")
			if rec.Result.Status != awaken.RunWaiting {
				t.Fatalf("%s: the run does not wait: %+v", border, rec.Result)
			}
			h.Advance(time.Hour)
			rec = h.Run(awaken.RunRequest{Continue: rec.Result.RunID})
			if rec.Result.Termination.Type != want {
				t.Errorf("%s, %q: the run ends with %s, want %s", border, then, rec.Result.Termination, want)
			}
			if want == awaken.Suspended && !rec.Result.Waiting.Tickets[0].Escalated {
				t.Errorf("%s: the ticket does not say that it was escalated", border)
			}
		}
	}
}

// Every guard asks its own question, and a later block wins over an approval.
func TestHeld_PassesEveryGuard(t *testing.T) {
	t.Parallel()
	for _, border := range []string{"input", "output"} {
		h := awakentest.New(t, railed(`{"rules":[
			{"name":"one","on":["`+border+`"],"pattern":"secret","action":"suspend"},
			{"name":"two","on":["`+border+`"],"pattern":"plan","action":"suspend"},
			{"name":"three","on":["`+border+`"],"pattern":"never","action":"block","reason":"never"}]}`), llmtest.Say("secret plan"), llmtest.Say("secret plan"))
		rec := h.Say("secret plan")
		for i, name := range []string{"guard_one_", "guard_two_"} {
			if rec.Result.Status != awaken.RunWaiting || !strings.HasPrefix(rec.Result.Waiting.TicketIDs[0], name) {
				t.Fatalf("%s: question %d: %+v", border, i, rec.Result)
			}
			rec = h.Resume(rec.Result.RunID, rec.Result.Waiting.Tickets[0].Approve())
		}
		if rec.Result.Termination.Type != awaken.NaturalEnd {
			t.Errorf("%s: the run ends with %s", border, rec.Result.Termination)
		}
		rec = h.Say("secret plan")
		rec = h.Resume(rec.Result.RunID, rec.Result.Waiting.Tickets[0].Edit(json.RawMessage(`{"text":"never mind the secret"}`)))
		if got := rec.Result.Termination; got.Type != awaken.Blocked || got.Message != "never" {
			t.Errorf("%s: edited into what is forbidden, the run ends with %s", border, got)
		}
	}
}

// A cancelled run drops what it held.
func TestHeld_EndsWithItsRun(t *testing.T) {
	t.Parallel()
	for _, border := range []string{"input", "output"} {
		h := awakentest.New(t, railed(`{"rules":[{"name":"one","on":["`+border+`"],"pattern":"secret","action":"suspend"}]}`), llmtest.Say("secret"))
		rec := h.Run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("secret")}})
		if err := h.Runtime.Cancel(t.Context(), rec.Result.RunID); err != nil {
			t.Fatal(err)
		}
		calls, err := h.Store.Calls(t.Context(), rec.Result.RunID)
		if err != nil || len(calls) != 1 || calls[0].Status != awaken.CallCancelled || calls[0].Message != nil {
			t.Errorf("%s: the ledger is %+v, %v", border, calls, err)
		}
	}
}

// An answer through the tool final_output is edited as JSON.
func TestHeld_AnswerOfASchemaIsEditedAsJSON(t *testing.T) {
	t.Parallel()
	cfg := railed(`{"rules":[{"name":"one","on":["output"],"pattern":"secret","action":"suspend"}]}`)
	cfg.Agents[0].OutputSchema = json.RawMessage(`{"type":"object","properties":{"note":{"type":"string"}},"required":["note"]}`)
	h := awakentest.New(t, cfg, llmtest.Use(awaken.FinalOutputTool, `{"note":"secret"}`))
	rec := h.Say("go")
	ticket := rec.Result.Waiting.Tickets[0]
	if string(ticket.Arguments) != `{"text":"{\"note\":\"secret\"}"}` {
		t.Errorf("the person sees %s", ticket.Arguments)
	}
	if err := h.Runtime.Decide(t.Context(), rec.Result.RunID, ticket.Edit(json.RawMessage(`{"text":"no JSON"}`))); err == nil || !strings.Contains(err.Error(), "text is not JSON") {
		t.Errorf("an edit that is no JSON: %v", err)
	}
	rec = h.Resume(rec.Result.RunID, ticket.Edit(json.RawMessage(`{"text":"{\"note\":\"none\"}"}`)))
	if got := string(rec.Result.StructuredOutput); got != `{"note":"none"}` || rec.Result.Termination.Type != awaken.NaturalEnd {
		t.Errorf("the answer is %s, the end %s", got, rec.Result.Termination)
	}
}

// An approval of a result cannot change the arguments of the call, which has been made.
func TestHeld_ResultKeepsTheArgumentsOfItsCall(t *testing.T) {
	t.Parallel()
	h, rec := run(t, guard.Rails(), `{"secrets":{"action":"suspend","on":["tool_result"]}}`, "token ghp_abcdefghijklmnopqrstuvwxyz0123456789 ok")
	err := h.Runtime.Decide(t.Context(), rec.Result.RunID, rec.Result.Waiting.Tickets[0].Edit(json.RawMessage(`{}`)))
	if !errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), "has been made") {
		t.Errorf("error is %v", err)
	}
}
