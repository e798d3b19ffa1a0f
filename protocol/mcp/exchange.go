package mcp

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/protocol"
)

// exchange is one HTTP request.
type exchange struct {
	protocol.Call
	cfg      *Config
	id       json.RawMessage // of the JSON-RPC request
	meta     meta
	modern   bool
	revision string  // in the older era
	session  session // zero without one
	elicits  bool    // the client can be asked
	level    string  // least severe messages of the log that it gets; "" means none

	at  tracecontext.Context // of the message in its trace
	say tracecontext.Message // what is told about it there
}

// post answers a message.
func (x *exchange) post() error {
	var m message
	err := x.checkContent()
	if err == nil {
		err = x.Decode(&m)
	}
	if err == nil || m.batch {
		x.id, err = m.check()
	}
	if err == nil {
		err = x.enter(&m)
	}
	switch {
	case err != nil:
	case m.Method == "":
		err = x.answered(&m)
	case x.id == nil:
		err = x.notified(&m)
	default:
		err = x.call(&m)
	}
	if err == nil {
		return nil
	}
	f := x.Failure(err)
	out := failed(x.id, f)
	if x.modern && f.Code == resourceNotFound {
		out.Error.Code = codes[invalidParams]
	}
	return x.Reply(x.statusOf(f), out)
}

// checkContent refuses bodies that are not JSON.
func (x *exchange) checkContent() error {
	kind, _, _ := strings.Cut(x.Request().Header.Get("Content-Type"), ";")
	if kind = strings.ToLower(strings.TrimSpace(kind)); kind == "" || kind == "application/json" {
		return nil
	}
	return failure(http.StatusUnsupportedMediaType, invalidRequest, "the content type is %.80q, want application/json", kind)
}

// streams reports whether the client takes a stream as the response.
func (x *exchange) streams() bool {
	for _, accept := range x.Request().Header.Values("Accept") {
		if strings.Contains(accept, "text/event-stream") {
			return true
		}
	}
	return false
}

// headerText decodes the value of a header that may be encoded.
func headerText(v string) string {
	inner, ok := strings.CutPrefix(v, "=?base64?")
	if !ok {
		return v
	}
	inner, ok = strings.CutSuffix(inner, "?=")
	data, err := base64.StdEncoding.DecodeString(inner)
	if !ok || err != nil {
		return v
	}
	return string(data)
}

// encodeHeader encodes a text for a header that cannot have all characters.
func encodeHeader(s string) string {
	plain := s == strings.TrimSpace(s) && !strings.HasPrefix(s, "=?base64?") && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// era says in which eras there is a method.
type era int

const (
	always era = iota
	older
	newer
)

// handler answers the requests of a method.
type handler struct {
	in     era
	needs  func(c *Config) bool // whether the server has the method; nil means that it does
	handle func(x *exchange, m *message) error
}

var handlers map[string]handler

func init() {
	prompts := func(c *Config) bool { return c.Prompts != nil }
	handlers = map[string]handler{
		"initialize":               {older, nil, (*exchange).initialize},
		"ping":                     {older, nil, func(x *exchange, _ *message) error { return x.reply(&result{}) }},
		"server/discover":          {newer, nil, func(x *exchange, _ *message) error { return x.discover() }},
		"tools/list":               {always, nil, (*exchange).listTools},
		"tools/call":               {always, nil, (*exchange).callTool},
		"resources/list":           {always, nil, (*exchange).listResources},
		"resources/templates/list": {always, nil, (*exchange).listTemplates},
		"resources/read":           {always, nil, (*exchange).readResource},
		"completion/complete":      {always, nil, (*exchange).complete},
		"prompts/list":             {always, prompts, (*exchange).listPrompts},
		"prompts/get":              {always, prompts, (*exchange).getPrompt},
		"logging/setLevel":         {older, func(c *Config) bool { return c.Levels != nil }, (*exchange).setLevel},
	}
}

// call answers a request.
func (x *exchange) call(m *message) error {
	if h := handlers[m.Method]; h.handle != nil && (h.in == always || h.in == newer && x.modern || h.in == older && !x.modern) && (h.needs == nil || h.needs(x.cfg)) {
		at, end := tracecontext.Serve(x.Context(), x.meta.trace(), m.Method)
		x.at = at
		err := h.handle(x, m)
		if err != nil {
			x.say.Failed = x.Failure(err).Code
		}
		x.say.ID, x.say.Version = strings.Trim(string(x.id), `"`), x.revision
		if x.modern {
			x.say.Version = modern
		}
		end(x.say)
		return err
	}
	return failure(http.StatusNotFound, methodNotFound, "method not found: %.80s", m.Method)
}

// notified takes a notification. Those that the server does not know are ignored, as the protocol says.
func (x *exchange) notified(m *message) error {
	if m.Method == "notifications/cancelled" && !x.modern {
		if err := x.cancelled(m); err != nil {
			return err
		}
	}
	return x.Reply(http.StatusAccepted, nil)
}

// result is what all results have.
type result struct {
	Type  string         `json:"resultType,omitempty"` // of the newer era, as the rest
	TTL   *int           `json:"ttlMs,omitempty"`
	Scope string         `json:"cacheScope,omitempty"`
	Meta  map[string]any `json:"_meta,omitempty"`
}

func (r *result) base() *result { return r }

// anyResult is a result with what all have.
type anyResult interface{ base() *result }

// mark adds what the newer era demands of a result.
func (c *Config) mark(r anyResult, modern bool) anyResult {
	if !modern {
		return r
	}
	b := r.base()
	if b.Type == "" {
		b.Type = "complete"
	}
	if b.Meta == nil {
		b.Meta = map[string]any{}
	}
	b.Meta["io.modelcontextprotocol/serverInfo"] = c.info()
	return r
}

// reply sends a result.
func (x *exchange) reply(r anyResult) error {
	return x.Reply(http.StatusOK, response{Version: "2.0", ID: x.id, Result: x.cfg.mark(r, x.modern)})
}

// cacheable says that a result concerns only this client and must be asked for each time.
func (x *exchange) cacheable(r *result) {
	if x.modern {
		r.TTL, r.Scope = new(0), "private"
	}
}

// implementation names a program.
type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

func (c *Config) info() implementation {
	return implementation{Name: "awaken-mcp", Title: "Awaken", Version: c.Version}
}

// serverCapabilities are the capabilities of this server.
type serverCapabilities struct {
	Tools       struct{}  `json:"tools"`
	Resources   struct{}  `json:"resources"`
	Completions struct{}  `json:"completions"`
	Prompts     *struct{} `json:"prompts,omitempty"`
	Logging     *struct{} `json:"logging,omitempty"`
}

func (x *exchange) capabilities() (c serverCapabilities) {
	if x.cfg.Prompts != nil {
		c.Prompts = &struct{}{}
	}
	if x.cfg.Levels != nil || x.modern { // there a request has its level
		c.Logging = &struct{}{}
	}
	return c
}

const instructions = "Each agent is a tool that takes a message. Pass the thread_id of a result to continue its conversation."

// initialized is the result of initialize.
type initialized struct {
	result
	Version      string             `json:"protocolVersion"`
	Capabilities serverCapabilities `json:"capabilities"`
	Server       implementation     `json:"serverInfo"`
	Instructions string             `json:"instructions"`
}

// initializeParams say what a client can do.
type initializeParams struct {
	Version      string       `json:"protocolVersion"`
	Capabilities capabilities `json:"capabilities"`
}

// UnmarshalJSON ignores unknown fields.
func (p *initializeParams) UnmarshalJSON(data []byte) error {
	type plain initializeParams
	return strict.UnmarshalKnown(data, (*plain)(p))
}

// initialize begins a session.
func (x *exchange) initialize(m *message) error {
	var in initializeParams
	if err := m.params(&in); err != nil {
		return err
	}
	if in.Version == "" {
		return invalid("params.protocolVersion is missing, want a revision such as %s", legacy)
	}
	version := legacy
	if in.Version != modern && slices.Contains(revisions, in.Version) {
		version = in.Version
	}
	x.Header().Set("Mcp-Session-Id", x.cfg.signer.seal("session", newSession(version, in.Capabilities.elicits())))
	return x.reply(&initialized{Version: version, Capabilities: x.capabilities(), Server: x.cfg.info(), Instructions: instructions})
}

// discovered is the result of server/discover.
type discovered struct {
	result
	Versions     []string           `json:"supportedVersions"`
	Capabilities serverCapabilities `json:"capabilities"`
	Instructions string             `json:"instructions"`
}

func (x *exchange) discover() error {
	out := &discovered{Versions: []string{modern}, Capabilities: x.capabilities(), Instructions: instructions}
	x.cacheable(&out.result)
	return x.reply(out)
}

// visible reports whether a run can be one of this protocol: of an exposed agent, and not a child of another run.
func (x *exchange) visible(run *awaken.Run) bool {
	agent := run.AgentID
	if run.FirstAgentID != "" {
		agent = run.FirstAgentID
	}
	of := func(id string) bool { return id == agent || awaken.IsVariant(agent, id) }
	return run.ParentRunID == "" && (len(x.cfg.Agents) == 0 || slices.ContainsFunc(x.cfg.Agents, of) || run.Call != nil && of(x.cfg.ToolAgent))
}
