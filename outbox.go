package awaken

// Outgoing is something a run wants to have done beyond its own thread, once the commit
// that holds it is made: an item for the inbox of a thread, a run that is to start, or
// one that is to end. It is done at least once; what it leads to happens once.
type Outgoing struct {
	ID string `json:"id"` // filled in

	ThreadID string     `json:"thread_id,omitempty"`
	Item     *InboxItem `json:"item,omitempty"`     // for the inbox of ThreadID; its id is filled in
	AgentID  string     `json:"agent_id,omitempty"` // who is to answer messages on a thread that has no run

	Start  *RunRequest `json:"start,omitempty"`  // with a RunID and a ThreadID
	Cancel string      `json:"cancel,omitempty"` // id of a run
}

// Send records that o is to be sent when what is recorded is committed.
func Send(r Recorder, o Outgoing) {
	made := r.command().Recorded()
	made.Outbox = append(made.Outbox, o)
}
