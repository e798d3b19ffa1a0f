package a2a

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/protocol"
)

// listRequest selects tasks.
type listRequest struct {
	Tenant               string `json:"tenant,omitempty"`
	ContextID            string `json:"contextId,omitempty"`
	Status               State  `json:"status,omitempty"`
	PageSize             *int   `json:"pageSize,omitempty"` // 1 to 100; default 50
	PageToken            string `json:"pageToken,omitempty"`
	HistoryLength        *int   `json:"historyLength,omitempty"` // default 0
	StatusTimestampAfter string `json:"statusTimestampAfter,omitempty"`
	IncludeArtifacts     bool   `json:"includeArtifacts,omitempty"`
}

// UnmarshalJSON ignores unknown fields.
func (r *listRequest) UnmarshalJSON(data []byte) error {
	type plain listRequest
	return strict.UnmarshalKnown(data, (*plain)(r))
}

// taskList is a page of tasks, the most recently updated first.
type taskList struct {
	Tasks         []*Task `json:"tasks"`
	NextPageToken string  `json:"nextPageToken"` // "" at the end
	PageSize      int     `json:"pageSize"`
	TotalSize     int     `json:"totalSize"`
}

// place orders tasks: by the time of their status and then by id, both descending.
type place struct {
	at int64 // Unix ms
	id string
}

func (p place) compare(q place) int { return cmp.Or(cmp.Compare(q.at, p.at), cmp.Compare(q.id, p.id)) }

func (p place) token() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d|%s", p.at, p.id))
}

func parsePlace(token string) (p place, err error) {
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		text, id, ok := strings.Cut(string(data), "|")
		if _, err = fmt.Sscanf(text, "%d", &p.at); err == nil && ok && protocol.ValidID(id) {
			p.id = id
		}
	}
	if err != nil || p.id == "" || p.token() != token {
		return p, protocol.BadRequest("pageToken is %.80q, want the nextPageToken of a page", token)
	}
	return p, nil
}

const (
	maxPage  = 100
	scanPage = 500
	// maxScan is how many runs a list looks at, the newest first.
	maxScan = 10_000
)

// filter is a checked listRequest.
type filter struct {
	*listRequest
	size  int
	since int64 // Unix ms
	from  place
}

func (r *listRequest) filter() (*filter, error) {
	f := &filter{listRequest: r, size: 50, since: math.MinInt64, from: place{at: math.MaxInt64}}
	if r.PageSize != nil {
		if f.size = *r.PageSize; f.size < 1 || f.size > maxPage {
			return nil, protocol.BadRequest("pageSize is %d, want 1 to %d", f.size, maxPage)
		}
	}
	if err := checkHistory(r.HistoryLength); err != nil {
		return nil, err
	}
	if err := protocol.CheckID("contextId", r.ContextID); err != nil {
		return nil, err
	}
	if r.Status != "" && r.Status != "TASK_STATE_UNSPECIFIED" && !slices.Contains(states, r.Status) {
		return nil, protocol.BadRequest("status is %.80q, want one of %s", r.Status, joinStates())
	}
	if r.StatusTimestampAfter != "" {
		at, err := time.Parse(time.RFC3339Nano, r.StatusTimestampAfter)
		if err != nil {
			return nil, protocol.BadRequest("statusTimestampAfter is %.80q, want a time such as 2026-01-31T12:00:00Z", r.StatusTimestampAfter)
		}
		f.since = at.UnixMilli()
	}
	if r.PageToken != "" {
		var err error
		if f.from, err = parsePlace(r.PageToken); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func joinStates() string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// stored returns the status of runs that can be in the state that is asked for, or "".
func (f *filter) stored() awaken.RunStatus {
	switch {
	case f.Status.Terminal():
		return awaken.RunDone
	case f.Status.Interrupted():
		return awaken.RunWaiting
	case f.Status == Submitted:
		return awaken.RunCreated
	}
	return "" // a working run may wait for its children
}

func (f *filter) matches(run *awaken.Run) bool {
	return run.UpdatedAt >= f.since && (f.Status == "" || f.Status == "TASK_STATE_UNSPECIFIED" || f.Status == stateOf(run))
}

// list replies with a page of tasks.
func (x *exchange) list(in *listRequest) error {
	if err := x.address(in.Tenant); err != nil {
		return err
	}
	f, err := in.filter()
	if err != nil {
		return err
	}
	if in.ContextID != "" {
		if err := x.Admit(in.ContextID); err != nil {
			return err
		}
	}
	out, err := x.page(f)
	if err != nil {
		return err
	}
	return x.reply(out)
}

// page returns a page of tasks. A page may look at many runs, so few are made at once.
func (x *exchange) page(f *filter) (*taskList, error) {
	x.Release() // this may take a while
	select {
	case x.cfg.pages <- struct{}{}:
		defer func() { <-x.cfg.pages }()
	case <-x.Context().Done():
		return nil, context.Cause(x.Context())
	}
	places, err := x.scan(f)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(places, place.compare)
	out := &taskList{Tasks: []*Task{}, PageSize: f.size, TotalSize: len(places)}
	at, _ := slices.BinarySearchFunc(places, f.from, place.compare)
	for at < len(places) && places[at].compare(f.from) <= 0 {
		at++
	}
	page := places[at:min(len(places), at+f.size)]
	history := f.HistoryLength
	if history == nil {
		history = new(int)
	}
	for _, p := range page {
		run, err := x.Tenant().Store.LoadRun(x.Context(), p.id)
		if err != nil {
			return nil, err
		}
		t, err := x.task(run, f.IncludeArtifacts, history)
		if err != nil {
			return nil, err
		}
		out.Tasks = append(out.Tasks, t)
	}
	if at+len(page) < len(places) {
		out.NextPageToken = page[len(page)-1].token()
	}
	return out, nil
}

// scan returns the places of all tasks that match.
func (x *exchange) scan(f *filter) (out []place, err error) {
	q := awaken.RunQuery{ThreadID: f.ContextID, Status: f.stored(), Limit: scanPage}
	if q.Owner, err = x.Owner(); err != nil {
		return nil, err
	}
	for ; q.Offset < maxScan; q.Offset += scanPage {
		runs, err := x.Tenant().Store.ListRuns(x.Context(), q)
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			if x.visible(run) && f.matches(run) {
				out = append(out, place{run.UpdatedAt, run.RunID})
			}
		}
		if len(runs) < scanPage {
			break
		}
	}
	return out, nil
}
