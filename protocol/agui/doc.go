// Package agui serves AG-UI, the protocol of CopilotKit and other clients that show agents
// in a page: https://docs.ag-ui.com. It speaks version 1.0 to clients that say so, and
// what @ag-ui 0.0.59 understands to all others.
//
// [Routes] are what a server mounts. A client of AG-UI posts to
// /v1/ag-ui/agents/{agent_id}/runs; a CopilotKit page has …/v1/ag-ui as its runtimeUrl, and
// needs no other runtime. [Encoder] turns the events of a run into those of AG-UI.
//
// A thread is a thread and a run a run, under the ids that the client gives them. Some
// things have other names or ways here than there:
//
//   - A call that waits for a person ends the client's run with an interrupt. The answer
//     starts a run for the client, under a new id, that goes on with the same run here.
//   - A call that the client makes itself ends its run too. The next request has the
//     result, as a tool message.
//   - The shared state is [builtin.ClientState]. Context is shown to the model for the time
//     of the run, and forwardedProps are [builtin.ClientProps].
//   - What was shown and turns out not to be so is taken back by showing the conversation
//     as it is: AG-UI has no other way.
//   - A client that connects is shown the conversation before the run that goes on, and
//     then that run from its beginning.
package agui
