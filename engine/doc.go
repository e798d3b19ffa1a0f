// Package engine runs agents.
//
//	rt, err := engine.New(engine.Config{
//		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "chat", SystemPrompt: "You are terse."}},
//		Models:    []awaken.ModelSpec{{ID: "chat", ProviderID: "demo", UpstreamModel: "scripted"}},
//		Providers: map[string]llm.Model{"demo": llmtest.Demo()},
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//	res, err := rt.Run(ctx, awaken.RunRequest{Messages: []*llm.Message{llm.UserText("hello")}}, nil)
//
// A [Runtime] is safe for concurrent use. The types its users name (agents, tools, plugins,
// events, runs, stores) are in package awaken, which also explains how they fit together and
// defines the terms used here. Only programs and test kits import this package: plugins get an
// [awaken.Host], and the queue and the server declare the Runtime methods they call.
//
//	running     Run, Stream, Resume, Text
//	active runs Send, Decide, Cancel, Wait, Yield
//	threads     ThreadState
//	agents      Registry, Publish
//	tenants     With
//	shutdown    Settle
//	for queues  CheckDecisions, Notify, Report, HasAgent
//
// The rest of this comment is for readers of the code.
//
// # A run, from start to end
//
// [Runtime.Run] opens a run (open.go): it claims the thread in this process, acquires it from the
// store, which raises the thread's fence, and finds or creates the run's record. Then run.main
// (loop.go) drives it in one goroutine:
//
//	start    commit the record as running; activate plugins; resume calls that were open
//	step     the stages of beforeStep and inStep, in order; one step is one model call and the
//	         tool calls it asks for
//	finish   run the run_end phase; commit the record as done; publish run_finish
//
// A stage returns nil to continue, or an end. An end finishes the run, or says that the run is
// parked (committed as waiting, nothing left to do) or lost (another owner has the thread: write
// nothing). The special end stepOver ends only the step.
//
// Nothing durable is claimed before it is stored. During a step the run collects messages, ledger
// records, state changes and events; journal.commit writes them in one transaction, guarded by the
// fence, and then publishes the events that were deferred for it. Text deltas are published at
// once. A tool call that may have an effect is committed as an intent before it begins.
//
// A run waits by parking: it commits its record as waiting and Run returns. A decision, a message
// or an expired ticket is posted to the thread's inbox, and a later Run on the thread resumes it.
//
// # How it is built
//
// A run consists of parts, each in a file of its own. Every part embeds the core, the data that all
// of them work on, and points to the few other parts it calls; newRun connects them.
//
//	activation    identity, record, state, context; turns errors into ends  activation.go
//	recorder      numbers events and passes them to the sink                recorder.go
//	ledger        the tool calls of the step                                ledger.go
//	conversation  the messages the model sees                               conversation.go, window.go
//	toolkit       the tools the model is offered                            toolkit.go
//	finalOutput   an answer that must match a schema                        output.go
//	journal       collects and makes commits; commits in flight             journal.go, inflight.go
//	sender        the outbox: messages and runs for other threads           sender.go
//	inbox         messages, decisions and reports posted to the thread      inbox.go
//	hooks, phases hooks, scheduled actions, effects and gates               phases.go
//	guards        checks on input, output and tool results                  guards.go, held.go
//	inference     the model request and its answer                          inference.go, request.go, stream.go
//	wallet        budgets; a reservation for each request                   wallet.go, allowance.go, reservation.go
//	compactor     summaries of long conversations                           compactor.go, compaction.go
//	crew          runs tool calls, with timeouts; calls in doubt; steps     prepare.go, crew.go, doubt.go, callsteps.go
//	outcomes      results of tool calls                                     outcomes.go
//	decider       decisions on suspended calls                              decide.go
//	children      runs that tool calls started                              children.go
package engine
