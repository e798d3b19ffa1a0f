package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/protocol"
)

// rawDocument is a body that is a config document. What it has to be depends on its namespace.
type rawDocument json.RawMessage

// UnmarshalJSON keeps the document as it is.
func (d *rawDocument) UnmarshalJSON(data []byte) error {
	*d = append((*d)[:0], data...)
	return nil
}

// MarshalJSON is the document as it is.
func (d rawDocument) MarshalJSON() ([]byte, error) { return d, nil }

// document is the one of a namespace that a path names.
func (c *call) document(ns config.Namespace, name string) config.Key {
	return config.Key{Namespace: ns, ID: c.path(name)}
}

// writable is the namespace that a path names, if its documents can be written.
func (c *call) writable() (config.Namespace, error) {
	ns, err := c.namespace()
	if err == nil && ns == config.Tools {
		err = fail(http.StatusBadRequest, "read_only", "tools namespace is read-only; use PATCH /v1/config/tools/:id/overrides")
	}
	return ns, err
}

// namespace is the one that a path names.
func (c *call) namespace() (config.Namespace, error) {
	name := c.path("namespace")
	for _, ns := range config.Namespaces {
		if string(ns) == name {
			return ns, nil
		}
	}
	return "", notFound("namespace", name)
}

// named is the document that a path with a namespace and an id names.
func (c *call) named() (config.Key, error) {
	ns, err := c.namespace()
	return config.Key{Namespace: ns, ID: c.path("id")}, err
}

// actor is who asks: the key, and what the client says of itself.
func (c *call) actor() config.Actor {
	a := config.Actor{ID: "anonymous", RequestID: c.w.Header().Get("X-Request-Id")}
	if c.key != nil {
		a.ID, a.Label = c.key.ID, c.key.Label
	}
	if who := c.r.Header.Get("X-Awaken-Actor"); who != "" && len(who) <= 64 && printableASCII(who) {
		a.Label = who
	}
	if host, _, err := net.SplitHostPort(c.r.RemoteAddr); err == nil {
		a.IP = host
	}
	return a
}

func printableASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// condition is what the client expects of the record: If-Match and If-None-Match.
func (c *call) condition() (config.Condition, error) {
	var out config.Condition
	if s := c.r.Header.Get("If-None-Match"); s != "" {
		if s != "*" {
			return out, badRequest(fmt.Sprintf("If-None-Match is %q, want *", s))
		}
		out.Absent = true
	}
	s := c.r.Header.Get("If-Match")
	if s == "" {
		return out, nil
	}
	if s == "*" {
		out.Present = true
		return out, nil
	}
	text := strings.TrimPrefix(s, "W/")
	if n := len(text); n > 2 && text[0] == '"' && text[n-1] == '"' {
		text = text[1 : n-1]
	}
	revision, err := strconv.ParseInt(text, 10, 64)
	if err != nil || revision < 0 {
		return out, badRequest(fmt.Sprintf("If-Match is %q, want the ETag of the record, such as \"3\"", s))
	}
	out.Revision, out.Absent = revision, revision == 0 // as tools have it that nobody has overridden
	return out, nil
}

// show answers with a record.
func (c *call) show(status int, v *config.View) error {
	c.w.Header().Set("ETag", strconv.Quote(strconv.FormatInt(v.Meta.Revision, 10)))
	return c.Reply(status, v.Spec)
}

// dependencyBody says why a record cannot go.
type dependencyBody struct {
	errorBody
	UsedBy []config.Key `json:"used_by,omitempty"`
}

// refused tells the client why a write did not happen.
func (c *call) refused(err error) error {
	if d, ok := errors.AsType[*config.DependencyError](err); ok {
		return c.Reply(http.StatusConflict, dependencyBody{errorBody{d.Error(), "in_use"}, d.UsedBy})
	}
	if errors.Is(err, config.ErrExists) && (c.r.Header.Get("If-None-Match") != "" || c.r.Header.Get("If-Match") != "") {
		return fail(http.StatusPreconditionFailed, "exists", plain(err.Error()))
	}
	if errors.Is(err, config.ErrNoConnector) {
		return unavailable(plain(err.Error()))
	}
	return err
}

type recordList struct {
	Namespace config.Namespace  `json:"namespace"`
	Items     []json.RawMessage `json:"items"`
	Offset    int               `json:"offset"`
	Limit     int               `json:"limit"`
}

func (c *call) listConfig() error {
	ns, err := c.namespace()
	if err != nil {
		return err
	}
	return c.listOf(ns)
}

func (c *call) listAgents() error { return c.listOf(config.Agents) }

func (c *call) listOf(ns config.Namespace) error {
	offset, err := c.number("offset", 0, 0, 1<<31-1)
	if err != nil {
		return err
	}
	limit, err := c.number("limit", 100, 1, 1000)
	if err != nil {
		return err
	}
	views, err := c.srv.cfg.Control.List(c.ctx, ns, offset, limit)
	if err != nil {
		return err
	}
	out := recordList{Namespace: ns, Items: make([]json.RawMessage, len(views)), Offset: offset, Limit: limit}
	for i, v := range views {
		out.Items[i] = v.Spec
	}
	return c.Reply(200, out)
}

func (c *call) getConfig() error {
	key, err := c.named()
	if err != nil {
		return err
	}
	return c.getRecord(key)
}

func (c *call) getAgent() error { return c.getRecord(c.document(config.Agents, "agent_id")) }

func (c *call) getRecord(key config.Key) error {
	v, err := c.srv.cfg.Control.Get(c.ctx, key)
	if err != nil {
		return err
	}
	return c.show(200, v)
}

// write reads a document and puts it where it belongs.
func (c *call) write(status int, key func(id string) (config.Key, error), cond config.Condition) error {
	var doc rawDocument
	if err := c.Decode(&doc); err != nil {
		return err
	}
	var body struct {
		ID *string `json:"id"`
	}
	if err := json.Unmarshal(doc, &body); err != nil {
		return badRequest("the body is not an object with an id")
	}
	if body.ID == nil || strings.TrimSpace(*body.ID) == "" {
		return badRequest("missing 'id' field in body")
	}
	k, err := key(*body.ID)
	if err != nil {
		return err
	}
	publish, err := c.pick("true", []string{"true", "false"}, "publish")
	if err != nil {
		return err
	}
	v, err := c.srv.cfg.Control.Put(c.ctx, k, json.RawMessage(doc), publish == "false", cond, c.actor())
	if err != nil {
		return c.refused(err)
	}
	return c.show(status, v)
}

func (c *call) createConfig() error {
	ns, err := c.writable()
	if err != nil {
		return err
	}
	return c.write(201, func(id string) (config.Key, error) {
		if !protocol.ValidID(id) {
			return config.Key{}, badRequest(fmt.Sprintf("id is %q, want at most %d bytes without control characters", id, protocol.MaxID))
		}
		return config.Key{Namespace: ns, ID: id}, nil
	}, config.Condition{Absent: true})
}

func (c *call) putConfig() error {
	ns, err := c.writable()
	if err != nil {
		return err
	}
	key := c.document(ns, "id")
	cond, err := c.condition()
	if err != nil {
		return err
	}
	return c.write(200, func(id string) (config.Key, error) {
		if id != key.ID {
			return key, badRequest(fmt.Sprintf("the id in the body is %q, and in the path %q", id, key.ID))
		}
		return key, nil
	}, cond)
}

func (c *call) deleteConfig() error {
	ns, err := c.writable()
	if err != nil {
		return err
	}
	key := c.document(ns, "id")
	cond, err := c.condition()
	if err != nil {
		return err
	}
	force, err := c.pick("false", []string{"true", "false"}, "force")
	if err != nil {
		return err
	}
	if err := c.srv.cfg.Control.Delete(c.ctx, key, force == "true", cond, c.actor()); err != nil {
		return c.refused(err)
	}
	return c.Reply(204, nil)
}

type validated struct {
	OK          bool                `json:"ok"`
	Normalized  json.RawMessage     `json:"normalized"`
	Diagnostics []awaken.Diagnostic `json:"diagnostics"`
}

func (c *call) validateConfig() error {
	ns, err := c.writable()
	if err != nil {
		return err
	}
	var doc rawDocument
	if err := c.Decode(&doc); err != nil {
		return err
	}
	var body struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(doc, &body) // whatever else is wrong is said below
	id := c.value("id")
	if id == "" {
		id = body.ID
	}
	out, err := c.srv.cfg.Control.Validate(c.ctx, config.Key{Namespace: ns, ID: id}, json.RawMessage(doc))
	if err != nil {
		return c.refused(err)
	}
	return c.Reply(200, validated{true, out.Normalized, append([]awaken.Diagnostic{}, out.Diagnostics...)})
}

type recordMeta struct {
	ID   string      `json:"id"`
	Meta config.Meta `json:"meta"`
	Live bool        `json:"live"` // false for a draft
}

func (c *call) listMeta() error {
	ns, err := c.namespace()
	if err != nil {
		return err
	}
	out := []recordMeta{}
	for offset := 0; ; offset += 1000 {
		views, err := c.srv.cfg.Control.List(c.ctx, ns, offset, 1000)
		if err != nil {
			return err
		}
		for _, v := range views {
			out = append(out, recordMeta{v.Key.ID, v.Meta, v.Live})
		}
		if len(views) < 1000 {
			return c.Reply(200, out)
		}
	}
}

func (c *call) getMeta() error {
	key, err := c.named()
	if err != nil {
		return err
	}
	v, err := c.srv.cfg.Control.Get(c.ctx, key)
	if err != nil {
		return err
	}
	c.w.Header().Set("ETag", strconv.Quote(strconv.FormatInt(v.Meta.Revision, 10)))
	return c.Reply(200, v.Meta)
}

func (c *call) getSchema() error {
	ns, err := c.namespace()
	if err != nil {
		return err
	}
	return c.Reply(200, config.Schema(ns))
}

// unknownVersion is the answer when there is nothing to restore.
type unknownVersion struct {
	errorBody
	Reason string `json:"reason,omitempty"`
}

type restoreBody struct {
	Version string `json:"version"` // the id of an audit event
}

func (c *call) restoreConfig() error {
	key, err := c.named()
	if err != nil {
		return err
	}
	cond, err := c.condition()
	if err != nil {
		return err
	}
	var body restoreBody
	if err := c.Decode(&body); err != nil {
		return err
	}
	if body.Version == "" {
		return badRequest("version is missing, want the id of an audit event")
	}
	v, err := c.srv.cfg.Control.Drafts().Restore(c.ctx, key, body.Version, cond, c.actor())
	if errors.Is(err, awaken.ErrNotFound) {
		return c.Reply(http.StatusNotFound, unknownVersion{errorBody{"version not found", "not_found"}, "unknown"})
	}
	if err != nil {
		return c.refused(err)
	}
	return c.show(200, v)
}

type diagnosticList struct {
	Diagnostics []trouble `json:"diagnostics"`
}

// trouble is an [awaken.Diagnostic] as clients see it.
type trouble struct {
	Code      string      `json:"code"`
	Severity  string      `json:"severity"`
	Resource  config.Key  `json:"resource"`
	DependsOn *config.Key `json:"depends_on,omitempty"`
	Message   string      `json:"message"`
}

func (c *call) diagnostics() error {
	out := diagnosticList{[]trouble{}}
	for _, d := range c.srv.cfg.Control.Diagnostics() {
		v := trouble{Code: d.Code, Severity: string(d.Severity), Resource: config.Key{Namespace: config.Namespace(d.Namespace), ID: d.ID}, Message: d.Message}
		if ns, id, ok := strings.Cut(d.DependsOn, "/"); ok {
			v.DependsOn = &config.Key{Namespace: config.Namespace(ns), ID: id}
		}
		out.Diagnostics = append(out.Diagnostics, v)
	}
	return c.Reply(200, out)
}

func (c *call) removalPreview() error {
	out, err := c.srv.cfg.Control.RemovalPreview(c.ctx, c.path("id"))
	if err != nil {
		return err
	}
	return c.Reply(200, out)
}

// Overrides.

func (c *call) override(ns config.Namespace, dry bool) error {
	cond, err := c.condition()
	if err != nil {
		return err
	}
	var patch rawDocument
	if err := c.Decode(&patch); err != nil {
		return err
	}
	v, err := c.srv.cfg.Control.Override(c.ctx, c.document(ns, "id"), json.RawMessage(patch), dry, cond, c.actor())
	if err != nil {
		return c.refused(err)
	}
	return c.show(200, v)
}

func (c *call) clearOverrides(ns config.Namespace) error {
	cond, err := c.condition()
	if err != nil {
		return err
	}
	v, err := c.srv.cfg.Control.ClearOverrides(c.ctx, c.document(ns, "id"), c.path("field"), cond, c.actor())
	if err != nil {
		return c.refused(err)
	}
	return c.show(200, v)
}
