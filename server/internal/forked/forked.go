// Package forked reads the note of a thread that says where it was forked from, for wings that do not fork.
package forked

import (
	"encoding/json"

	"github.com/awaken-go/awaken"
)

// Note is the name of the note. Clients cannot change it.
const Note = "forked_from"

// IsExperiment reports whether a thread was made to try a run again with changes.
func IsExperiment(t *awaken.Thread) bool {
	var from struct {
		RunID string `json:"run_id"`
	}
	note := t.Notes[Note]
	return note != nil && json.Unmarshal(note, &from) == nil && from.RunID != ""
}
