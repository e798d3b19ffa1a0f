//go:build unix

package upgradetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/state/profile"
)

// heir is a process that continues the work of another.
type heir struct {
	*desk
	*testing.T
	ctx context.Context
}

// testWork finishes the work that the writer left.
func testWork(t *testing.T, e backend, where string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	db, err := e.open(ctx, where)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.close() })
	d, err := openDesk(ctx, db, newWorld(false), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.config.Close() })
	h := &heir{d, t, ctx}
	h.secrets()
	spent, queue := h.tenantSpent(), h.queued()
	work, stop := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := d.box.Work(work); err != nil {
			t.Error(err)
		}
	}()
	defer func() { stop(); <-over }()

	h.takenUp()
	h.queue(queue)
	h.decisions()
	h.deadLetter()
	h.unread()
	h.budget(spent)
	h.anew()
	h.documents()
	if n := h.done("ship"); n != 0 {
		t.Errorf("the call in doubt was made %d times", n)
	}
	if n := h.done("wire"); n != 4 { // r-waiting, r-decided, r-deep and r-later
		t.Errorf("approved calls were made %d times, want 4", n)
	}
}

// wantRun waits until a run is done and checks its answer.
func (h *heir) wantRun(id, answer string) *awaken.Run {
	h.Helper()
	run, err := h.settled(h.ctx, id)
	if err != nil {
		h.Fatal(err)
	}
	if run.Status != awaken.RunDone || run.Termination.Type != awaken.NaturalEnd || run.FinalOutput != answer {
		h.Errorf("run %s is %s, %s, and says %q, want %q", id, run.Status, run.Termination, run.FinalOutput, answer)
	}
	return run
}

func (h *heir) load(id string) *awaken.Run {
	h.Helper()
	run, err := h.main.Store.LoadRun(h.ctx, id)
	if err != nil {
		h.Fatal(err)
	}
	return run
}

func (h *heir) submit(s mailbox.Submission) *mailbox.Receipt {
	h.Helper()
	r, err := h.main.Submit(h.ctx, s)
	if err != nil {
		h.Fatal(err)
	}
	return r
}

func (h *heir) ok(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// said returns the text of the messages of a thread.
func (h *heir) said(thread string, role llm.Role) (out []string) {
	h.Helper()
	log, err := h.main.Store.Messages(h.ctx, thread, awaken.MessageQuery{})
	h.ok(err)
	for _, rec := range log {
		if rec.Message.Role == role {
			out = append(out, rec.Message.Text())
		}
	}
	return out
}

// secrets checks that the provider got its key.
func (h *heir) secrets() {
	if !h.hasKey(apiKey) {
		h.Error("the provider was made without the key that was kept for it")
	}
	for _, d := range h.config.Diagnostics() {
		if strings.Contains(d.Message, "secret") {
			h.Error(d.Message)
		}
	}
}

// takenUp checks the runs that were in flight.
func (h *heir) takenUp() {
	run, err := h.settled(h.ctx, "r-doubt")
	h.ok(err)
	if run.Status != awaken.RunDone || !strings.Contains(run.FinalOutput, "not known") {
		h.Errorf("the run with a call in doubt is %s and answered %q", run.Status, run.FinalOutput)
	}
	calls, err := h.main.Store.Calls(h.ctx, "r-doubt")
	h.ok(err)
	if len(calls) != 1 || calls[0].Result == nil || calls[0].Result.Metadata["in_doubt"] != true {
		h.Errorf("the interrupted call is not in doubt: %+v", calls)
	}
	h.wantRun("r-cut", "two: half an answer")
	h.wantRun("r-steered", "two: something else")
}

// queued returns the messages that the queue will add to its thread, in order. The first version
// dropped the message of a run that was cancelled in the queue; later ones keep it.
func (h *heir) queued() []string {
	h.Helper()
	gone, err := h.main.Store.Dispatches(h.ctx, mailbox.Query{RunID: "q-gone", Statuses: []mailbox.Status{mailbox.Queued}})
	h.ok(err)
	if len(gone) == 0 {
		return []string{"say first", "say second", "say last"}
	}
	return []string{"say first", "say second", "say nothing", "say last"}
}

// queue checks the queued runs.
func (h *heir) queue(want []string) {
	h.wantRun("q-first", "two: first")
	h.wantRun("q-second", "two: second")
	h.wantRun("q-last", "two: last")
	if said := h.said("t-queue", llm.User); !slices.Equal(said, want) {
		h.Errorf("the queue was processed in the order %q, want %q", said, want)
	}
	h.wantRun("r-retry", "two: it at last")
	if run := h.load("r-future"); run.Status != awaken.RunCreated {
		h.Errorf("the run that is delayed into the far future is %s", run.Status)
	}
	h.ok(h.main.Cancel(h.ctx, "r-future"))
	again := mailbox.Submission{Request: say("t-queue", "q-twice", "say second"), IdempotencyKey: "once", Digest: "digest"}
	if r := h.submit(again); !r.Duplicate || r.RunID != "q-second" {
		h.Errorf("a submission with a used idempotency key is run %s, duplicate %v", r.RunID, r.Duplicate)
	}
}

// decisions decides for the parked runs, which continue with the version that they are pinned
// to.
func (h *heir) decisions() {
	h.wantRun("r-decided", "one: wire did use wire")
	waiting := h.load("r-waiting")
	h.ok(h.decide(h.ctx, waiting, ""))
	if run := h.wantRun("r-waiting", "one: wire did use wire"); run.ResolutionID != waiting.ResolutionID {
		h.Errorf("the parked run was pinned to %s and now to %s", waiting.ResolutionID, run.ResolutionID)
	}
	h.ok(h.decide(h.ctx, waiting, "")) // a repeated decision
	for _, id := range []string{"r-waiting", "r-decided"} {
		h.contradict(id)
	}
	h.ok(h.decide(h.ctx, h.load("r-deep"), ""))
	h.wantRun("r-deep", `one: {"agent_id":"scout","status":"completed","response":"scout: wire did use wire","steps":2}`)
	h.submit(mailbox.Submission{Request: say("t-allowed", "r-later", "use wire")}) // approved for the whole thread
	h.wantRun("r-later", "two: wire did use wire")
}

// contradict checks that a decision with a record, whichever version made it, cannot be contradicted.
func (h *heir) contradict(run string) {
	h.Helper()
	list, err := h.main.Store.Decisions(h.ctx, mailbox.DecisionQuery{RunIDs: []string{run}})
	h.ok(err)
	if len(list) == 0 {
		if run == "r-waiting" {
			h.Error("the decision of this version has no record")
		}
		return // versions before had no records
	}
	_, err = h.main.Decide(h.ctx, run, awaken.Decision{Target: list[0].TicketID, ID: "no", Action: awaken.ActionCancel})
	if !errors.Is(err, awaken.ErrDecided) {
		h.Errorf("the contrary of what was decided for %s: %v, want ErrDecided", run, err)
	}
}

func (h *heir) deadLetter() {
	letters, err := h.main.DeadLetters(h.ctx, 0, 0)
	h.ok(err)
	if len(letters) != 1 || letters[0].RunID != "r-dead" {
		h.Fatalf("the dead letters are %v", letters)
	}
	h.publish("agents/"+letters[0].Request.AgentID, `"model_id":"m","system_prompt":"found"`)
	r, err := h.main.RetryDeadLetter(h.ctx, letters[0].ID)
	h.ok(err)
	h.wantRun(r.RunID, "found: it again")
}

func (h *heir) unread() {
	h.submit(mailbox.Submission{Request: say("t-inbox", "r-reader", "say hello")})
	run, err := h.settled(h.ctx, "r-reader")
	h.ok(err)
	if said := h.said("t-inbox", llm.User); run.Status != awaken.RunDone || !slices.Contains(said, "say what was left") || !slices.Contains(said, "say hello") {
		h.Errorf("the run after the unread message is %s, and the user messages are %q", run.Status, said)
	}
	if left, err := h.main.Store.Unread(h.ctx, "t-inbox"); err != nil || len(left) > 0 {
		h.Errorf("the inbox holds %d items: %v", len(left), err)
	}
}

func (h *heir) tenantSpent() money.Amount {
	h.Helper()
	list, err := h.main.Store.(money.Budget).Balances(h.ctx, money.Account{Scope: money.TenantScope})
	h.ok(err)
	return list[0].Spent
}

// budget raises the budget that a run waits for, and checks the balances.
func (h *heir) budget(before money.Amount) {
	b := h.main.Store.(money.Budget)
	h.ok(money.SetBudget(h.ctx, b, money.Account{Scope: money.RunScope, ID: "r-broke"}, new(money.Dollar)))
	_, err := h.main.Continue(h.ctx, "r-broke")
	h.ok(err)
	run := h.wantRun("r-broke", "one: hello")
	if after := h.tenantSpent(); before == 0 || after <= before+money.Dollars(run.CostUSD) {
		h.Errorf("the tenant had spent %v, and has spent %v", before, after)
	}
	if left, err := b.Reservations(h.ctx); err != nil || len(left) > 0 {
		h.Errorf("%d reservations are left: %v", len(left), err)
	}
}

// anew starts runs on existing data: a finished thread and a fork of it, another tenant, and
// a user with a profile.
func (h *heir) anew() {
	h.submit(mailbox.Submission{Request: say("t-done", "r-third", "say even more")})
	h.wantRun("r-third", "two: even more")
	h.submit(mailbox.Submission{Request: say("t-fork", "r-forked", "use look")})
	h.wantRun("r-forked", "two: look did use look")
	acme := h.box.Tenant("acme")
	_, err := acme.Submit(h.ctx, mailbox.Submission{Request: say("t-done", "r-acme", "say more to acme")})
	h.ok(err)
	for {
		run, err := acme.Store.LoadRun(h.ctx, "r-acme")
		h.ok(err)
		if run.Status == awaken.RunDone {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if lang, err := locale.Read(h.ctx, h.db.profile(""), profile.User("alice")); err != nil || lang != "nb-NO" {
		h.Errorf("alice's language is %q: %v", lang, err)
	}
	h.ok(locale.Write(h.ctx, h.db.profile(""), profile.User("alice"), "nn-NO"))
}

func (h *heir) publish(name, fields string) {
	h.Helper()
	doc := document(name, fields)
	_, err := h.config.Put(h.ctx, doc.Key, doc.Spec, false, config.Condition{}, me)
	h.ok(err)
}

// documents publishes the drafts, decides about the canary, and rolls back to a version.
func (h *heir) documents() {
	drafts, err := h.config.Drafts().List(h.ctx)
	h.ok(err)
	var names []string
	for _, v := range drafts {
		names = append(names, v.Key.String())
	}
	if want := []string{"agents/clerk", "agents/sketch", "agents/trial"}; !slices.Equal(names, want) {
		h.Errorf("the drafts are %q, want %q", names, want)
	}
	_, err = h.config.Canary().Promote(h.ctx, me)
	h.ok(err)
	_, err = h.config.Drafts().Publish(h.ctx, []config.Key{key("agents/sketch"), key("agents/clerk")}, nil, "", me)
	h.ok(err)
	ask := func(run, agent, answer string) {
		h.Helper()
		req := say("t-"+run, "r-"+run, "say so")
		req.AgentID = agent
		h.submit(mailbox.Submission{Request: req})
		h.wantRun("r-"+run, answer)
	}
	ask("sketch", "sketch", "a sketch: so")
	ask("clerk", "clerk", "three: so")
	ask("trial", "trial", "new trial: so")
	ask("greeter", "greeter", "overridden: so")
	_, err = h.config.ClearOverrides(h.ctx, key("agents/greeter"), "", config.Condition{}, me)
	h.ok(err)
	ask("cleared", "greeter", "hello: so")
	first := h.load("r-waiting").ResolutionID
	versions, err := h.config.Versions().List(h.ctx, 0, 1000)
	h.ok(err)
	at := slices.IndexFunc(versions, func(p *config.Publication) bool { return p.ResolutionID() == first })
	if at < 0 {
		h.Fatalf("there is no version %s", first)
	}
	_, err = h.config.Versions().Rollback(h.ctx, versions[at].Number, me)
	h.ok(err)
	ask("back", "clerk", "one: so")
	_, err = h.config.Rotate(h.ctx, me)
	h.ok(err)
	events, err := h.config.Audit().List(h.ctx, config.AuditQuery{Limit: 1000})
	h.ok(err)
	if first, last := events[len(events)-1], events[0]; first.Resource != "providers/p" || !last.Time.After(first.Time) {
		h.Errorf("the audit log begins with %s of %s", first.Action, first.Resource)
	}
}
