package agui

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
)

// outputActivity is the type of the activity that shows a tool's output while it runs.
const outputActivity = "tool-stream-output"

// output shows a piece of a running tool's output. The activity's content holds the list of
// pieces.
func (e *Encoder) output(ev *awaken.ToolCallStreamDelta) {
	id := activityID("tool_call:"+ev.ID, outputActivity)
	if !e.outputs[ev.ID] {
		note(&e.outputs, ev.ID)
		e.out.Object("ACTIVITY_SNAPSHOT").Text(`,"messageId":`, id).Text(`,"activityType":"`+outputActivity+`","content":{"toolCallId":`, ev.ID).
			Text(`,"toolName":`, ev.Name).Add(`,"output":[]},"replace":true`).Close()
	}
	e.out.Object("ACTIVITY_DELTA").Text(`,"messageId":`, id).
		Text(`,"activityType":"`+outputActivity+`","patch":[{"op":"add","path":"/output/-","value":`, ev.Delta).Add(`}]`).Close()
}

// activityID makes the id of an activity unique per type, because clients identify an activity
// by its id alone.
func activityID(messageID, kind string) string { return messageID + ":" + kind }

// snapshotActivity is the type of an activity that asks for the whole conversation to be shown when the
// run ends.
const snapshotActivity = "messages-snapshot"

// activity shows an activity. A type with the prefix custom: or raw: becomes a CUSTOM or RAW
// event, named by the rest of the type.
func (e *Encoder) activity(ev *awaken.ActivitySnapshot) {
	if ev.ActivityType == snapshotActivity {
		e.resend = true
		return
	}
	content := bytes.TrimSpace(ev.Content)
	if len(content) == 0 {
		content = []byte("null")
	}
	if name, ok := strings.CutPrefix(ev.ActivityType, "custom:"); ok {
		e.out.Object("CUSTOM").Text(`,"name":`, name).JSON(`,"value":`, content).Close()
		return
	}
	if source, ok := strings.CutPrefix(ev.ActivityType, "raw:"); ok {
		e.out.Object("RAW").TextIf(`,"source":`, source).JSON(`,"event":`, content).Close()
		return
	}
	if content[0] != '{' {
		content = append(append([]byte(`{"value":`), content...), '}')
	}
	shown := e.out.Object("ACTIVITY_SNAPSHOT").Text(`,"messageId":`, activityID(ev.MessageID, ev.ActivityType)).Text(`,"activityType":`, ev.ActivityType)
	if ev.Replace != nil {
		shown = shown.Add(`,"replace":` + strconv.FormatBool(*ev.Replace))
	}
	shown.JSON(`,"content":`, content).Close()
}

// raw passes on an event that has no AG-UI counterpart.
func (e *Encoder) raw(ev awaken.Event) {
	e.out.Object("RAW").Append(`,"event":`, func(buf []byte) ([]byte, error) { return awaken.AppendEvent(buf, ev) }).Add(`,"source":"awaken"`).Close()
}
