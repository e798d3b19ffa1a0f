package agui

import (
	"bytes"
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/state/builtin"
)

// sharedState is the state that the client and the run share, as the client has it.
type sharedState struct {
	sent json.RawMessage // what the client has; nil before the first snapshot
}

// delta applies the changes of a StateDelta that concern the shared state.
func (s *sharedState) delta(w *protocol.Writer, ev *awaken.StateDelta) {
	at := "/extensions/" + pointer.Replace(builtin.ClientState.Name())
	for i := range ev.Delta {
		if op := &ev.Delta[i]; op.Path == at {
			s.show(w, op.Value)
		}
	}
}

// show sends the shared state: all of it the first time, then only the changes. State that was
// never written is not sent.
func (s *sharedState) show(w *protocol.Writer, doc json.RawMessage) {
	last := s.sent
	if len(doc) == 0 && last != nil {
		doc = json.RawMessage("{}")
	}
	if len(doc) == 0 || bytes.Equal(last, doc) {
		return
	}
	s.sent = doc
	if last == nil {
		w.Object("STATE_SNAPSHOT").JSON(`,"snapshot":`, doc).Close()
		return
	}
	ops, err := diff(last, doc)
	w.Fail(err)
	if len(ops) > 0 {
		w.Object("STATE_DELTA").Value(`,"delta":`, ops).Close()
	}
}
