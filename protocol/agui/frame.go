package agui

import (
	"encoding/json"

	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// open begins an event.
func open(f *protocol.Frames, kind string) []byte {
	return append(append(append(f.Open(), `{"type":"`...), kind...), '"')
}

// with begins an event that is about something with an id.
func with(f *protocol.Frames, kind, name, id string) []byte {
	buf := append(append(append(open(f, kind), `,"`...), name...), `":`...)
	return appendjson.String(buf, id)
}

// closeValue ends an event with a field that encoding/json encodes.
func closeValue(f *protocol.Frames, buf []byte, name string, v any) error {
	buf, err := appendjson.Value(buf, name, v)
	if err != nil {
		return err
	}
	f.Close(append(buf, '}'))
	return nil
}

// closeRaw ends an event with a field that is JSON already.
func closeRaw(f *protocol.Frames, buf []byte, name string, value json.RawMessage) error {
	buf, err := appendjson.Raw(buf, name, value)
	if err != nil {
		return err
	}
	f.Close(append(buf, '}'))
	return nil
}

// closeMessages sends a MESSAGES_SNAPSHOT. A client keeps reasoning that is in no
// snapshot, unless there is other reasoning in it: emptied is one to be sent without
// content, or "".
func closeMessages(f *protocol.Frames, msgs []*llm.Message, emptied string) error {
	buf := append(open(f, "MESSAGES_SNAPSHOT"), `,"messages":[`...)
	buf, err := appendMessages(buf, msgs)
	if err != nil {
		return err
	}
	if emptied != "" {
		if buf[len(buf)-1] != '[' {
			buf = append(buf, ',')
		}
		buf = append(appendjson.Text(buf, `{"id":`, emptied), `,"role":"reasoning","content":""}`...)
	}
	f.Close(append(buf, `]}`...))
	return nil
}
