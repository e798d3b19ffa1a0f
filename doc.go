// Package awaken runs AI agents: in phases, with typed state, plugins, tools and
// people in the loop.
//
// # A first agent
//
// An agent is data, an [AgentSpec]. It names a model; the model names a provider;
// a provider is an [llm.Model]. [engine.New] checks all of it at once and returns a
// [engine.Runtime]:
//
//	rt, err := engine.New(engine.Config{
//		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "chat", SystemPrompt: "You are terse."}},
//		Models:    []awaken.ModelSpec{{ID: "chat", ProviderID: "demo", UpstreamModel: "scripted"}},
//		Providers: map[string]llm.Model{"demo": llmtest.Demo()},
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//	req := awaken.RunRequest{Messages: []*llm.Message{llm.UserText("hello")}}
//	for ev, err := range rt.Stream(ctx, req) {
//		if err != nil {
//			log.Fatal(err)
//		}
//		if d, ok := ev.(*awaken.TextDelta); ok {
//			fmt.Print(d.Delta)
//		}
//	}
//
// [engine.Runtime.Stream] is the loop above; [engine.Runtime.Run] sends the same events to a
// [Sink] and returns a [RunResult]. There is no other way to run an agent, and none
// that does not stream.
//
// # Tools
//
// A [Tool] is something a model can ask to have done. [NewTool] makes one of a
// function; its argument type is the JSON Schema that models are shown and that
// arguments are checked against:
//
//	weather := awaken.NewTool(awaken.ToolSpec{
//		ID:          "get_weather",
//		Description: "Tells the weather in a city.",
//		Effect:      awaken.ReadOnly,
//	}, func(ctx context.Context, call *awaken.ToolCall, in struct {
//		City string `json:"city" jsonschema:"name of the city"`
//	}) (Weather, error) {
//		return lookUp(ctx, in.City)
//	})
//
// Tools go into Config.Tools; an agent is offered those that its catalogue lets
// through, all of them by default. An error that a tool returns is shown to the
// model; [Fatal] ends the run; [Suspend] waits for a person. A tool that is not
// [ReadOnly] is recorded before it begins, so that after a crash nothing is silently
// done twice; pass [ToolCall.Key] on as an idempotency key.
//
// # Threads and stores
//
// A run belongs to a thread, a conversation whose messages are an append-only log.
// Name one in [RunRequest.ThreadID] to go on with it. A [Store] keeps threads; see
// store/memory. A run writes only through [Committer.Commit]: messages, record,
// changed state, the ledger of tool calls and events, all or nothing. Events that
// claim something durable reach the sink after the commit.
//
// # State
//
// A [state.Key] is a typed value that hooks and tools read from what they are given
// and update by recording in it; the updates are applied together, and saved with
// the run or the thread:
//
//	var visits = state.NewKey("demo.visits", func(n, d int) int { return n + d },
//		state.Options{Scope: state.Thread, Merge: state.Commutative})
//
//	visits.Update(call, 1)  // call is a *ToolCall or a *HookCall
//	n := visits.Get(call)
//
// A key has to be registered, by a plugin with [Registrar.Key] or in Config.Keys; a
// run that updates one that is not ends with an error.
//
// # Plugins
//
// A [Plugin] registers what it contributes: keys, hooks, gates, tools, transforms,
// actions, effects. A run passes nine phases, from [PhaseRunStart] to [PhaseRunEnd];
// a [Hook] is called at one of them, reads one snapshot, and records a [Command]. A
// [Gate] is asked about each tool call: [Allow] it, [Block] it, [SuspendCall] it, or
// [Answer] it. An [Action] is work scheduled for a phase; an [Effect] is something
// done outside once it is committed. A plugin's configuration is a [Section] of the
// agent's spec, whose schema is a Go struct.
//
// A whole plugin:
//
//	var limit = awaken.NewSection("guard", Guard{Path: "/tmp/"}) // type Guard struct { Path string `json:"path"` }
//
//	type guard struct{}
//
//	func (guard) Name() string { return "guard" }
//
//	func (guard) Register(r *awaken.Registrar) error {
//		r.Section(limit)
//		r.Key(visits)
//		r.On(awaken.PhaseAfterToolExecute, func(ctx context.Context, h *awaken.HookCall) error {
//			visits.Update(h, 1)
//			return nil
//		})
//		r.Gate(func(ctx context.Context, h *awaken.HookCall) (awaken.Verdict, error) {
//			if h.Tool.Tool != "delete" {
//				return awaken.Allow(), nil
//			}
//			return awaken.SuspendCall(awaken.Ticket{Suspension: awaken.Suspension{Message: "Really?"}}), nil
//		})
//		return nil
//	}
//
// Every [AgentSpec] lists the plugins it loads in plugin_ids; Config.Plugins holds
// what there is to list.
//
// # People
//
// A tool or a gate suspends a call with a [Ticket]. When nothing else is left to do,
// the run is committed as waiting and let go: it costs neither a goroutine nor
// memory. The result says what it waits for, and [engine.Runtime.Resume] goes on with it,
// now or after a restart. That needs a Store.
//
//	res, err := rt.Run(ctx, req, sink)
//	if res.Status == awaken.RunWaiting {
//		ticket := res.Waiting.Tickets[0]
//		res, err = rt.Resume(ctx, res.RunID, sink, ticket.Approve()) // or Edit, Answer, Reject
//	}
//
// A decision's target is the ticket's id, which is the id of its suspension, or the
// id of the tool call. [engine.Runtime.Decide] reaches a run that is still going on.
//
// # Stopping
//
// A run ends with exactly one [RunFinish], whatever happens: at its natural end, by
// a stop condition of its spec or a [StopPolicy], by a gate that blocks, by
// [engine.Runtime.Cancel] or a cancelled context, or with an error. What it had said is
// kept.
//
// # Context
//
// An agent with a [ContextPolicy] sends requests that fit, however long its threads
// become: large results are shown in part, the oldest messages are left out, and with an
// autocompact_threshold they are summarised in the background. The log keeps everything.
//
// # Where things are
//
//	running      Runtime, Config, RunRequest, RunResult, Sink, Event and its types
//	agents       AgentSpec, ModelSpec, StopCondition, Registry
//	context      ContextPolicy, CompactionSection, ContextTransformSection, KnowledgeCutoffSection
//	tools        Tool, NewTool, ToolSpec, ToolCall, ToolResult, FrontendTool, Prober
//	plugins      Plugin, Registrar, Hook, HookCall, Phase, Gate, Transform, Section, Action, Effect
//	people       Ticket, Suspension, Waiting, Decision
//	many agents  Overlay, Delegator, ChildID, Send, Outgoing, Queue, RemoteBackend; plugin/handoff, plugin/delegate, plugin/background
//	reading      ThreadStore and RunStore: threads, messages, runs, calls
//	for stores   Store, Commit, Checkpoint, View, Entry, Cursor
//
// Beside this package: llm (messages and models), llm/llmtest (a scripted model),
// state, profile (values outside runs), eventlog (follow a thread from any cursor),
// store/* (where threads are kept), plugin/* (plugins), awakentest (test your agents).
package awaken
