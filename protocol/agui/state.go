package agui

import (
	"bytes"
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/builtin"
	"github.com/awaken-go/awaken/protocol"
)

// sharedState is what the client has been told the state is that it shares with the run.
type sharedState struct {
	told json.RawMessage // nil: nothing yet
}

// delta picks what happened to the shared state out of all changes.
func (s *sharedState) delta(w *protocol.Writer, ev *awaken.StateDelta) {
	at := "/extensions/" + pointer.Replace(builtin.ClientState.Name())
	for i := range ev.Delta {
		if op := &ev.Delta[i]; op.Path == at {
			s.show(w, op.Value)
		}
	}
}

// show tells the client what the shared state is: all of it for the first time, and
// then what has changed. What was never written is not shown.
func (s *sharedState) show(w *protocol.Writer, doc json.RawMessage) {
	last := s.told
	if len(doc) == 0 && last != nil {
		doc = json.RawMessage("{}")
	}
	if len(doc) == 0 || bytes.Equal(last, doc) {
		return
	}
	s.told = doc
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
