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
// A [Runtime] is safe for concurrent use. What its users name (agents, tools, plugins, events,
// runs, stores) is in package awaken, which also explains how the parts fit together. Only
// programs and test kits import this package: plugins get an [awaken.Host], and the queue and
// the server declare the methods of a Runtime that they call.
//
// # How it is built
//
// [Runtime.Run] opens a run (open.go) and drives it (loop.go: the list of what a run does, in
// order; step.go: what each entry of the list does). A run is made of parts, each in a file of
// its own:
//
//	activation    which run it is, its record and state, how it fails    activation.go
//	recorder      numbers events and hands them to the sink              recorder.go
//	ledger        the calls of the step, as the store has them           ledger.go
//	conversation  what the model is shown                                conversation.go, window.go
//	toolkit       what the model is offered                              toolkit.go
//	finalOutput   the answer, if it has to fit a schema                  output.go
//	journal       what the next commit holds; commits in flight          journal.go, inflight.go
//	sender        what it sends beyond its thread                        sender.go
//	inbox         what others have posted to its thread                  inbox.go
//	hooks, phases hooks, actions, effects and gates                      phases.go
//	guards        what passes the borders of the run                     guards.go, held.go
//	inference     asks the model: the request, the answer                inference.go, request.go, stream.go
//	wallet        what may be spent; an allowance for each request       wallet.go, allowance.go, reservation.go
//	compactor     summaries of the conversation                          compactor.go, compaction.go
//	crew          runs calls, with timeouts; calls in doubt              crew.go, doubt.go
//	outcomes      what calls come to                                     outcomes.go
//	decider       what people decide about calls                         decide.go
//	children      the runs of calls                                      children.go
package engine
