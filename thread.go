package awaken

import (
	"encoding/json"

	"github.com/awaken-go/awaken/llm"
)

// Thread is a conversation. Its messages are in a separate, append-only log.
type Thread struct {
	ID             string         `json:"id"`
	ResourceID     string         `json:"resource_id,omitempty"`      // what the thread belongs to, such as a user or a ticket; chosen by the client
	ParentThreadID string         `json:"parent_thread_id,omitempty"` // "" for a root thread
	UserID         string         `json:"user_id,omitempty"`          // the user that the thread belongs to, "" if to none; the user of its first run, unless it was created before
	Metadata       ThreadMetadata `json:"metadata"`
	OpenRunID      string         `json:"open_run_id,omitempty"`   // the run that has started and is not done, or ""
	LatestRunID    string         `json:"latest_run_id,omitempty"` // the run that started last, open or done
	MessageCount   int            `json:"message_count"`           // length of the message log
	End            Cursor         `json:"-"`                       // end of the event log
	// Notes are data of programs about the thread, by name. Clients neither see nor change them, and a fork does not inherit them. A note
	// whose name is "pin:" and the id of a run of the thread pins that run: it is in lists of pinned runs, and [ThreadEditor].Prune keeps
	// the thread.
	Notes map[string]json.RawMessage `json:"-"`
}

// ThreadMetadata is descriptive data of a thread.
type ThreadMetadata struct {
	CreatedAt int64                      `json:"created_at,omitempty"` // Unix ms
	UpdatedAt int64                      `json:"updated_at,omitempty"` // Unix ms
	Title     string                     `json:"title,omitempty"`
	Custom    map[string]json.RawMessage `json:"custom,omitempty"` // chosen by the client
}

// MessageRecord is one record of a thread's message log. Seq counts from 1.
type MessageRecord struct {
	ThreadID string       `json:"thread_id"`
	Seq      int          `json:"seq"`
	Message  *llm.Message `json:"message"`
	RunID    string       `json:"produced_by_run_id,omitempty"` // the run that produced it; "" if it came from outside
	Created  int64        `json:"created_at,omitempty"`         // Unix ms
}
