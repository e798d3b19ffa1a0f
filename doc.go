// Package awaken defines the vocabulary of an agent runtime: agents, tools, plugins, runs,
// events and the interfaces of a store. Package engine runs them.
//
// # A first agent
//
// An agent is data, an [AgentSpec]. It names a model, the model names a provider, and a
// provider is an [llm.Model]. engine.New checks the whole configuration and returns a
// Runtime:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/awaken-go/awaken"
//		"github.com/awaken-go/awaken/engine"
//		"github.com/awaken-go/awaken/llm"
//		"github.com/awaken-go/awaken/llm/llmtest"
//	)
//
//	func main() {
//		rt, err := engine.New(engine.Config{
//			Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "chat", SystemPrompt: "You are terse."}},
//			Models:    []awaken.ModelSpec{{ID: "chat", ProviderID: "demo", UpstreamModel: "scripted"}},
//			Providers: map[string]llm.Model{"demo": llmtest.Demo()}, // a scripted model that needs no key
//		})
//		if err != nil {
//			log.Fatal(err)
//		}
//		req := awaken.RunRequest{Messages: []*llm.Message{llm.UserText("hello")}}
//		for ev, err := range rt.Stream(context.Background(), req) {
//			if err != nil {
//				log.Fatal(err)
//			}
//			if d, ok := ev.(*awaken.TextDelta); ok {
//				fmt.Print(d.Delta)
//			}
//		}
//	}
//
// Runtime.Stream yields the events of a run. Runtime.Run sends the same events to a [Sink]
// and returns a [RunResult]. Every run streams; there is no other way to run an agent.
//
// # Tools
//
// A [Tool] is a function that a model can call. [NewTool] wraps a Go function. The runtime
// derives the JSON Schema of the arguments from the argument type, shows it to the model, and
// checks the arguments of every call against it:
//
//	weather := awaken.NewTool(awaken.ToolSpec{
//		ID:          "get_weather",
//		Description: "Returns the weather in a city.",
//		Effect:      awaken.ReadOnly,
//	}, func(ctx context.Context, call *awaken.ToolCall, in struct {
//		City string `json:"city" jsonschema:"name of the city"`
//	}) (Weather, error) {
//		return lookUp(ctx, in.City)
//	})
//
// Register tools in engine.Config.Tools. An agent is offered the tools that its catalogue
// allows, which is all of them by default. If a tool returns an error, the model sees it;
// [Fatal] ends the run instead, and [Suspend] waits for a person. The runtime records a call
// before it starts, unless the tool is [ReadOnly], so that a crash never repeats an effect
// silently. Pass [ToolCall.Key] to other systems as an idempotency key.
//
// # Threads and stores
//
// A run belongs to a thread, a conversation whose messages form an append-only log. Set
// [RunRequest.ThreadID] to continue a thread. A [Store] keeps threads; store/memory,
// store/file, store/sqlite and store/postgres implement it. A run writes only through
// [Committer.Commit], which stores messages, run record, changed state, the ledger of tool
// calls and events in one transaction. Events that claim something durable reach the sink
// after the commit.
//
// # State
//
// A [state.Key] is a typed value. Hooks and tools read it from the call they are given and
// record updates in that call. The runtime applies the updates together and saves them with
// the run or the thread:
//
//	var visits = state.NewKey("demo.visits", func(n, d int) int { return n + d },
//		state.Options{Scope: state.Thread, Merge: state.Commutative})
//
//	n := visits.Get(call)  // call is a *ToolCall or a *HookCall
//	visits.Update(call, 1)
//
// A call reads the state from before the call: it does not see its own updates.
//
// Register every key, with [Registrar.Key] in a plugin or in engine.Config.Keys. A run that
// updates an unregistered key ends with an error.
//
// # Plugins
//
// A [Plugin] contributes keys, hooks, gates, guards, tools, transforms, actions, effects, stop
// policies and variants of its agent. A run passes nine phases, from [PhaseRunStart] to
// [PhaseRunEnd]. A [Hook] runs at one phase: it reads a snapshot and records a [Command]. A
// [Gate] decides about each tool call: [Allow], [Block], [SuspendCall] or [Answer]. A [Guard]
// inspects what enters and leaves the run: messages, answers and tool results. A [Transform]
// changes requests to the model. An [Action] is work scheduled for a phase. An [Effect]
// happens outside the run, after the commit. A [Section] is the plugin's configuration inside
// the agent's spec; a Go struct is its schema.
//
// A whole plugin, which asks a person before one tool runs:
//
//	type Confirm struct {
//		Tool string `json:"tool"`
//	}
//
//	var section = awaken.NewSection("confirm", Confirm{Tool: "delete"}) // with its default
//
//	type confirm struct{}
//
//	func (confirm) Name() string { return "confirm" }
//
//	func (confirm) Register(r *awaken.Registrar) error {
//		r.Section(section)
//		cfg, err := section.Read(r.Agent)
//		if err != nil {
//			return err
//		}
//		r.Key(visits)
//		r.On(awaken.PhaseAfterToolExecute, func(ctx context.Context, h *awaken.HookCall) error {
//			visits.Update(h, 1)
//			return nil
//		})
//		r.Gate(func(ctx context.Context, h *awaken.HookCall) (awaken.Verdict, error) {
//			if h.Tool.Tool != cfg.Tool {
//				return awaken.Allow(), nil
//			}
//			return awaken.SuspendCall(awaken.Ticket{Suspension: awaken.Suspension{Message: "Really?"}}), nil
//		})
//		return nil
//	}
//
// Register plugins in engine.Config.Plugins. An agent loads the plugins that its spec lists in
// plugin_ids, and configures them in sections:
//
//	{"id": "default", "model_id": "chat", "plugin_ids": ["confirm"], "sections": {"confirm": {"tool": "send_mail"}}}
//
// # People
//
// A tool or a gate suspends a call with a [Ticket]. When nothing else is left to do, the
// runtime commits the run as waiting and parks it: a parked run uses neither a goroutine nor
// memory. The result lists the tickets, and Runtime.Resume continues the run, now or after a
// restart. Without a Store, a run that waits cannot be resumed.
//
//	res, err := rt.Run(ctx, req, sink)
//	if err != nil {
//		return err
//	}
//	if res.Status == awaken.RunWaiting {
//		ticket := res.Waiting.Tickets[0] // there is none if it waits for a budget or a child run
//		res, err = rt.Resume(ctx, res.RunID, sink, ticket.Approve()) // or Edit, Answer, Reject
//	}
//
// The target of a [Decision] is the id of the ticket (which is the id of its suspension) or
// the id of the tool call. Runtime.Decide delivers a decision to a run that is still active.
//
// # Stopping
//
// Every started run ends with exactly one final [RunFinish]: at its natural end, by a stop
// condition of its spec or a [StopPolicy], by a gate or a guard that blocks, by Runtime.Cancel
// or a cancelled context, or with an error. The store keeps what the run produced until then.
//
// # Context
//
// An agent with a [ContextPolicy] sends requests that fit the model's window, however long
// its threads become: large tool results are shortened, the oldest messages are left out,
// and with autocompact_threshold set they are summarised in the background. The log keeps
// everything.
//
// # Terms
//
//	thread       a conversation: an append-only log of messages, with state, runs and an inbox
//	run          the work on one request, from its start to its end, across waits and restarts
//	open run     a run that has started and has not ended: it is running or waiting; a thread has at most one
//	step         one answer of the model, and the execution of its tool calls
//	activation   one stretch of a run: from its start, or from resuming it, until it ends, waits or is lost
//	to park      to commit a run as waiting and to release it
//	ticket       a suspended call that waits for a decision
//	inbox        decisions, messages and reports posted to a thread that no run has read yet
//	catalogue    the part of an agent's spec that says which tools it is offered
//	child        a run that a tool call of another run, its parent, started
//	handoff      a run continues with another agent, on the same thread
//	variant      an agent that a plugin derives from another: the same with a few fields replaced
//	tenant       a name that separates data, such as a customer; each tenant has a Store of its own
//	version      one immutable state of the registry; a run is pinned to the one that it started with (its resolution id)
//	owner        the process that has acquired a thread, and so may write to it
//	fence        a number that grows whenever a thread is acquired; stores reject commits with an old one
//	epoch        the fence of the owner that wrote an event
//	generation   a number that grows whenever a run is cancelled; an old one must not begin anything
//	ledger       the records of a run's tool calls, from which a new owner recovers
//
// # Where things are
//
//	running      RunRequest, RunResult, Sink, Event and its types; engine: Runtime, Config
//	agents       AgentSpec, ModelSpec, StopCondition; registry: Registry
//	context      ContextPolicy; registry: CompactionSection, ContextTransformSection, KnowledgeCutoffSection
//	tools        Tool, NewTool, ToolSpec, ToolCall, ToolResult, FrontendTool, Prober
//	plugins      Plugin, Registrar, Hook, HookCall, Phase, Gate, Guard, Transform, Section, Action, Effect, StopPolicy
//	people       Ticket, Suspension, Waiting, Decision
//	many agents  Overlay, Delegator, ChildID, Send, Outgoing, Queue; plugin/handoff, plugin/delegate, plugin/background
//	reading      ThreadStore and RunStore: threads, messages, runs, calls
//	for stores   Store, Commit, Checkpoint, View, Entry, Cursor
//
// Related packages: engine (runs agents), registry (resolves them), llm (messages and models),
// llm/llmtest (a scripted model), state, profile (values outside runs), eventlog (follow a
// thread from any cursor), store/* (stores), mailbox (a durable queue of runs), config (agents
// as documents that change while the program runs), plugin/* (plugins), awakentest (test your
// agents).
package awaken
