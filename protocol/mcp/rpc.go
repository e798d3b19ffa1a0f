package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/protocol"
)

// message is a message of JSON-RPC: a request, a notification without an id, or a response without a method.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"` // a string or a number
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
	batch   bool
}

// UnmarshalJSON ignores unknown fields. A batch is not decoded.
func (m *message) UnmarshalJSON(data []byte) error {
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '[' {
		m.batch = true
		return nil
	}
	type plain message
	return strict.UnmarshalKnown(data, (*plain)(m))
}

// response is a response of JSON-RPC.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// validID reports whether a value can be the id of a request or a progress token.
func validID(id json.RawMessage) bool {
	if len(id) == 0 || len(id) > protocol.MaxID || !json.Valid(id) {
		return false
	}
	return id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9'
}

// check returns the id of a request, or nil, and an error if the message is none of JSON-RPC.
func (m *message) check() (json.RawMessage, error) {
	id := bytes.TrimSpace(m.ID)
	switch {
	case m.batch:
		return nil, failure(http.StatusBadRequest, invalidRequest, "the body is a batch, want one message")
	case m.Version != "2.0":
		return nil, failure(http.StatusBadRequest, invalidRequest, "jsonrpc is %.80q, want 2.0", m.Version)
	case m.Method == "" && len(m.Result) == 0 && len(m.Error) == 0:
		return nil, failure(http.StatusBadRequest, invalidRequest, "method is missing")
	case len(id) == 0 && m.Method != "": // a notification
		return nil, nil
	case !validID(id):
		return nil, failure(http.StatusBadRequest, invalidRequest, "id is %.80q, want a string or a number", id)
	}
	return id, nil
}

// params decodes the parameters of a request, which may be missing.
func (m *message) params(v json.Unmarshaler) error {
	raw := bytes.TrimSpace(m.Params)
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if raw[0] != '{' {
		return invalid("params is %.80q, want an object", raw)
	}
	if err := v.UnmarshalJSON(raw); err != nil {
		return invalid("params: %v", err)
	}
	return nil
}

// meta is what a request says about itself and, in the newer era, about its client.
type meta struct {
	ProgressToken json.RawMessage  `json:"progressToken,omitempty"`
	Version       *string          `json:"io.modelcontextprotocol/protocolVersion,omitempty"`
	Capabilities  *json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities,omitempty"`
	LogLevel      string           `json:"io.modelcontextprotocol/logLevel,omitempty"`
	// Where in a trace the request belongs, in the words of the W3C.
	TraceParent string `json:"traceparent,omitempty"`
	TraceState  string `json:"tracestate,omitempty"`
}

// trace returns where in a trace the request belongs.
func (m *meta) trace() tracecontext.Context { return tracecontext.Parse(m.TraceParent, m.TraceState) }

type withMeta struct {
	Meta *meta `json:"_meta,omitempty"`
}

// UnmarshalJSON ignores unknown fields.
func (w *withMeta) UnmarshalJSON(data []byte) error {
	type plain withMeta
	return strict.UnmarshalKnown(data, (*plain)(w))
}

// capabilities are the client capabilities that the server uses.
type capabilities struct {
	Elicitation *struct {
		Form *json.RawMessage `json:"form,omitempty"`
		URL  *json.RawMessage `json:"url,omitempty"`
	} `json:"elicitation,omitempty"`
}

// UnmarshalJSON ignores unknown fields.
func (c *capabilities) UnmarshalJSON(data []byte) error {
	type plain capabilities
	return strict.UnmarshalKnown(data, (*plain)(c))
}

// elicits reports whether the client can be asked by a form. An empty capability means forms.
func (c *capabilities) elicits() bool {
	return c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// Revisions of the protocol.
const (
	modern = "2026-07-28" // the first without sessions
	legacy = "2025-11-25" // the last with sessions
	oldest = "2025-03-26" // the first over streamable HTTP
)

var revisions = []string{modern, legacy, "2025-06-18", oldest}

// enter finds out to which era a message belongs and what its client can do.
func (x *exchange) enter(m *message) error {
	header := strings.TrimSpace(x.Request().Header.Get("MCP-Protocol-Version"))
	var p withMeta
	if len(bytes.TrimSpace(m.Params)) > 0 {
		if err := m.params(&p); err != nil {
			return err
		}
	}
	if p.Meta == nil {
		p.Meta = &meta{}
	}
	x.meta = *p.Meta
	if token := bytes.TrimSpace(x.meta.ProgressToken); len(token) > 0 && !validID(token) {
		return invalid("params._meta.progressToken is %.80q, want a string or a number", token)
	}
	x.level = x.meta.LogLevel
	if x.meta.Version != nil || header >= modern || m.Method == "server/discover" {
		x.modern = true
		return x.enterModern(header, m)
	}
	return x.enterLegacy(header, m)
}

func (x *exchange) enterModern(header string, m *message) error {
	switch v := x.meta.Version; {
	case v == nil && x.id == nil && m.Method != "" && header == modern: // clients put _meta into requests only
		return x.checkHeaders(m)
	case v == nil:
		return failure(http.StatusBadRequest, invalidParams, "params._meta[\"io.modelcontextprotocol/protocolVersion\"] is missing, want %s", modern)
	case header != *v:
		return failure(http.StatusBadRequest, headerMismatch, "the header MCP-Protocol-Version is %.80q, but _meta says %.80q", header, *v)
	case *v != modern:
		f := failure(http.StatusBadRequest, unsupportedVersion, "the protocol version is %.80q, want %s", *v, modern)
		f.Param = *v
		return f
	case x.meta.Capabilities == nil:
		return failure(http.StatusBadRequest, invalidParams, "params._meta[\"io.modelcontextprotocol/clientCapabilities\"] is missing, want an object")
	}
	var can capabilities
	if err := can.UnmarshalJSON(*x.meta.Capabilities); err != nil {
		return failure(http.StatusBadRequest, invalidParams, "params._meta[\"io.modelcontextprotocol/clientCapabilities\"]: %v", err)
	}
	x.elicits = can.elicits()
	if m.Method == "" { // a response, which this era does not have
		return nil
	}
	return x.checkHeaders(m)
}

// named are the parameters that the header Mcp-Name repeats.
var named = map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

// repeated returns the parameter that the header Mcp-Name repeats: "" if the method has none, and nil if it is
// missing. It is read as the method reads it, so that the header names what is called.
func repeated(m *message) (field string, value *string) {
	var name struct {
		Value *string `json:"name"`
	}
	var uri struct {
		Value *string `json:"uri"`
	}
	switch field = named[m.Method]; {
	case field == "name" && json.Unmarshal(m.Params, &name) == nil:
		return field, name.Value
	case field == "uri" && json.Unmarshal(m.Params, &uri) == nil:
		return field, uri.Value
	}
	return field, nil
}

// checkHeaders compares the headers that repeat parts of a message.
func (x *exchange) checkHeaders(m *message) error {
	h := x.Request().Header
	if got := h.Get("Mcp-Method"); got != m.Method {
		return failure(http.StatusBadRequest, headerMismatch, "the header Mcp-Method is %.80q, but the method is %.80q", got, m.Method)
	}
	field, want := repeated(m)
	if field == "" || want == nil {
		return nil // the method says what is wrong
	}
	if got := headerText(h.Get("Mcp-Name")); got != *want {
		return failure(http.StatusBadRequest, headerMismatch, "the header Mcp-Name is %.80q, but params.%s is %.80q", got, field, *want)
	}
	return nil
}

func (x *exchange) enterLegacy(header string, m *message) error {
	if header != "" && !slices.Contains(revisions, header) && m.Method != "initialize" {
		return failure(http.StatusBadRequest, invalidRequest, "the header MCP-Protocol-Version is %.80q, want one of %s", header, strings.Join(revisions, ", "))
	}
	x.revision = header
	if x.revision == "" {
		x.revision = oldest
	}
	token := x.Request().Header.Get("Mcp-Session-Id")
	if token == "" || m.Method == "initialize" {
		return nil
	}
	if !x.cfg.signer.open("session", token, &x.session) {
		return failure(http.StatusNotFound, noSession, "session not found: initialize another")
	}
	if x.session.expired() {
		return failure(http.StatusNotFound, noSession, "the session is over after %d days: initialize another", sessionAge/(24*time.Hour))
	}
	x.elicits, x.revision = x.session.Elicits, x.session.Version
	return nil
}
