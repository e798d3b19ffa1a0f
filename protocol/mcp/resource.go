package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// Resource is something that clients can read.
type Resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MimeType    string `json:"mimeType,omitempty"`
}

// Template names resources by a pattern.
type Template struct {
	URI         string `json:"uriTemplate"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	MimeType    string `json:"mimeType,omitempty"`
}

// Contents is the content of a resource: a text or, in base64, a blob.
type Contents struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     string  `json:"blob,omitempty"`
}

// Resources are further resources than threads and runs.
type Resources interface {
	// List returns the resources and templates.
	List(ctx context.Context) ([]Resource, []Template, error)
	// Read returns the content of a resource, or [awaken.ErrNotFound].
	Read(ctx context.Context, uri string) (*Contents, error)
}

const (
	threadURI = "awaken://threads/"
	runURI    = "awaken://runs/"
)

var templates = []Template{
	{URI: threadURI + "{thread_id}", Name: "thread", Description: "The conversation of a thread: its last messages", MimeType: "application/json"},
	{URI: runURI + "{run_id}", Name: "run", Description: "A run: its status, its answer, and what it waits for", MimeType: "application/json"},
}

// pageSize is the number of threads on a page.
const pageSize = 50

// resourceList is the result of resources/list.
type resourceList struct {
	result
	Resources []Resource `json:"resources"`
	Next      string     `json:"nextCursor,omitempty"`
}

// offset decodes the cursor of a page of threads.
func (p *cursorParams) offset() (int, error) {
	if p.Cursor == "" {
		return 0, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	n, convErr := strconv.ParseUint(string(data), 10, 31)
	if err != nil || convErr != nil {
		return 0, invalid("params.cursor is %.80q, want the nextCursor of a page", p.Cursor)
	}
	return int(n), nil
}

func nextCursor(offset int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(offset)))
}

// listResources lists threads, the latest first, after further resources.
func (x *exchange) listResources(m *message) error {
	var in cursorParams
	if err := m.params(&in); err != nil {
		return err
	}
	offset, err := in.offset()
	if err != nil {
		return err
	}
	out := &resourceList{Resources: []Resource{}}
	if offset == 0 && x.cfg.Resources != nil {
		list, _, err := x.cfg.Resources.List(x.Context())
		if err != nil {
			return err
		}
		out.Resources = append(out.Resources, list...)
	}
	threads, err := x.threads(offset, pageSize)
	if err != nil {
		return err
	}
	for _, th := range threads {
		if ok, err := x.showsThread(th); err != nil {
			return err
		} else if ok {
			out.Resources = append(out.Resources, Resource{URI: threadURI + url.PathEscape(th.ID), Name: th.ID, Title: th.Metadata.Title, MimeType: "application/json"})
		}
	}
	if len(threads) == pageSize {
		out.Next = nextCursor(offset + pageSize)
	}
	x.cacheable(&out.result)
	return x.reply(out)
}

// threads returns threads of the caller.
func (x *exchange) threads(offset, limit int) ([]*awaken.Thread, error) {
	owner, err := x.Owner()
	if err != nil {
		return nil, err
	}
	return x.Tenant().Store.ListThreads(x.Context(), awaken.ThreadQuery{Root: true, Owner: owner, Offset: offset, Limit: limit})
}

// showsThread reports whether the agent of a thread is exposed.
func (x *exchange) showsThread(th *awaken.Thread) (bool, error) {
	if len(x.cfg.Agents) == 0 {
		return true, nil
	}
	if th.LatestRunID == "" {
		return false, nil
	}
	run, err := x.Tenant().Store.LoadRun(x.Context(), th.LatestRunID)
	if errors.Is(err, awaken.ErrNotFound) {
		return false, nil
	}
	return err == nil && x.visible(run), err
}

// templateList is the result of resources/templates/list.
type templateList struct {
	result
	Templates []Template `json:"resourceTemplates"`
}

func (x *exchange) listTemplates(m *message) error {
	var in cursorParams
	if err := m.params(&in); err != nil {
		return err
	}
	out := &templateList{Templates: slices.Clone(templates)}
	if x.cfg.Resources != nil {
		_, list, err := x.cfg.Resources.List(x.Context())
		if err != nil {
			return err
		}
		out.Templates = append(out.Templates, list...)
	}
	x.cacheable(&out.result)
	return x.reply(out)
}

// uriParams name a resource.
type uriParams struct {
	URI string `json:"uri"`
}

// UnmarshalJSON ignores unknown fields.
func (p *uriParams) UnmarshalJSON(data []byte) error {
	type plain uriParams
	return strict.UnmarshalKnown(data, (*plain)(p))
}

// readResult is the result of resources/read.
type readResult struct {
	result
	Contents []*Contents `json:"contents"`
}

func noResource(uri string) *protocol.Failure {
	f := failure(http.StatusNotFound, resourceNotFound, "resource not found: %.200s", uri)
	f.Param = uri
	return f
}

// readResource reads a thread, a run or another resource.
func (x *exchange) readResource(m *message) error {
	var in uriParams
	if err := m.params(&in); err != nil {
		return err
	}
	if in.URI == "" {
		return invalid("params.uri is missing")
	}
	c, err := x.contents(in.URI)
	if f, ok := errors.AsType[*protocol.Failure](err); errors.Is(err, awaken.ErrNotFound) || ok && f.Status == http.StatusNotFound {
		return noResource(in.URI)
	}
	if err != nil {
		return err
	}
	out := &readResult{Contents: []*Contents{c}}
	x.cacheable(&out.result)
	return x.reply(out)
}

func (x *exchange) contents(uri string) (*Contents, error) {
	show := func(v any, err error) (*Contents, error) {
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(v)
		return &Contents{URI: uri, MimeType: "application/json", Text: new(string(data))}, err
	}
	if id, ok := idOf(uri, threadURI); ok {
		return show(x.thread(id))
	}
	if id, ok := idOf(uri, runURI); ok {
		run, err := x.load(id)
		if err != nil {
			return nil, err
		}
		return show(shownRun(run), nil)
	}
	if x.cfg.Resources == nil {
		return nil, awaken.ErrNotFound
	}
	return x.cfg.Resources.Read(x.Context(), uri)
}

func idOf(uri, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(uri, prefix)
	id, err := url.PathUnescape(rest)
	return id, ok && err == nil && protocol.ValidID(id)
}

// lastMessages is how many messages of a thread are shown.
const lastMessages = 200

// shownThread is a thread as clients see it.
type shownThread struct {
	ThreadID string         `json:"thread_id"`
	Title    string         `json:"title,omitempty"`
	RunID    string         `json:"run_id,omitempty"` // the latest
	Omitted  int            `json:"omitted_messages,omitempty"`
	Messages []shownMessage `json:"messages"`
}

type shownMessage struct {
	ID   string `json:"id"`
	Role string `json:"role"`
	Text string `json:"text"`
}

func (x *exchange) thread(id string) (*shownThread, error) {
	if err := x.Admit(id); err != nil {
		return nil, err
	}
	th, err := x.Tenant().Store.Thread(x.Context(), id)
	if err != nil {
		return nil, err
	}
	if ok, err := x.showsThread(th); err != nil || !ok {
		return nil, errors.Join(err, awaken.ErrNotFound)
	}
	msgs, err := protocol.Conversation(x.Context(), x.Tenant(), id)
	if err != nil {
		return nil, err
	}
	out := &shownThread{ThreadID: id, Title: th.Metadata.Title, RunID: th.LatestRunID, Messages: []shownMessage{}}
	for _, m := range msgs {
		if text := m.Text(); text != "" && !m.IsInternal() && (m.Role == llm.User || m.Role == llm.Assistant) {
			out.Messages = append(out.Messages, shownMessage{m.ID, string(m.Role), text})
		}
	}
	if n := len(out.Messages) - lastMessages; n > 0 {
		out.Omitted, out.Messages = n, out.Messages[n:]
	}
	return out, nil
}

// runShown is a run as clients see it.
type runShown struct {
	outcome
	AgentID string `json:"agent_id"`
	Error   string `json:"error,omitempty"`
}

func shownRun(run *awaken.Run) *runShown {
	out := &runShown{outcome: outcome{ThreadID: run.ThreadID, RunID: run.RunID, Status: string(run.Status), Response: run.FinalOutput, Output: run.StructuredOutput}, AgentID: run.AgentID}
	switch {
	case run.Status == awaken.RunDone && run.Termination.Type == awaken.NaturalEnd:
		out.Status = "completed"
	case run.Status == awaken.RunDone:
		out.Status, out.Error = string(run.Termination.Type), run.Termination.Message
	case run.Waiting != nil:
		out.Tickets = ticketsOf(run.Waiting)
	}
	return out
}
