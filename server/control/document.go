package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// documents has the handlers of config documents.
type documents struct {
	control  *config.Manager
	registry func() *registry.Registry
}

func (h *documents) routes() []protocol.Route {
	const ns = "/v1/config/{namespace}"
	var doc server.RawDocument
	return []protocol.Route{
		{Method: "GET", Path: ns, Needs: permit.ReadConfig, Handle: inNamespace(h.list),
			Summary: "List the documents of a namespace by id", Query: documentPage, Replies: map[int]any{200: recordList{}}},
		{Method: "POST", Path: ns, Needs: permit.WriteConfig, Handle: writable(h.create),
			Summary: "Create a document and publish it", Query: []protocol.Param{publishParam}, Headers: server.MatchHeaders[2:], Body: doc, Replies: map[int]any{201: doc},
			Failures: []int{409}},
		{Method: "GET", Path: ns + "/meta", Needs: permit.ReadConfig, Handle: inNamespace(h.listMeta),
			Summary: "List the metadata of a namespace's documents", Replies: map[int]any{200: []recordMeta{}}},
		{Method: "GET", Path: ns + "/$schema", Needs: permit.ReadConfig, Handle: inNamespace(h.schema),
			Summary: "Get the JSON Schema of a namespace's documents", Replies: map[int]any{200: json.RawMessage{}}},
		{Method: "GET", Path: ns + "/{id}", Needs: permit.ReadConfig, Handle: inNamespace(h.get),
			Summary: "Get a document, without its secrets", Query: stateParam, Replies: map[int]any{200: doc}},
		{Method: "PUT", Path: ns + "/{id}", Needs: permit.WriteConfig, Handle: writable(h.put),
			Summary: "Create or replace a document and publish it", Query: []protocol.Param{publishParam}, Headers: server.MatchHeaders, Body: doc, Replies: map[int]any{200: doc},
			Failures: []int{409, 412}},
		{Method: "DELETE", Path: ns + "/{id}", Needs: permit.WriteConfig, Handle: writable(h.delete),
			Summary: "Delete a document and publish the change",
			Query:   []protocol.Param{server.Param("force", "true|false", "for a provider, also delete its models that nothing else uses; default false")}, Headers: server.MatchHeaders,
			Replies: map[int]any{204: nil, 409: dependencyBody{}}, Failures: []int{412}},
		{Method: "GET", Path: ns + "/{id}/meta", Needs: permit.ReadConfig, Handle: inNamespace(h.getMeta),
			Summary: "Get the metadata of a document", Replies: map[int]any{200: documentMeta{}}},
		{Method: "POST", Path: ns + "/{id}/restore", Needs: permit.WriteConfig, Handle: inNamespace(h.restore),
			Summary: "Restore a document from an audit event, as a draft", Headers: server.MatchHeaders[:3], Body: restoreBody{},
			Replies: map[int]any{200: doc, 404: unknownVersion{}}, Failures: []int{409, 412, 422}},
		{Method: "GET", Path: "/v1/agents/{agent_id}", Needs: permit.ReadConfig, Handle: agentInPath(h.get),
			Summary: "Get an agent", Query: stateParam, Replies: map[int]any{200: server.AgentDocument{}}},
		{Method: "GET", Path: "/v1/agents", Needs: permit.ReadAgents, Scope: protocol.Shared, Handle: agentInPath(h.listAgents),
			Summary: "List agents by id: their documents for admins of the server, their names for others", Query: documentPage, Replies: map[int]any{200: recordList{}}},
	}
}

var (
	publishParam = server.Param("publish", "true|false", "false keeps the document as a draft; default true")
	stateParam   = []protocol.Param{server.Param("state", "live|draft", "live is the document that new runs use, draft the unpublished one; default: the draft if there is one, otherwise the live document")}
	documentPage = append([]protocol.Param{server.Param("cursor", "string", "next_cursor of the previous page")}, server.ConfigPage...)
)

// inNamespace adapts a handler that takes the key in the path. The key has no id if the path
// names only a namespace.
func inNamespace(handle func(req *server.Request, key config.Key) error) func(protocol.Call) error {
	return server.Handle(func(req *server.Request) error {
		name := req.Path("namespace")
		if !slices.Contains(config.Namespaces, config.Namespace(name)) {
			return protocol.NotFound("namespace", name)
		}
		return handle(req, config.Key{Namespace: config.Namespace(name), ID: req.Path("id")})
	})
}

// writable adapts a handler like inNamespace, if the documents of the namespace are writable.
func writable(handle func(req *server.Request, key config.Key) error) func(protocol.Call) error {
	return inNamespace(func(req *server.Request, key config.Key) error {
		if key.Namespace == config.Tools {
			return server.Fail(http.StatusBadRequest, "read_only", "tools namespace is read-only; use PATCH /v1/config/tools/:id/overrides")
		}
		return handle(req, key)
	})
}

// agentInPath adapts a handler that takes the key of the agent in the path, if there is one.
func agentInPath(handle func(req *server.Request, key config.Key) error) func(protocol.Call) error {
	return server.Handle(func(req *server.Request) error {
		return handle(req, config.Key{Namespace: config.Agents, ID: req.Path("agent_id")})
	})
}

type recordList struct {
	Namespace config.Namespace     `json:"namespace"`
	Items     []server.RawDocument `json:"items"`
	Offset    int                  `json:"offset"`
	Limit     int                  `json:"limit"`
	// NextCursor is the cursor of the next page, if there is one.
	NextCursor string `json:"next_cursor,omitempty"`
}

// after returns the id that the cursor of a list begins after.
func (l *recordList) after(q server.Query) (id string, err error) {
	if s := q.Value("cursor"); s != "" {
		err = server.ParseCursor(string(l.Namespace)+":", s, &id)
	}
	return id, err
}

func (h *documents) list(req *server.Request, in config.Key) error {
	offset, limit := req.Number("offset", 0, 0, math.MaxInt32), req.Number("limit", 100, 1, 1000)
	out := recordList{Namespace: in.Namespace, Items: []server.RawDocument{}, Offset: offset, Limit: limit}
	after, err := out.after(req.Query)
	if err != nil {
		return err
	}
	views, err := h.control.List(req.Context(), in.Namespace, after, offset, limit+1)
	if err != nil {
		return err
	}
	for i, v := range views {
		if i == limit {
			out.NextCursor = server.CursorText(string(in.Namespace)+":", views[i-1].Key.ID)
			break
		}
		out.Items = append(out.Items, server.RawDocument(dated(v)))
	}
	return req.Reply(200, out)
}

// agentName describes an agent to callers who may not read documents.
type agentName struct {
	ID          string `json:"id"`
	Description string `json:"description,omitempty"`
	ModelID     string `json:"model_id,omitempty"`
}

// listAgents lists agents: to callers that may read the configuration their documents, to others those that a new run can have,
// without what only their authors need to know.
func (h *documents) listAgents(req *server.Request, in config.Key) error {
	if req.May(permit.ReadConfig) {
		return h.list(req, in)
	}
	out := recordList{Namespace: in.Namespace, Items: []server.RawDocument{}, Offset: req.Number("offset", 0, 0, math.MaxInt32), Limit: req.Number("limit", 100, 1, 1000)}
	after, err := out.after(req.Query)
	if err != nil {
		return err
	}
	specs := slices.DeleteFunc(server.AgentsOf(h.registry()), func(a *awaken.AgentSpec) bool { return strings.HasPrefix(a.ID, "__") || a.ID <= after }) // the server's own
	end := min(out.Offset+out.Limit, len(specs))
	if end < len(specs) {
		out.NextCursor = server.CursorText(string(in.Namespace)+":", specs[end-1].ID)
	}
	for _, a := range specs[min(out.Offset, end):end] {
		data, err := json.Marshal(agentName{a.ID, a.Description, a.ModelID})
		if err != nil {
			return err
		}
		out.Items = append(out.Items, data)
	}
	return req.Reply(200, out)
}

// dated returns the document of a list: with the time of its latest change, if it has one.
func dated(v *config.View) json.RawMessage {
	body, ok := bytes.CutSuffix(v.Spec, []byte("}"))
	if !ok || v.Meta.UpdatedAt == 0 {
		return v.Spec
	}
	return fmt.Appendf(slices.Clip(body), `,"updated_at":%d}`, v.Meta.UpdatedAt)
}

// get shows a document. Without a state it is what a client edits, as in the original: the draft, if there is one.
func (h *documents) get(req *server.Request, key config.Key) error {
	state := req.Value("state")
	if state == "live" {
		v, err := h.control.Live(key)
		return show(req, 200, v, err)
	}
	v, err := h.control.Get(req.Context(), key)
	if err == nil && state == "draft" && (v.Live || v.Meta.Hidden) {
		return protocol.NotFound("draft", key.String())
	}
	return show(req, 200, v, err)
}

func (h *documents) create(req *server.Request, key config.Key) error {
	return h.write(req, 201, key, config.Condition{Absent: true})
}

func (h *documents) put(req *server.Request, key config.Key) error {
	cond, err := conditionOf(req)
	if err != nil {
		return err
	}
	return h.write(req, 200, key, cond)
}

// write decodes a document and saves it. A key without an id gets that of the document.
func (h *documents) write(req *server.Request, status int, key config.Key, cond config.Condition) error {
	var doc server.RawDocument
	if err := req.Decode(&doc); err != nil {
		return err
	}
	var body struct {
		ID *string `json:"id"`
	}
	if err := json.Unmarshal(doc, &body); err != nil {
		return protocol.BadRequest("the body is not an object, want a document with an id")
	}
	switch {
	case body.ID == nil || strings.TrimSpace(*body.ID) == "":
		return protocol.BadRequest("id is missing")
	case key.ID == "":
		if err := protocol.CheckID("id", *body.ID); err != nil {
			return err
		}
		key.ID = *body.ID
	case key.ID != *body.ID:
		return protocol.BadRequest("id is %q in the body, want %q, as in the path", *body.ID, key.ID)
	}
	by, err := publisherOf(req)
	if err != nil {
		return err
	}
	v, err := h.control.Put(req.Context(), key, json.RawMessage(doc), req.Value("publish") == "false", cond, by)
	return show(req, status, v, err)
}

func (h *documents) delete(req *server.Request, key config.Key) error {
	cond, err := conditionOf(req)
	if err != nil {
		return err
	}
	by, err := publisherOf(req)
	if err != nil {
		return err
	}
	err = h.control.Delete(req.Context(), key, req.Value("force") == "true", cond, by)
	if d, ok := errors.AsType[*config.DependencyError](err); ok {
		return req.Reply(http.StatusConflict, dependencyBody{server.ErrorBody{Error: d.Error(), Code: "in_use"}, d.UsedBy})
	}
	return req.Done(err)
}

// dependencyBody is the reply to the deletion of a record that others use.
type dependencyBody struct {
	server.ErrorBody
	UsedBy []config.Key `json:"used_by,omitempty"`
}

type recordMeta struct {
	ID   string       `json:"id"`
	Meta documentMeta `json:"meta"`
	Live bool         `json:"live"` // false for a draft
}

// documentMeta is the metadata of a record, for clients.
type documentMeta struct {
	Source        config.Source   `json:"source"`
	Hidden        bool            `json:"hidden"`
	UserOverrides json.RawMessage `json:"user_overrides,omitempty"`
	CreatedAt     int64           `json:"created_at"`
	UpdatedAt     int64           `json:"updated_at"`
	UpdatedBy     string          `json:"updated_by,omitempty"`
	Revision      int64           `json:"revision"`
	Live          bool            `json:"live"`  // a document of this id is live
	Draft         bool            `json:"draft"` // the record has a document that is not live
	// BaseRevision is the revision of the record that the live document was made from.
	BaseRevision int64 `json:"base_revision,omitempty"`
	// Diagnostics are warnings about the document, such as rules that name no tool.
	Diagnostics []trouble `json:"diagnostics,omitempty"`
}

func metaOf(v *config.View) documentMeta {
	m := v.Meta
	return documentMeta{Source: m.Source, Hidden: m.Hidden, UserOverrides: m.UserOverrides, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, UpdatedBy: m.UpdatedBy, Revision: m.Revision,
		Live: v.Published, Draft: !v.Live && !m.Hidden, BaseRevision: v.Base, Diagnostics: troubles(v.Diagnostics)}
}

func (h *documents) listMeta(req *server.Request, in config.Key) error {
	out := []recordMeta{}
	for v, err := range h.control.All(req.Context(), in.Namespace) {
		if err != nil {
			return err
		}
		out = append(out, recordMeta{v.Key.ID, metaOf(v), v.Live})
	}
	return req.Reply(200, out)
}

func (h *documents) getMeta(req *server.Request, key config.Key) error {
	v, err := h.control.Get(req.Context(), key)
	if err != nil {
		return err
	}
	req.Writer().Header().Set("ETag", strconv.Quote(strconv.FormatInt(v.Meta.Revision, 10)))
	return req.Reply(200, metaOf(v))
}

func (h *documents) schema(req *server.Request, in config.Key) error {
	return req.Reply(200, config.Schema(in.Namespace))
}

// unknownVersion is the reply if there is nothing to restore.
type unknownVersion struct {
	server.ErrorBody
	Reason string `json:"reason,omitempty"`
}

type restoreBody struct {
	Version string `json:"version"` // the id of an audit event
}

func (h *documents) restore(req *server.Request, key config.Key) error {
	cond, err := conditionOf(req)
	if err != nil {
		return err
	}
	var body restoreBody
	if err := req.Decode(&body); err != nil {
		return err
	}
	if body.Version == "" {
		return protocol.BadRequest("version is missing, want the id of an audit event")
	}
	v, err := h.control.Drafts().Restore(req.Context(), key, body.Version, cond, server.ActorOf(req))
	if errors.Is(err, awaken.ErrNotFound) {
		return req.Reply(http.StatusNotFound, unknownVersion{server.ErrorBody{Error: "version not found", Code: "not_found"}, "unknown"})
	}
	return show(req, 200, v, err)
}
