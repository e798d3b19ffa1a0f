// Package protocol is what the adapters of protocols share: AI SDK, AG-UI and others
// each have a package below this one. An adapter is three things.
//
// Routes. [Route] is one line of the server's table: who may use it, what it takes and
// answers, and a function that gets a [Call]. The server mounts it (server.Config.Routes),
// checks keys, limits and ids before it is called, and describes it in /openapi.json.
//
//	srv, err := server.New(server.Config{Mailbox: box, Routes: aisdk.Routes()})
//
// A decoder. A handler reads the client's words with [Call.Decode] and turns them into a
// [mailbox.Submission]: new messages ([Unseen] leaves out those that are stored, because
// clients send their whole history), decisions about calls that wait, a rewind. Once
// [Call.Submit] returns, the input is stored and will be worked on, whether or not anybody
// listens. It never runs anything itself.
//
// An encoder. [Encoder] turns the entries of a run's log into the protocol's frames.
// It knows nothing but the entries it was given, so encoders that were given the same
// entries write the same bytes: in this process, after a restart, in another replica.
// [Call.Stream] feeds it:
//
//	r, err := c.Submit(s)
//	…
//	return c.Stream(&protocol.Stream{ThreadID: r.ThreadID, RunID: r.RunID,
//		After: protocol.AfterAll(r.After), Encoder: newEncoder})
//
// # Streams and how they are taken up again
//
// A stream is made from the run's first entry on, whatever part of it the client wants.
// Every frame has an id, a [Position]: the cursor of its entry and its number among the
// frames of that entry. A client that was cut off names the last id it has, and gets what
// follows, also when the cut was between two frames of one entry. So concatenating what
// it got before and after is what it would have got without the cut.
//
// A client that names nothing gets the run from its beginning. A run that waited for
// people and went on has several activations, each with its run_start and run_finish.
// Stream ends with the first run_finish behind [Stream.Through]; a handler sets it to the
// end of the log if it knows that the run has gone on since.
//
// If the owner of a run dies, what it said after its last commit is void. Who has seen
// some of it gets a stream_reset, encoded by the encoder that said it, and then what really
// happened, from an encoder that never saw what was lost. Who comes back with a position in
// what was lost gets the run from its beginning.
//
// When the server stops, streams break off without an end, so that no client takes half
// an answer for a whole one.
package protocol
