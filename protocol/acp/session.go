package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// session is a session that a client has begun on its connection.
type session struct {
	*agent
	id  string
	cwd string // absolute

	mu      sync.Mutex
	options options
	turn    *turn        // in progress, or nil
	left    *turn        // the last one, if its run waits for what the client cannot be asked
	servers *toolServers // of the editor, or nil
	over    bool         // the session has ended: it follows no run, and gets no servers
}

// metadataKey is the name of what a thread keeps about its session.
const metadataKey = "acp"

// metadata is what a thread keeps about its session.
type metadata struct {
	Cwd string `json:"cwd"`
	options
}

// metadataOf returns what a thread keeps about its session. It is empty for threads that no editor began.
func metadataOf(th *awaken.Thread) (m metadata) {
	_ = json.Unmarshal(th.Metadata.Custom[metadataKey], &m) // what cannot be read is not there
	return m
}

// resourceOf returns the resource of threads in a folder, by which they are listed.
func resourceOf(cwd string) string {
	if id := "acp:" + cwd; protocol.ValidID(id) {
		return id
	}
	return "acp:" + ids.Of(cwd, 0)
}

func (a *agent) editor() awaken.ThreadEditor { return a.Tenant.Store.(awaken.ThreadEditor) }

func checkCwd(cwd string) error {
	switch {
	case cwd == "":
		return invalidParams("cwd is missing, want an absolute path")
	case !filepath.IsAbs(cwd):
		return invalidParams("cwd is %.80q, want an absolute path", cwd)
	case len(cwd) > 4096 || strings.ContainsRune(cwd, 0):
		return invalidParams("cwd is longer than 4096 bytes or has the character U+0000")
	}
	return nil
}

func (a *agent) newSession(ctx context.Context, m *message) (any, error) {
	var p sessionParams
	if err := decode(m, &p); err != nil {
		return nil, err
	}
	if err := checkCwd(p.Cwd); err != nil {
		return nil, err
	}
	s := &session{agent: a, id: a.NewID(), cwd: filepath.Clean(p.Cwd)}
	servers, err := s.list(p.MCPServers)
	if err != nil {
		return nil, err
	}
	if s.options, err = a.defaults(); err != nil {
		return nil, err
	}
	th := &awaken.Thread{ID: s.id, UserID: a.User, ResourceID: resourceOf(s.cwd), Metadata: awaken.ThreadMetadata{Custom: map[string]json.RawMessage{metadataKey: s.metadata()}}}
	if err := a.editor().CreateThread(ctx, th); err != nil {
		return nil, err
	}
	a.begin(s)
	return &followed{s.result(true), func() { s.connect(servers) }}, nil
}

// metadata returns what the thread keeps about the session.
func (s *session) metadata() json.RawMessage {
	data, _ := json.Marshal(metadata{s.cwd, s.options}) // cannot fail
	return data
}

// begin makes the session known to the connection. It returns the one that had the id, which must be left,
// or nil.
func (a *agent) begin(s *session) (before *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before, a.sessions[s.id] = a.sessions[s.id], s
	return before
}

// notice tells the client something that is not part of the conversation.
func (s *session) notice(text string) {
	if c, _ := s.capabilities(); c.Session != nil && c.Session.Notices != nil {
		s.update(&Update{SessionUpdate: "notice", Severity: "warning", Title: text})
		return
	}
	s.update(&Update{SessionUpdate: "agent_message_chunk", Content: block{Type: "text", Text: "[" + text + "]\n"}})
}

// update sends an update.
func (s *session) update(u *Update) { s.notify(methodUpdate, updateParams{s.id, u}) }

// thread returns the thread of a session that the client names, whether or not the connection has begun
// it.
func (a *agent) thread(ctx context.Context, id string) (*awaken.Thread, error) {
	if !protocol.ValidID(id) {
		return nil, noSession(id)
	}
	th, err := a.Tenant.Store.Thread(ctx, id)
	if errors.Is(err, awaken.ErrNotFound) || err == nil && th.UserID != a.User {
		return nil, noSession(id)
	}
	return th, err
}

// openSession begins a session that exists: session/load shows what it has, session/resume does not. Then
// the run of the session, if it is not done, is followed, and what it waits for is asked.
func (a *agent) openSession(ctx context.Context, m *message) (func() (any, error), error) {
	var p sessionParams
	if err := decode(m, &p); err != nil {
		return nil, err
	}
	th, err := a.thread(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	if err := checkCwd(p.Cwd); err != nil {
		return nil, err
	}
	s := &session{agent: a, id: th.ID, cwd: filepath.Clean(p.Cwd)}
	servers, err := s.list(p.MCPServers)
	if err != nil {
		return nil, err
	}
	if s.options, err = a.restored(metadataOf(th).options); err != nil {
		return nil, err
	}
	before := a.begin(s)
	return func() (any, error) {
		if before != nil {
			before.leave()
		}
		h, err := s.history(ctx, th.ID)
		if err != nil {
			return nil, err
		}
		if m.Method == methodLoad {
			h.show()
		}
		return &followed{s.result(false), func() {
			s.connect(servers)
			s.attend(h)
		}}, nil
	}, nil
}

// list lists sessions, the latest first.
func (a *agent) list(ctx context.Context, m *message) (any, error) {
	var p listParams
	if err := decode(m, &p); err != nil {
		return nil, err
	}
	const page = 50
	q := awaken.ThreadQuery{Root: true, Owner: &a.User, Limit: page}
	if p.Cwd != "" {
		if err := checkCwd(p.Cwd); err != nil {
			return nil, err
		}
		q.ResourceID = resourceOf(filepath.Clean(p.Cwd))
	}
	if p.Cursor != "" {
		n, err := strconv.Atoi(p.Cursor)
		if err != nil || n < 0 {
			return nil, invalidParams("cursor is %.80q, want the nextCursor of an earlier page", p.Cursor)
		}
		q.Offset = n
	}
	out := listResult{Sessions: []sessionInfo{}}
	for len(out.Sessions) == 0 { // a page may have no session
		threads, err := a.Tenant.Store.ListThreads(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, th := range threads {
			if md := metadataOf(th); md.Cwd != "" && th.LatestRunID != "" {
				out.Sessions = append(out.Sessions, sessionInfo{SessionID: th.ID, Cwd: md.Cwd, Title: th.Metadata.Title, UpdatedAt: timeOf(th.Metadata.UpdatedAt)})
			}
		}
		out.NextCursor = ""
		if len(threads) < page {
			break
		}
		q.Offset += page
		out.NextCursor = strconv.Itoa(q.Offset)
	}
	return out, nil
}

// timeOf returns a time in Unix ms as text.
func timeOf(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}

// closeSession ends what the session is doing, and forgets it. The thread stays.
func (a *agent) closeSession(ctx context.Context, m *message) (func() (any, error), error) {
	var p sessionParams
	if err := decode(m, &p); err != nil {
		return nil, err
	}
	a.mu.Lock()
	s := a.sessions[p.SessionID]
	delete(a.sessions, p.SessionID)
	a.mu.Unlock()
	if s == nil {
		return nil, noSession(p.SessionID)
	}
	return func() (any, error) {
		s.cancel()
		s.leave()
		return empty{}, nil
	}, nil
}

// deleteSession deletes the thread of a session. A session that does not exist is deleted.
func (a *agent) deleteSession(ctx context.Context, m *message) (func() (any, error), error) {
	var p sessionParams
	if err := decode(m, &p); err != nil {
		return nil, err
	}
	if !protocol.ValidID(p.SessionID) {
		return nil, invalidParams("sessionId is %.80q, want the id of a session", p.SessionID)
	}
	a.mu.Lock()
	s := a.sessions[p.SessionID]
	delete(a.sessions, p.SessionID)
	a.mu.Unlock()
	return func() (any, error) {
		if s != nil {
			s.leave()
		}
		th, err := a.thread(ctx, p.SessionID)
		if f, ok := errors.AsType[*Failure](err); ok && f.Code == codeNotFound {
			return empty{}, nil
		}
		if err != nil {
			return nil, err
		}
		return empty{}, a.remove(ctx, th.ID)
	}, nil
}

// remove deletes a thread and what works on it. A run takes a moment to end.
func (a *agent) remove(ctx context.Context, id string) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		if _, err := a.Tenant.Interrupt(ctx, id); err != nil && !errors.Is(err, mailbox.ErrIdle) && !errors.Is(err, awaken.ErrNotFound) {
			return err
		}
		err := a.editor().DeleteThread(ctx, id, awaken.CascadeChildren)
		switch {
		case err == nil, errors.Is(err, awaken.ErrNotFound):
			return nil
		case !errors.Is(err, awaken.ErrConflict):
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return &Failure{Code: codeInternal, Message: "the session is not deleted: its run has not ended yet"}
		}
	}
}

// keep stores what the session keeps in its thread, and its title if the thread has none.
func (s *session) keep(ctx context.Context, title string) error {
	s.mu.Lock()
	data := s.metadata()
	s.mu.Unlock()
	titled := false
	th, err := s.editor().UpdateThread(ctx, s.id, func(t *awaken.Thread) error {
		custom := maps.Clone(t.Metadata.Custom)
		if custom == nil {
			custom = map[string]json.RawMessage{}
		}
		custom[metadataKey] = data
		t.Metadata.Custom, t.ResourceID = custom, cmp.Or(t.ResourceID, resourceOf(s.cwd))
		if titled = t.Metadata.Title == "" && title != ""; titled {
			t.Metadata.Title = title
		}
		return nil
	})
	if errors.Is(err, awaken.ErrNotFound) {
		return noSession(s.id)
	}
	if err == nil && titled {
		s.update(&Update{SessionUpdate: "session_info_update", Title: title, UpdatedAt: timeOf(th.Metadata.UpdatedAt)})
	}
	return err
}

// cancel ends the run of the session.
func (s *session) cancel() {
	s.mu.Lock()
	t := s.turn
	s.mu.Unlock()
	if t != nil {
		t.cancel()
	}
}

// leave ends the session: it stops following the run, waits until that has stopped, and disconnects the
// servers.
func (s *session) leave() {
	s.mu.Lock()
	t := s.turn
	s.over = true
	s.mu.Unlock()
	if t != nil {
		t.stop(errClosed)
		<-t.done
	}
	s.disconnect()
}
