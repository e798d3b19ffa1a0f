package builtin

import (
	"encoding/json"
	"maps"

	"github.com/awaken-go/awaken/state"
)

// RemoteNote changes [RemoteNotes]. The engine uses it.
type RemoteNote struct {
	Agent string
	Notes json.RawMessage
}

// RemoteNotes holds the notes of remote agents about the thread, by agent ID: the identity of their side of the conversation, and the
// progress of an exchange. Only remote agents have the key, and only the runtime writes it.
var RemoteNotes = state.NewKey("__runtime.remote_backend", func(all map[string]json.RawMessage, n RemoteNote) map[string]json.RawMessage {
	next := maps.Clone(all)
	if next == nil {
		next = map[string]json.RawMessage{}
	}
	next[n.Agent] = n.Notes
	return next
}, state.Options{Scope: state.Thread, Merge: state.Commutative})
