// Package entryrow encodes the entries of a commit as one database row: a JSON array. An entry
// leaves out the epoch and the run if they are the row's.
package entryrow

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/appendjson"
)

// wire is an encoded entry. Missing fields are the row's.
type wire struct {
	Epoch  uint64          `json:"epoch"`
	Seq    uint64          `json:"seq"`
	RunID  *string         `json:"run_id"`
	Time   int64           `json:"time"`
	Event  json.RawMessage `json:"event"`
	Chunks [][2]uint32     `json:"chunks"`
}

// Append appends the encoding of an entry to buf. epoch and runID are the row's.
func Append(buf []byte, e *awaken.Entry, epoch uint64, runID string) ([]byte, error) {
	buf = strconv.AppendUint(append(buf, `{"seq":`...), e.Seq, 10)
	buf = strconv.AppendInt(append(buf, `,"time":`...), e.Time, 10)
	if e.Epoch != epoch {
		buf = strconv.AppendUint(append(buf, `,"epoch":`...), e.Epoch, 10)
	}
	if e.RunID != runID {
		buf = appendjson.Text(buf, `,"run_id":`, e.RunID)
	}
	buf, err := awaken.AppendEvent(append(buf, `,"event":`...), e.Event)
	if err != nil {
		return nil, err
	}
	for i, c := range e.Chunks {
		if i == 0 {
			buf = append(buf, `,"chunks":[[`...)
		} else {
			buf = append(buf, ",["...)
		}
		buf = strconv.AppendUint(buf, uint64(c.Offset), 10)
		buf = strconv.AppendUint(append(buf, ','), uint64(c.Len), 10)
		buf = append(buf, ']')
	}
	if len(e.Chunks) > 0 {
		buf = append(buf, ']')
	}
	return append(buf, '}'), nil
}

// Select appends the entries of a row that q selects to out, up to the limit of q. It does not
// decode the events of others.
func Select(out []awaken.Entry, data []byte, epoch uint64, runID string, q *awaken.EntryQuery) ([]awaken.Entry, error) {
	var row []wire
	if err := json.Unmarshal(data, &row); err != nil {
		return nil, err
	}
	for i := range row {
		w := &row[i]
		e := awaken.Entry{Cursor: awaken.Cursor{Epoch: epoch, Seq: w.Seq}, RunID: runID, Time: w.Time}
		if w.Epoch != 0 {
			e.Epoch = w.Epoch
		}
		if w.RunID != nil {
			e.RunID = *w.RunID
		}
		for _, c := range w.Chunks {
			e.Chunks = append(e.Chunks, awaken.Chunk{Offset: c[0], Len: c[1]})
		}
		if e.Last() <= q.After || e.Epoch <= q.Epoch || (q.RunID != "" && e.RunID != q.RunID) {
			continue
		}
		var err error
		if e.Event, err = awaken.UnmarshalEvent(w.Event); err != nil {
			return nil, fmt.Errorf("event %d: %w", w.Seq, err)
		}
		if out = append(out, e); len(out) == q.Limit {
			break
		}
	}
	return out, nil
}
