package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/appendjson"
)

// Entries returns entries of a thread's log of events.
func (s *Store) Entries(ctx context.Context, threadID string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	// Rows hold whole commits, so they are chosen roughly here and exactly below. A row
	// mostly holds several entries, so few rows are asked for at first; if that was too
	// low, there is more to read.
	query := `SELECT e.last, e.epoch, e.run, e.entries FROM {p}_threads t
		LEFT JOIN {p}_runs r ON r.tenant = t.tenant AND r.thread = t.id AND r.id = $6
		LEFT JOIN LATERAL (SELECT * FROM {p}_commits e WHERE e.tenant = t.tenant AND e.thread = t.id
			AND e.last > greatest($3, r.first_seq) AND e.last <= coalesce(r.last_seq, 9223372036854775807) AND e.epoch > $4 AND e.entries IS NOT NULL
			ORDER BY e.last, e.n LIMIT $5) e ON true
		WHERE t.tenant = $1 AND t.id = $2 ORDER BY e.last`
	args := []any{s.tenant, escape(threadID), clamp(q.After), clamp(q.Epoch), nil, nil}
	limit := 0
	if q.Limit > 0 {
		limit = 2 + q.Limit/8
	}
	if q.RunID != "" {
		args[5] = escape(q.RunID)
	}
	var out []awaken.Entry
	for ; ; limit *= 2 {
		if limit > 0 {
			args[4] = limit
		}
		n, more, reached := 0, []awaken.Entry(nil), args[2]
		err := s.db.query(ctx, query, args, func() { n, more = 0, nil }, func(rows pgx.Rows) error {
			n++
			var last, epoch *int64
			var run *string
			var data []byte
			if err := rows.Scan(&last, &epoch, &run, &data); err != nil || last == nil {
				return err // a thread without entries is one row of nothing
			}
			if q.Limit > 0 && len(out)+len(more) >= q.Limit {
				return nil
			}
			var err error
			if more, err = selectEntries(more, data, uint64(*epoch), unescape(*run), &q); err != nil {
				return fmt.Errorf("log of thread %s: %w", threadID, err)
			}
			reached = *last
			return nil
		})
		if err == nil && n == 0 {
			err = noThread(threadID)
		}
		if err != nil {
			return nil, err
		}
		out, args[2] = append(out, more...), reached
		if limit == 0 || n < limit || len(out) >= q.Limit {
			break
		}
	}
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
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
