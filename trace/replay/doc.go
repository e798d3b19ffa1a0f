// Package replay runs a recorded run again, offline, and reports where it differs from the record.
//
// The real engine runs the agent of the run's version on a store of its own. What came from outside comes from the record: models answer
// what they answered, in the same pieces, and so do remote agents; tools return what they returned and write the state that they wrote, in the same order; people decide what they decided; messages,
// cancellations and summaries of the conversation arrive where they arrived. No model is asked and no effect is repeated: of the tools
// only those run that act on nothing but the run itself, such as a delegate's, whose run is then replayed too.
//
// Everything else happens again: hooks, gates, guards, state, context windows, stop conditions, costs. What a guard blocked is not recorded, but that it did: the replay takes
// its verdict. Every event is compared with the record's as it is published, so a [Difference] names the first one that is another. What models are
// asked is compared by the digests that events have of it, part by part: prompt, tools, parameters and messages. Ids that the runtime draws are renamed to those
// of the record. Times come from the record where it has them; those that it has only to some milliseconds are not compared.
// Of a run that was taken over by another process the events are not those of one owner, so messages, calls and results are compared
// instead. Messages to threads that the record does not have are taken and kept nowhere.
//
//	player := &replay.Player{Registry: version, Store: memory.New(), Open: open} // open makes an engine.Runtime
//	result, err := player.Play(ctx, recording)
//	if d := result.Difference; d != nil {
//		fmt.Println(d)
//	}
package replay
