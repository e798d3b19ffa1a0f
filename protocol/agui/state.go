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
func (s *sharedState) delta(f *protocol.Frames, ev *awaken.StateDelta) error {
	at := "/extensions/" + pointer.Replace(builtin.ClientState.Name())
	for i := range ev.Delta {
		if op := &ev.Delta[i]; op.Path == at {
			if err := s.show(f, op.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// show tells the client what the shared state is: all of it for the first time, and
// then what has changed. What was never written is not shown.
func (s *sharedState) show(f *protocol.Frames, doc json.RawMessage) error {
	switch {
	case len(doc) == 0 && s.told == nil:
		return nil
	case len(doc) == 0:
		doc = json.RawMessage("{}")
	}
	last := s.told
	if last == nil {
		s.told = doc
		return closeRaw(f, open(f, "STATE_SNAPSHOT"), `,"snapshot":`, doc)
	}
	if bytes.Equal(last, doc) {
		return nil
	}
	s.told = doc
	ops, err := diff(last, doc)
	if err != nil || len(ops) == 0 {
		return err
	}
	return closeValue(f, open(f, "STATE_DELTA"), `,"delta":`, ops)
}
