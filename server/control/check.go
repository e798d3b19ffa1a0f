package control

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// checks has the handlers that report problems of the configuration and save nothing.
type checks struct {
	control *config.Manager
}

func (h *checks) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "POST", Path: "/v1/config/{namespace}/validate", Needs: permit.ReadConfig, Handle: writable(h.validate),
			Summary: "Validate a document without saving it", Query: []protocol.Param{server.Param("id", "string", "id of the document, if the body has none")}, Body: server.RawDocument{},
			Replies: map[int]any{200: validated{}}},
		{Method: "GET", Path: "/v1/config/diagnostics", Needs: permit.ReadConfig, Handle: server.Handle(h.diagnostics),
			Summary: "List problems of the live configuration", Replies: map[int]any{200: diagnosticList{}}},
		{Method: "GET", Path: "/v1/config/providers/{id}/removal-preview", Needs: permit.ReadConfig, Handle: server.Handle(h.previewRemoval),
			Summary: "Preview the deletion of a provider", Replies: map[int]any{200: providerRemoval{}}},
		{Method: "GET", Path: "/v1/config/{namespace}/{id}/removal-preview", Needs: permit.ReadConfig, Handle: inNamespace(h.previewAnyRemoval),
			Summary: "Preview the deletion of a document", Replies: map[int]any{200: config.Removal{}}},
	}
}

type validated struct {
	OK          bool               `json:"ok"`
	Normalized  server.RawDocument `json:"normalized"`
	Diagnostics []trouble          `json:"diagnostics"`
	// Problems are the diagnostics by field.
	Problems []config.Problem `json:"problems"`
}

func (h *checks) validate(req *server.Request, key config.Key) error {
	var doc server.RawDocument
	if err := req.Decode(&doc); err != nil {
		return err
	}
	var body struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(doc, &body) // Validate reports any mistake
	key.ID = cmp.Or(req.Value("id"), body.ID)
	out, err := h.control.Validate(req.Context(), key, json.RawMessage(doc))
	if err != nil {
		return err
	}
	return req.Reply(200, validated{true, server.RawDocument(out.Normalized), troubles(out.Diagnostics), append([]config.Problem{}, out.Problems...)})
}

type diagnosticList struct {
	Diagnostics []trouble `json:"diagnostics"`
}

// trouble is an [awaken.Diagnostic] in the form that clients get.
type trouble struct {
	Code      string      `json:"code"`
	Severity  string      `json:"severity"`
	Resource  config.Key  `json:"resource"`
	DependsOn *config.Key `json:"depends_on,omitempty"`
	Message   string      `json:"message"`
}

func (h *checks) diagnostics(req *server.Request) error {
	return req.Reply(200, diagnosticList{troubles(h.control.Diagnostics())})
}

// troubles returns diagnostics in the form that clients get.
func troubles(list []awaken.Diagnostic) []trouble {
	out := make([]trouble, len(list))
	for i, d := range list {
		out[i] = trouble{Code: d.Code, Severity: string(d.Severity), Resource: config.Key{Namespace: config.Namespace(d.Namespace), ID: d.ID}, Message: d.Message}
		if ns, id, ok := strings.Cut(d.DependsOn, "/"); ok {
			out[i].DependsOn = &config.Key{Namespace: config.Namespace(ns), ID: id}
		}
	}
	return out
}

// providerRemoval is the preview of a provider's deletion, with what the original says of it.
type providerRemoval struct {
	config.RemovalPreview
	config.Removal
}

func (h *checks) previewRemoval(req *server.Request) error {
	out, err := h.control.RemovalPreview(req.Context(), req.Path("id"))
	if err != nil {
		return err
	}
	all, err := h.control.Removal(req.Context(), config.Key{Namespace: config.Providers, ID: req.Path("id")})
	if err != nil {
		return err
	}
	return req.Reply(200, providerRemoval{*out, *all})
}

func (h *checks) previewAnyRemoval(req *server.Request, key config.Key) error {
	return req.OK(h.control.Removal(req.Context(), key))
}
