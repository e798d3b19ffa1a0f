package eventlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/appendjson"
)

// note is a message between processes on the bus. Processes ignore unknown fields.
type note struct {
	Hello  bool       `json:"hello,omitempty"` // the sender has just begun to listen and asks what others follow
	Bye    bool       `json:"bye,omitempty"`   // the sender follows nothing any more
	Want   []interest `json:"want,omitempty"`  // threads that the sender follows
	Drop   []interest `json:"drop,omitempty"`  // threads that it does not follow any more
	Frames []frame    `json:"frames,omitempty"`
}

// interest names a thread that a process follows.
type interest struct {
	Tenant string `json:"tenant,omitempty"`
	Thread string `json:"thread"`
	// Epoch and Seq are the position of the last entry that the process has, if it has any.
	Epoch uint64 `json:"epoch,omitempty"`
	Seq   uint64 `json:"seq,omitempty"`
	Again bool   `json:"again,omitempty"` // entries after the position were lost, or the thread is followed anew
}

// frame has consecutive entries of a thread. The previous one has the number before the first.
type frame struct {
	Tenant  string       `json:"tenant,omitempty"`
	Thread  string       `json:"thread"`
	Epoch   uint64       `json:"epoch"` // of the entries that do not say otherwise
	Run     string       `json:"run,omitempty"`
	First   bool         `json:"first,omitempty"` // the sender has none of their epoch before them
	Entries []frameEntry `json:"entries"`
}

// frameEntry is an entry of a frame. Missing fields are the frame's.
type frameEntry struct {
	Seq   uint64          `json:"seq"`
	Time  int64           `json:"time"`
	Epoch uint64          `json:"epoch"`
	Run   *string         `json:"run"`
	Event json.RawMessage `json:"event"`
}

// errFrame reports entries that are not consecutive.
var errFrame = errors.New("the entries of a frame are not consecutive")

// decode returns the entries of a frame. Those whose event this process does not know, because another
// version sent it, have none.
func (f *frame) decode() ([]awaken.Entry, error) {
	out := make([]awaken.Entry, len(f.Entries))
	for i := range f.Entries {
		w, e := &f.Entries[i], &out[i]
		*e = awaken.Entry{Cursor: awaken.Cursor{Epoch: f.Epoch, Seq: w.Seq}, RunID: f.Run, Time: w.Time}
		if w.Epoch != 0 {
			e.Epoch = w.Epoch
		}
		if w.Run != nil {
			e.RunID = *w.Run
		}
		if e.Epoch == 0 || e.Seq == 0 || i > 0 && (e.Seq != out[i-1].Seq+1 || e.Epoch < out[i-1].Epoch) {
			return nil, fmt.Errorf("%w: %s", errFrame, e.Cursor)
		}
		if ev, err := awaken.UnmarshalEvent(w.Event); err == nil {
			e.Event = ev
		}
	}
	return out, nil
}

// append appends the encoding of an entry of a frame.
func (f *frame) append(buf []byte, e *awaken.Entry) ([]byte, error) {
	buf = strconv.AppendUint(append(buf, `{"seq":`...), e.Seq, 10)
	buf = strconv.AppendInt(append(buf, `,"time":`...), e.Time, 10)
	if e.Epoch != f.Epoch {
		buf = strconv.AppendUint(append(buf, `,"epoch":`...), e.Epoch, 10)
	}
	if e.RunID != f.Run {
		buf = appendjson.Text(buf, `,"run":`, e.RunID)
	}
	buf, err := awaken.AppendEvent(append(buf, `,"event":`...), e.Event)
	return append(buf, '}'), err
}

// appendFrame appends a frame with as many of the entries as fit into limit bytes, and at least
// one. It returns how many they are.
func appendFrame(buf []byte, tenant, thread string, entries []awaken.Entry, first bool, limit int) (_ []byte, n int, err error) {
	f := frame{Epoch: entries[0].Epoch, Run: entries[0].RunID}
	begin := len(buf)
	buf = appendjson.TextIf(buf, `,"tenant":`, tenant)
	buf = appendjson.Text(buf, `,"thread":`, thread)
	buf = strconv.AppendUint(append(buf, `,"epoch":`...), f.Epoch, 10)
	buf = appendjson.TextIf(buf, `,"run":`, f.Run)
	buf = appendjson.TrueIf(buf, `,"first":`, first)
	buf = append(buf, `,"entries":[`...)
	for i := range entries {
		end := len(buf)
		if i > 0 {
			buf = append(buf, ',')
		}
		if buf, err = f.append(buf, &entries[i]); err != nil {
			return buf[:begin], 0, err
		}
		if i > 0 && len(buf)-begin > limit-2 {
			buf = buf[:end]
			break
		}
		n++
	}
	return appendjson.Close(append(buf, ']'), begin), n, nil
}
