package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// pinMark is the mark of runs that a note of their thread pins.
const pinMark = "pin"

// notes returns notes as JSON, or nil if there are none.
func (s *Scope) notes(threadID string, notes map[string]json.RawMessage) (*string, error) {
	if len(notes) == 0 {
		return nil, nil
	}
	if err := threads.CheckNotes(notes); err != nil {
		return nil, fmt.Errorf("thread %s: %w", threadID, err)
	}
	data, err := s.db.Dialect().Encode(notes)
	if err != nil {
		return nil, fmt.Errorf("notes of thread %s: %w", threadID, err)
	}
	return &data, nil
}

// note writes the notes of a thread, and the marks of the runs that they pin.
func (s *Scope) note(ctx context.Context, c Conn, was, now *awaken.Thread) error {
	notes, err := s.notes(now.ID, now.Notes)
	if err != nil {
		return err
	}
	before, after := threads.Pins(was.Notes), threads.Pins(now.Notes)
	b := []Statement{statement(`UPDATE {p}_threads SET edits = edits + 1, notes = ?3, pinned = ?4 WHERE tenant = ?1 AND id = ?2`, s.tenant, s.id(now.ID), notes, len(after) > 0)}
	for run := range after {
		if !before[run] {
			b = append(b, statement(`INSERT INTO {p}_run_marks (tenant, run, mark, born) SELECT r.tenant, r.id, '`+pinMark+`', r.born FROM {p}_runs r
				WHERE r.tenant = ?1 AND r.id = ?2 AND r.thread = ?3 ON CONFLICT DO NOTHING`, s.tenant, s.id(run), s.id(now.ID)))
		}
	}
	for run := range before {
		if !after[run] {
			b = append(b, statement(`DELETE FROM {p}_run_marks WHERE tenant = ?1 AND mark = '`+pinMark+`' AND run = ?2
				AND born = (SELECT r.born FROM {p}_runs r WHERE r.tenant = ?1 AND r.id = ?2)`, s.tenant, s.id(run)))
		}
	}
	_, err = c.Exec(ctx, b...)
	return err
}
