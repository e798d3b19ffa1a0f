package agui

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/protocol"
)

// outputActivity is the type of the activity that shows what a tool says while it runs.
const outputActivity = "tool-stream-output"

// output shows a piece of what a tool says, as an activity with a list of pieces.
func (e *Encoder) output(f *protocol.Frames, ev *awaken.ToolCallStreamDelta) {
	id := activityID("tool_call:"+ev.ID, outputActivity)
	if !e.outputs[ev.ID] {
		if e.outputs == nil {
			e.outputs = map[string]bool{}
		}
		e.outputs[ev.ID] = true
		buf := appendjson.Text(with(f, "ACTIVITY_SNAPSHOT", "messageId", id), `,"activityType":"`+outputActivity+`","content":{"toolCallId":`, ev.ID)
		f.Close(append(appendjson.Text(buf, `,"toolName":`, ev.Name), `,"output":[]},"replace":true}`...))
	}
	buf := append(with(f, "ACTIVITY_DELTA", "messageId", id), `,"activityType":"`+outputActivity+`","patch":[{"op":"add","path":"/output/-","value":`...)
	f.Close(append(appendjson.String(buf, ev.Delta), `}]}`...))
}

// activityID tells activities apart that are about the same thing. A client knows an
// activity by its id alone.
func activityID(messageID, kind string) string { return messageID + ":" + kind }

// activity shows an activity. Those whose type begins with custom: or raw: are CUSTOM and
// RAW events, under the rest of the type.
func (e *Encoder) activity(f *protocol.Frames, ev *awaken.ActivitySnapshot) error {
	content := ev.Content
	if len(content) == 0 {
		content = json.RawMessage("null")
	}
	if name, ok := strings.CutPrefix(ev.ActivityType, "custom:"); ok {
		return closeRaw(f, with(f, "CUSTOM", "name", name), `,"value":`, content)
	}
	if source, ok := strings.CutPrefix(ev.ActivityType, "raw:"); ok {
		return closeRaw(f, appendjson.TextIf(open(f, "RAW"), `,"source":`, source), `,"event":`, content)
	}
	if content = bytes.TrimSpace(content); content[0] != '{' {
		content = append(append([]byte(`{"value":`), content...), '}')
	}
	buf := appendjson.Text(with(f, "ACTIVITY_SNAPSHOT", "messageId", activityID(ev.MessageID, ev.ActivityType)), `,"activityType":`, ev.ActivityType)
	if ev.Replace != nil {
		buf = strconv.AppendBool(append(buf, `,"replace":`...), *ev.Replace)
	}
	return closeRaw(f, buf, `,"content":`, content)
}

// raw passes on an event that AG-UI has no word for.
func (e *Encoder) raw(f *protocol.Frames, ev awaken.Event) error {
	buf, err := awaken.AppendEvent(append(open(f, "RAW"), `,"event":`...), ev)
	if err != nil {
		return err
	}
	f.Close(append(buf, `,"source":"awaken"}`...))
	return nil
}
