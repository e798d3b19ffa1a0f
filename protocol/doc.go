// Package protocol contains what the adapters of client protocols share. AI SDK, AG-UI and others each have
// a package below this one. An adapter has three parts.
//
// Routes. A [Route] is one entry of the server's table: the permission that it needs, what it takes and returns, and a
// handler that gets a [Call]. The server mounts it (server.Config.Routes), checks keys, limits, ids
// and parameters before it calls the handler, and describes the route in /openapi.json.
//
//	srv, err := server.New(server.Config{Mailbox: box, Routes: aisdk.Routes()})
//
// A decoder. The handler decodes the request with [Call.Decode] and turns it into a
// [mailbox.Submission]: new messages ([Unseen] skips stored ones, because clients send their whole
// history), decisions on waiting calls, a rewind. Once [Call.Submit] returns, the input is stored and
// will be processed even if the client disconnects. The handler never runs an agent itself.
//
// An encoder. An [Encoder] turns the entries of a run's log into the protocol's frames. Its output
// depends on the entries alone, so encoders that get the same entries write the same bytes: in this
// process, after a restart, in another replica. [Call.Stream] feeds it:
//
//	r, err := c.Submit(s)
//	…
//	return c.Stream(&protocol.Stream{ThreadID: r.ThreadID, RunID: r.RunID,
//		After: protocol.AfterAll(r.After), Encoder: newEncoder})
//
// # Resuming streams
//
// A stream is encoded from the run's first entry, whatever part of it the client wants. Every frame
// has an id, a [Position]: the cursor of its entry and its number among the frames of that entry. A
// client that was cut off sends the last id it has and gets what follows, even if the cut was between
// two frames of one entry. What it got before and after the cut is, together, what it would have got
// without the cut.
//
// A client that sends no id gets the run from the start. A run that waited and was resumed has
// several activations, each with its run_start and run_finish. Stream ends with the first run_finish
// at or after [Stream.Through]; a handler sets it to the end of the log if it knows that the run has
// continued since.
//
// If the owner of a run dies, what it published after its last commit is void. A connected client
// that has seen some of it gets a stream_reset from the encoder that encoded it, and then the real
// entries from an encoder that never saw the lost ones. A client that reconnects with a position among
// the lost entries gets the run from the start.
//
// When the server stops, streams break off without an end, so that no client mistakes half an answer
// for a whole one.
package protocol
