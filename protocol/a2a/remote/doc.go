// Package remote runs agents that are on other A2A servers, version 1.0, over HTTP+JSON or JSON-RPC.
//
//	backend := remote.New(remote.Options{})
//	rt, err := engine.New(engine.Config{
//		Agents: []*awaken.AgentSpec{{ID: "analyst", Endpoint: &awaken.RemoteEndpoint{
//			BaseURL: "https://analyst.example.com/v1/a2a",
//			Auth:    &awaken.RemoteAuth{Type: "bearer", Token: awaken.NewSecret(token)},
//		}}},
//		Backends: map[string]registry.RemoteBackend{"a2a": backend},
//	})
//
// The run of a remote agent is an ordinary run of this runtime, in which the agent takes the place of the model: a step
// sends it what the conversation has new, and streams its answer. So it is stored, followed, cancelled and taken over like
// any run, as a root agent and as a delegate. What the agent asks (INPUT_REQUIRED, AUTH_REQUIRED) is a call of the tool
// [QuestionTool], which suspends the run; the next step sends the decisions as a message to the same task.
//
// Sending a message is an effect. Its intent is committed before it, with the id of the message, and so is the id of the
// task as soon as the server tells it. An owner that takes the run over subscribes to the task, or gets it. If it does not
// know whether the message arrived, it looks for it in the tasks of the context; what cannot be found out is asked of a
// person, and no message is sent again silently. The ids of context and task stay with the thread, so its next message
// continues the agent's conversation.
//
// The files follow an exchange: agent.go (the backend and its agents), exchange.go (one step, from the notes to the last
// event), outgoing.go (what is sent), reply.go (what is answered), doubt.go, question.go; and below them client.go (the
// operations of the protocol), wire.go (both bindings), event.go, card.go, auth.go.
package remote
