package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/appendjson"
)

// Entries returns entries of a thread's log of events.
func (s *Store) Entries(ctx context.Context, threadID string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	var out []awaken.Entry
	err := s.db.read(ctx, func(c *conn) error {
		if err := c.exists(ctx, s.tenant, threadID); err != nil {
			return err
		}
		after, upTo := clamp(q.After), int64(math.MaxInt64)
		if q.RunID != "" {
			var first, last int64
			found, err := c.row(ctx, `SELECT first_seq, last_seq FROM {p}_runs WHERE tenant = ? AND id = ? AND thread = ?`, []any{s.tenant, q.RunID, threadID}, &first, &last)
			if err != nil {
				return err
			}
			if found {
				after, upTo = max(after, first), last
			}
		}
		// Rows hold whole commits, so they are chosen roughly here and exactly below.
		return c.query(ctx, `SELECT epoch, run, entries FROM {p}_commits WHERE tenant = ? AND thread = ? AND last > ? AND last <= ? AND epoch > ? AND entries IS NOT NULL ORDER BY last, rowid`,
			[]any{s.tenant, threadID, after, upTo, clamp(q.Epoch)}, func(scan func(...any) error) error {
				var epoch uint64
				var run string
				var data sql.RawBytes
				if err := scan(&epoch, &run, &data); err != nil {
					return err
				}
				var err error
				if out, err = selectEntries(out, data, epoch, run, &q); err != nil {
					return fmt.Errorf("log of thread %s: %w", threadID, err)
				}
				if q.Limit > 0 && len(out) == q.Limit {
					return errStop
				}
				return nil
			})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// clamp makes n fit into a column.
func clamp(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// entryWire is an entry in a row. What it leaves out is the row's.
type entryWire struct {
	Epoch  uint64          `json:"epoch"`
	Seq    uint64          `json:"seq"`
	RunID  *string         `json:"run_id"`
	Time   int64           `json:"time"`
	Event  json.RawMessage `json:"event"`
	Chunks [][2]uint32     `json:"chunks"`
}

// appendEntry writes an entry of a row of that epoch and run.
func appendEntry(buf []byte, e *awaken.Entry, epoch uint64, runID string) ([]byte, error) {
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

// selectEntries reads those entries of a row that q selects, up to its limit. Others
// are not decoded.
func selectEntries(out []awaken.Entry, data []byte, epoch uint64, runID string, q *awaken.EntryQuery) ([]awaken.Entry, error) {
	var row []entryWire
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
