// Package agui serves AG-UI, the protocol that CopilotKit and other front ends use to show
// agents in a page: https://docs.ag-ui.com. It speaks version 1.0 to clients that announce it,
// and what @ag-ui 0.0.59 understands to all others.
//
// A server mounts [Routes]. An AG-UI client posts to /v1/ag-ui/agents/{agent_id}/runs. A
// CopilotKit page sets its runtimeUrl to …/v1/ag-ui and needs no other runtime. [Encoder]
// translates the events of a run into AG-UI events.
//
// Threads and runs correspond one to one, under the ids that the client chose, with these
// exceptions:
//
//   - A call that waits for a person ends the client's run with an interrupt. The answer
//     starts a new run for the client, with a new id, which resumes the same run here.
//   - A call that the client executes itself also ends the client's run. The next request
//     carries the result as a tool message.
//   - The shared state is [builtin.ClientState]. Context is shown to the model for the
//     duration of the run, and forwardedProps become [builtin.ClientProps].
//   - Output that turns out to be void is retracted by sending the whole conversation
//     again: AG-UI offers no other way.
//   - A client that connects receives the conversation up to the run in flight, and then
//     that run from its beginning.
package agui
