package postgres

import (
	"context"
	"fmt"
	"math"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

// Commit makes c durable, all or nothing, in one round trip. It does not heed ctx: a
// commit that was cut off could have been made or not, and its owner would not know.
// If the connection is lost it asks again, which is safe, because the number of the
// commit tells whether it was made.
func (s *Store) Commit(ctx context.Context, c *awaken.Commit) error {
	invalid := c.Run.Validate()
	args, err := s.arguments(c, invalid == nil)
	if err != nil {
		return fmt.Errorf("commit thread %s: %w", c.ThreadID, err)
	}
	code, err := s.db.commit(context.WithoutCancel(ctx), args, c.Number != 0)
	if err != nil {
		return fmt.Errorf("commit thread %s: %w", c.ThreadID, err)
	}
	switch { // the function in 0001_init.sql explains the codes
	case code == 0 || code == 1:
		c.Unread = code == 1
		return nil
	case code == -1:
		return noThread(c.ThreadID)
	case code == -2:
		return awaken.ErrFenced
	case code == -3:
		return awaken.ErrGeneration
	case code == -4:
		return awaken.ErrUnread
	case code == -5:
		return fmt.Errorf("%w: %w", awaken.ErrInvalid, invalid)
	case code == -6:
		return fmt.Errorf("%w: event %d of thread %s is stored already", awaken.ErrConflict, c.Entries[0].Seq, c.ThreadID)
	case code <= -10:
		return &awaken.ConflictError{ThreadID: c.ThreadID, Expected: c.Expect, Have: int(-10 - code)}
	}
	return fmt.Errorf("commit thread %s: unknown outcome %d", c.ThreadID, code)
}

const callCommit = `SELECT {p}_commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29)`

// arguments are those of the function, in its order.
func (s *Store) arguments(c *awaken.Commit, valid bool) ([]any, error) {
	args := make([]any, 0, 29)
	args = append(args, s.tenant, escape(c.ThreadID), int64(c.Fence), int64(c.Number), int64(c.Generation), c.Begins, c.Rest, valid,
		c.Time, int64(c.Expect), escape(c.ParentThreadID))
	if !valid {
		c = &awaken.Commit{Read: c.Read, Entries: c.Entries[:min(1, len(c.Entries))]} // what the checks need; nothing is written
	}
	run, err := encode(&c.Run)
	if err != nil {
		return nil, err
	}
	args = append(args, escape(c.Run.RunID), escape(c.Run.ThreadID), escape(string(c.Run.Status)), run)
	if args, err = appendMessages(args, c.Messages); err != nil {
		return nil, err
	}
	if args, err = appendEntries(args, c.Entries); err != nil {
		return nil, err
	}
	if args, err = appendCalls(args, c.Calls); err != nil {
		return nil, err
	}
	return append(appendState(args, c), escapeAll(nonNil(c.Read))), nil
}

var none = []string{}

func nonNil(list []string) []string {
	if list == nil {
		return none
	}
	return list
}

func appendMessages[M any](args []any, msgs []M) ([]any, error) {
	out := none
	if len(msgs) > 0 {
		out = make([]string, len(msgs))
	}
	for i, m := range msgs {
		var err error
		if out[i], err = encode(m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	return append(args, out), nil
}

// appendEntries writes the entries of a row.
func appendEntries(args []any, entries []awaken.Entry) (_ []any, err error) {
	if len(entries) == 0 {
		return append(args, int64(math.MaxInt64), int64(0), int64(0), nil, nil), nil
	}
	var last, epoch uint64
	for i := range entries {
		last, epoch = max(last, entries[i].Last()), max(epoch, entries[i].Epoch)
	}
	buf := make([]byte, 0, 192*len(entries))
	for i := range entries {
		if buf, err = appendEntry(append(buf, "[,"[min(i, 1)]), &entries[i], epoch, entries[0].RunID); err != nil {
			return nil, err
		}
	}
	return append(args, int64(entries[0].Seq), int64(last), int64(epoch), escape(entries[0].RunID), text(append(buf, ']'))), nil
}

func appendCalls(args []any, calls []*awaken.CallState) ([]any, error) {
	steps, indexes, statuses, data := []int64{}, []int64{}, none, none
	if len(calls) > 0 {
		steps, indexes = make([]int64, 0, len(calls)), make([]int64, 0, len(calls))
		statuses, data = make([]string, 0, len(calls)), make([]string, 0, len(calls))
	}
	seen := map[[2]int]bool{}
	for i := len(calls) - 1; i >= 0; i-- { // if a call is there twice, the last counts
		c := calls[i]
		if key := [2]int{c.Step, c.Index}; seen[key] {
			continue
		} else if len(calls) > 1 {
			seen[key] = true
		}
		text, err := encode(c)
		if err != nil {
			return nil, fmt.Errorf("call %q: %w", c.CallID, err)
		}
		steps, indexes, statuses, data = append(steps, int64(c.Step)), append(indexes, int64(c.Index)), append(statuses, escape(string(c.Status))), append(data, text)
	}
	return append(args, steps, indexes, statuses, data), nil
}

func appendState(args []any, c *awaken.Commit) []any {
	if len(c.State) == 0 {
		return append(args, none, none, none)
	}
	runs, keys, values := make([]string, 0, len(c.State)), make([]string, 0, len(c.State)), make([]*string, 0, len(c.State))
	type key struct{ run, key string }
	seen := map[key]bool{}
	for i := len(c.State) - 1; i >= 0; i-- { // if a key is there twice, the last counts
		ch := &c.State[i]
		k := key{escape(c.Run.RunID), escape(ch.Key)}
		if ch.Scope == state.Thread {
			k.run = ""
		}
		if seen[k] {
			continue
		}
		seen[k] = true
		var value *string
		if ch.Value != nil {
			v := text(ch.Value)
			value = &v
		}
		runs, keys, values = append(runs, k.run), append(keys, k.key), append(values, value)
	}
	return append(args, runs, keys, values)
}
