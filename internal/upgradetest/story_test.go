//go:build unix

package upgradetest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/state/profile"
)

// hangs is the number of runs in flight when the process is killed. It is also the number of
// workers, so what is submitted later stays in the queue.
const hangs = 3

// systemTenant is the tenant whose profile holds the keys of the server.
const systemTenant = "awaken.system"

var me = config.Actor{ID: "key-1", Label: "tester", IP: "10.0.0.1", RequestID: "request-1"}

// story is the program of the writer. It panics on errors.
type story struct {
	*desk
	ctx context.Context
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

// tell leaves everything in a database that a process can leave there. It returns with work
// in flight, so the caller must die.
func tell(ctx context.Context, db *database) {
	s := &story{must(openDesk(ctx, db, newWorld(true), 2*time.Second)), ctx}
	s.documents()
	go func() { check(s.box.Work(ctx)) }()
	s.budgets()
	s.values()
	s.waiting()
	s.versions()
	s.finished()
	s.drafts()
	s.inbox()
	s.inFlight()
	s.queued()
}

func key(name string) config.Key {
	ns, id, _ := strings.Cut(name, "/")
	return config.Key{Namespace: config.Namespace(ns), ID: id}
}

// document returns a document with an id and fields.
func document(name, fields string) config.Document {
	k := key(name)
	return config.Document{Key: k, Spec: json.RawMessage(fmt.Sprintf(`{"id":%q,%s}`, k.ID, fields))}
}

func (s *story) put(name, fields string, draft bool) {
	doc := document(name, fields)
	must(s.config.Put(s.ctx, doc.Key, doc.Spec, draft, config.Condition{}, me))
}

const asks = `"plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"allow","rules":[{"tool":"wire","behavior":"ask"}]}}`

// documents publishes the first versions.
func (s *story) documents() {
	s.put("providers/p", `"adapter":"scripted","api_key":"`+apiKey+`"`, false)
	s.put("models/m", `"provider_id":"p","upstream_model":"up","structured_output":true,"context_window":100000,"max_output_tokens":1000,
		"input_token_price_per_million_usd":1,"output_token_price_per_million_usd":2`, false)
	s.put("model-pools/all", `"members":[{"model_id":"m"}]`, false)
	s.put("agents/scout", `"model_id":"all","system_prompt":"scout",`+asks, false)
	s.put("agents/clerk", `"model_id":"m","system_prompt":"one","delegates":["scout"],`+asks, false)
	s.put("agents/trial", `"model_id":"m","system_prompt":"old trial"`, false)
	check(s.config.Seed(s.ctx, "1.0", []config.Document{document("agents/greeter", `"model_id":"m","system_prompt":"hello"`)}))
	must(s.config.Override(s.ctx, key("agents/greeter"), json.RawMessage(`{"system_prompt":"overridden"}`), false, config.Condition{}, me))
	must(s.config.Override(s.ctx, key("tools/look"), json.RawMessage(`{"description":"looks closely"}`), false, config.Condition{}, me))
	s.put("skills/poetry", `"name":"Poetry","description":"Writes verse.","instructions_md":"Rhyme."`, false)
	s.put("mcp-servers/files", `"transport":"stdio","command":"files","env":{"TOKEN":"kept-too"}`, false)
}

func (s *story) budgets() {
	b := s.main.Store.(money.Budget)
	limit := 100 * money.Dollar
	check(money.SetBudget(s.ctx, b, money.Account{Scope: money.TenantScope}, &limit))
	limit = 50 * money.Dollar
	check(money.SetBudget(s.ctx, b, money.Account{Scope: money.AgentScope, ID: "clerk"}, &limit))
}

var locale = profile.NewKey[string]("locale")

func (s *story) values() {
	check(locale.Write(s.ctx, s.db.profile(""), profile.User("alice"), "nb-NO"))
	check(locale.Write(s.ctx, s.db.profile(""), profile.Global, "en-GB"))
	check(locale.Write(s.ctx, s.db.profile("acme"), profile.Global, "de-CH"))
	keys := access.NewKeys(s.db.profile(systemTenant))
	for _, k := range []server.Key{{Kind: server.AdminKey, Label: "operators"}, {Kind: server.RunKey, Tenant: "acme", User: "alice", Label: "the web site"}} {
		_, _, err := keys.Make(s.ctx, k, nil)
		check(err)
	}
}

// run submits a request and waits until no worker has it.
func (s *story) run(req awaken.RunRequest) *awaken.Run {
	must(s.main.Submit(s.ctx, mailbox.Submission{Request: req}))
	return must(s.settled(s.ctx, req.RunID))
}

// waiting leaves parked runs that are pinned to an earlier version.
func (s *story) waiting() {
	s.run(say("t-waiting", "r-waiting", "use wire"))
	s.run(say("t-decided", "r-decided", "use wire"))
	s.run(say("t-deep", "r-deep", "give scout use wire"))
	broke := say("t-broke", "r-broke", "say hello")
	broke.Budget = &awaken.RunBudget{Run: new(1e-9)}
	s.run(broke)
}

// versions publishes more versions and rolls back to one.
func (s *story) versions() {
	s.put("agents/clerk", `"model_id":"m","system_prompt":"two","delegates":["scout"],`+asks, false)
	good := must(s.config.Versions().Head(s.ctx)).Live
	s.put("agents/clerk", `"model_id":"m","system_prompt":"worse"`, false)
	must(s.config.Versions().Rollback(s.ctx, good, me))
	check(s.db.config.Tally(s.ctx, good, config.Tally{Runs: 3, Errors: 1, CostUSD: 0.25, LatencyMS: 1200}))
}

// finished leaves runs that ended in every way.
func (s *story) finished() {
	first := say("t-done", "r-done", "use look")
	first.UserID, first.SessionID = "alice", "session-1"
	s.run(first)
	s.run(say("t-done", "r-again", "say more"))
	edit := s.main.Store.(awaken.ThreadEditor)
	must(edit.UpdateThread(s.ctx, "t-done", func(t *awaken.Thread) error {
		t.Metadata.Title, t.ResourceID = "A title", "resource-1"
		t.Metadata.Custom = map[string]json.RawMessage{"colour": json.RawMessage(`"blue"`)}
		return nil
	}))
	must(edit.Fork(s.ctx, "t-done", 4, "t-fork", nil))

	report := say("t-json", "r-json", "report the weather")
	report.OutputSchema = json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"degrees":{"type":"number"}},"required":["city","degrees"]}`)
	s.run(report)
	s.run(say("t-parent", "r-parent", "give scout use look"))
	s.run(say("t-failed", "r-failed", "fail"))
	greet := say("t-greeted", "r-greeted", "say hi")
	greet.AgentID = "greeter"
	s.run(greet)

	asked := s.run(say("t-allowed", "r-allowed", "use wire"))
	check(s.decide(s.ctx, asked, `{"remember":"thread"}`))
	must(s.settled(s.ctx, "r-allowed"))

	s.run(say("t-cancelled", "r-cancelled", "use wire"))
	check(s.main.Cancel(s.ctx, "r-cancelled"))
	must(s.settled(s.ctx, "r-cancelled"))

	lost := say("t-dead", "r-dead", "say it again")
	lost.AgentID = "missing"
	s.run(lost) // a dead letter

	acme := s.box.Tenant("acme")
	must(acme.Submit(s.ctx, mailbox.Submission{Request: say("t-done", "r-done", "say hello to acme")}))
	for must(acme.Store.LoadRun(s.ctx, "r-done")).Status != awaken.RunDone {
		time.Sleep(5 * time.Millisecond)
	}
}

// drafts leaves two drafts and a canary.
func (s *story) drafts() {
	s.put("agents/trial", `"model_id":"m","system_prompt":"new trial"`, true)
	must(s.config.Drafts().Publish(s.ctx, []config.Key{key("agents/trial")}, &config.Canary{Share: 0.5, Rule: &config.CanaryRule{MinRuns: 1000, MaxErrorRate: 0.5}}, "try it", me))
	s.put("agents/sketch", `"model_id":"m","system_prompt":"a sketch"`, true)
	s.put("agents/clerk", `"model_id":"m","system_prompt":"three","delegates":["scout"],`+asks, true)
}

func (s *story) inbox() {
	s.run(say("t-inbox", "r-inbox", "say something"))
	check(s.main.Store.Post(s.ctx, "t-inbox", awaken.InboxItem{ID: "left", Messages: []*llm.Message{llm.UserText("say what was left")}}))
}

// inFlight starts the runs that the kill interrupts: a call with an effect, and two answers,
// one with an unread message.
func (s *story) inFlight() {
	for _, req := range []awaken.RunRequest{say("t-doubt", "r-doubt", "use ship"), say("t-cut", "r-cut", "ponder"), say("t-steered", "r-steered", "ponder")} {
		must(s.main.Submit(s.ctx, mailbox.Submission{Request: req}))
		<-s.hanging
	}
	steer := say("t-steered", "", "say something else")
	must(s.main.Submit(s.ctx, mailbox.Submission{Request: steer, Mode: mailbox.ModeSteer}))
}

// queued leaves dispatches in the queue that no worker is free for.
func (s *story) queued() {
	check(s.decide(s.ctx, must(s.main.Store.LoadRun(s.ctx, "r-decided")), ""))
	submit := func(run, text string, sub mailbox.Submission) *mailbox.Receipt {
		sub.Request = say("t-queue", run, text)
		return must(s.main.Submit(s.ctx, sub))
	}
	submit("q-last", "say last", mailbox.Submission{Priority: new(200)})
	submit("q-second", "say second", mailbox.Submission{IdempotencyKey: "once", Digest: "digest", DedupeKey: "dedupe"})
	edited := submit("q-first", "say zeroth", mailbox.Submission{Priority: new(100)})
	check(s.main.EditPending(s.ctx, "t-queue", edited.DispatchID, 0, []*llm.Message{llm.UserText("say first")}))
	submit("q-gone", "say nothing", mailbox.Submission{})
	check(s.main.Cancel(s.ctx, "q-gone"))
	must(s.main.Submit(s.ctx, mailbox.Submission{Request: say("t-future", "r-future", "say later"), Delay: forever}))

	// A dispatch that another worker has tried.
	must(s.main.Submit(s.ctx, mailbox.Submission{Request: say("t-retry", "r-retry", "say it at last"), Priority: new(0)}))
	check(s.db.queue.Join(s.ctx, "other", time.Minute))
	claimed, _, err := s.db.queue.Claim(s.ctx, mailbox.ClaimRequest{Consumer: "other", Lease: time.Minute, Limit: 1})
	check(err)
	if len(claimed) != 1 || claimed[0].RunID != "r-retry" {
		panic(fmt.Sprintf("claimed %v, want the dispatch of r-retry", claimed))
	}
	for _, err := range must(s.db.queue.Settle(s.ctx, mailbox.Settlement{Claim: claimed[0].Claim(), Status: mailbox.Queued, Failed: true, Error: "the database was away"})) {
		check(err)
	}
}
