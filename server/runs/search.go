package runs

import (
	"errors"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// searches has the handler that finds threads, runs and agents.
type searches struct {
	registry func() *registry.Registry
}

// maxSearched is how many of the newest threads, and of the newest runs, that contain the text a search looks at.
const maxSearched = 1000

func (h *searches) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/search", Needs: permit.ReadThreads, Scope: protocol.ByCaller, Handle: server.Handle(h.get),
			Summary: "Find threads by title or id, runs by id, and agents by id or description",
			Query: []protocol.Param{server.Param("q", "string", "the text to find; without it, the newest are found"), server.UserParam,
				server.Param("limit", "integer", "maximum number of each kind, 1 to 50; default 10")},
			Replies: map[int]any{200: searchBody{}}},
	}
}

type searchBody struct {
	Items []searchItem `json:"items"`
	// Partial says that there are more threads or runs than were looked at: the newest, and those whose whole id was given.
	Partial bool `json:"partial"`
}

// searchItem is a search result.
type searchItem struct {
	Kind      string           `json:"kind"` // thread, run or agent
	ID        string           `json:"id"`
	Title     string           `json:"title,omitempty"` // of a thread; the description of an agent
	ThreadID  string           `json:"thread_id,omitempty"`
	AgentID   string           `json:"agent_id,omitempty"`
	Status    awaken.RunStatus `json:"status,omitempty"`
	UpdatedAt int64            `json:"updated_at,omitempty"` // Unix ms
}

func (h *searches) get(req *server.Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	owner, err := req.Owner()
	if err != nil {
		return err
	}
	f := finding{text: strings.ToLower(req.Value("q")), limit: req.Number("limit", 10, 1, 50)}
	s := server.ThreadsOf(req.Tenant())
	if id := req.Value("q"); id != "" { // however old it is
		if t, err := s.Thread(req.Context(), id); err == nil && (owner == nil || t.UserID == *owner) {
			f.add(threadItem(t))
		} else if err != nil && !errors.Is(err, awaken.ErrNotFound) {
			return err
		}
		if r, err := s.LoadRun(req.Context(), id); err == nil {
			if t, err := s.Thread(req.Context(), r.ThreadID); err == nil && (owner == nil || t.UserID == *owner) {
				f.add(runItem(r))
			}
		} else if !errors.Is(err, awaken.ErrNotFound) {
			return err
		}
	}
	moreThreads, moreRuns := "", ""
	threads, err := s.ListThreads(req.Context(), awaken.ThreadQuery{Owner: owner, Text: req.Value("q"), Limit: maxSearched, At: &moreThreads})
	if err != nil {
		return err
	}
	for _, t := range threads {
		f.find(threadItem(t))
	}
	runs, err := s.ListRuns(req.Context(), awaken.RunQuery{Owner: owner, Text: req.Value("q"), Limit: maxSearched, At: &moreRuns})
	if err != nil {
		return err
	}
	for _, r := range runs {
		f.find(runItem(r))
	}
	reg := h.registry()
	for _, id := range reg.AgentIDs() {
		if a := reg.Agent(id); a != nil && !strings.HasPrefix(id, "__") { // those are the server's own
			f.find(searchItem{Kind: "agent", ID: id, Title: a.Description})
		}
	}
	return req.Reply(200, searchBody{Items: append([]searchItem{}, f.items...), Partial: moreThreads != "" || moreRuns != ""})
}

func threadItem(t *awaken.Thread) searchItem {
	return searchItem{Kind: "thread", ID: t.ID, Title: t.Metadata.Title, ThreadID: t.ID, UpdatedAt: t.Metadata.UpdatedAt}
}

func runItem(r *awaken.Run) searchItem {
	return searchItem{Kind: "run", ID: r.RunID, ThreadID: r.ThreadID, AgentID: r.AgentID, Status: r.Status, UpdatedAt: r.UpdatedAt}
}

// finding is a search in progress.
type finding struct {
	text  string // in lower case
	limit int    // of each kind
	items []searchItem
}

// find adds an item if its id or title contains the text.
func (f *finding) find(i searchItem) {
	if strings.Contains(strings.ToLower(i.ID), f.text) || strings.Contains(strings.ToLower(i.Title), f.text) {
		f.add(i)
	}
}

// add adds an item, unless there is no room or it is there.
func (f *finding) add(i searchItem) {
	n := 0
	for _, o := range f.items {
		if o.Kind == i.Kind {
			n++
		}
	}
	if n < f.limit && !slices.ContainsFunc(f.items, func(o searchItem) bool { return o.Kind == i.Kind && o.ID == i.ID }) {
		f.items = append(f.items, i)
	}
}
