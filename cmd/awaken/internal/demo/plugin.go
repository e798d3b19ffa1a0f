package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/plugin/genui"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// pluginID is the name of the demo plugin.
const pluginID = "demo"

// plugin has the demo tools that keep state: append_note and emit_state.
type plugin struct{}

var (
	// notes are the notes of a thread.
	notes = state.NewKey("demo.notes",
		func(list []string, note string) []string { return append(slices.Clip(list), note) }, state.Options{Scope: state.Thread})
	// count adds to the counter when the step ends.
	count = awaken.NewAction[int]("demo.count", awaken.PhaseStepEnd)
)

// limits are those of what the demo agents draw.
var limits = genui.Limits{Components: 500, Depth: 32, Bytes: 256 << 10}

func (plugin) Name() string { return pluginID }

func (plugin) Register(r *awaken.Registrar) error {
	r.Key(notes, builtin.Surfaces)
	r.Handle(count.Handler(func(_ context.Context, h *awaken.HookCall, d int) error {
		setCounter(h, counter(h)+d)
		return nil
	}))
	r.Tool(
		awaken.NewTool(awaken.ToolSpec{ID: "append_note", Description: "Keeps a note for this conversation."}, appendNote),
		genui.JSONTool("json-render-ui", limits), genui.OpenUITool("openui-ui", limits),
		awaken.NewTool(awaken.ToolSpec{ID: "emit_state", Description: "Changes the shared state."}, emitState),
	)
	return nil
}

type note struct {
	Note string `json:"note,omitempty" jsonschema:"what to keep"`
	Text string `json:"text,omitempty" jsonschema:"the same as note"`
}

type noteList struct {
	Notes []string `json:"notes"`
	Count int      `json:"count"`
}

func appendNote(_ context.Context, call *awaken.ToolCall, n note) (noteList, error) {
	text, err := either("note", n.Note, n.Text)
	if err != nil {
		return noteList{}, err
	}
	notes.Update(call, text)
	all := append(slices.Clip(notes.Get(call)), text)
	return noteList{all, len(all)}, nil
}

// emitState changes the counter twice: with its result, which is one state_delta, and at the
// end of the step, which the state_snapshot of the step shows.
func emitState(_ context.Context, call *awaken.ToolCall, _ nothing) (map[string]int, error) {
	n := counter(call)
	setCounter(call, n+1)
	count.Schedule(call, 1)
	return map[string]int{"counter": n + 2}, nil
}

// counter returns a number in the state that the client shares.
func counter(r state.Reader) int {
	var shared struct {
		Counter int `json:"counter"`
	}
	_ = json.Unmarshal(builtin.ClientState.Get(r), &shared) // the client may share anything
	return shared.Counter
}

func setCounter(w state.Writer, n int) {
	builtin.ClientState.Update(w, json.RawMessage(fmt.Sprintf(`{"counter":%d}`, n)))
}
