package replay

import (
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
)

// write records in a call that is not made again what it did to its run.
func (s *stage) write(p *part, call *awaken.ToolCall, w *awaken.CallWrites) {
	if w == nil {
		return
	}
	if err := writeState(call, w); err != nil {
		s.part(p, "what call "+call.ID+" wrote", "", err.Error())
		return
	}
	if len(w.Unencoded) > 0 {
		s.part(p, "what call "+call.ID+" wrote", fmt.Sprintf("the state keys %q", w.Unencoded), "no values: they are transient or have no JSON, and are not recorded")
		return
	}
	made := call.Recorded()
	made.Actions, made.Usage, made.CostUSD, made.Ending = w.Actions, w.Usage, w.CostUSD, w.End
	for _, data := range w.Sent {
		var out awaken.Outgoing
		if err := json.Unmarshal(data, &out); err != nil {
			s.part(p, "what call "+call.ID+" sent", string(data), err.Error())
			return
		}
		made.Outbox = append(made.Outbox, out)
	}
}

// writeState records the updates of state.
func writeState(call *awaken.ToolCall, w *awaken.CallWrites) error {
	for name, value := range w.State {
		if err := call.SetValue(call, name, value); err != nil {
			return err
		}
	}
	for _, name := range w.Cleared {
		if err := call.SetValue(call, name, nil); err != nil {
			return err
		}
	}
	return nil
}
