package builtin

import (
	"encoding/json"
	"maps"

	"github.com/awaken-go/awaken/state"
)

// RemoteNote changes [RemoteNotes]; see [WriteRemoteNotes].
type RemoteNote struct {
	Agent string
	Notes json.RawMessage
}

// RemoteNotes holds the notes of remote agents about the thread, by agent ID: the identity of their side of the conversation, and the
// progress of an exchange. Only remote agents have the key, and only [WriteRemoteNotes] writes it.
var RemoteNotes = state.NewKey("__runtime.remote_backend", func(all map[string]json.RawMessage, n RemoteNote) map[string]json.RawMessage {
	next := maps.Clone(all)
	if next == nil {
		next = map[string]json.RawMessage{}
	}
	next[n.Agent] = n.Notes
	return next
}, state.Options{Scope: state.Thread, Merge: state.Commutative})

// WriteRemoteNotes replaces the notes of a remote agent, and counts that in [RemoteWrites].
func WriteRemoteNotes(w state.Writer, agentID string, notes json.RawMessage) {
	RemoteNotes.Update(w, RemoteNote{Agent: agentID, Notes: notes})
	RemoteWrites.Update(w, 1)
}

// RemoteWrites counts how often the run has written [RemoteNotes]. How often depends on what the remote agent does, and each time is
// a revision of the state; a replay writes the notes as often. Only [WriteRemoteNotes] writes the key.
var RemoteWrites = state.NewKey("__runtime.remote_writes",
	func(n, more int) int { return n + more }, state.Options{Merge: state.Commutative})
