package control

import (
	"encoding/json"
	"slices"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// overrides has the handlers of overrides: changes to documents that are not writable themselves.
type overrides struct {
	control *config.Manager
}

func (h *overrides) routes() []protocol.Route {
	return slices.Concat(
		h.of(config.Agents, "a builtin agent", server.AgentDocument{}, 422),
		h.of(config.Tools, "a tool", server.ToolDocument{}),
		h.of(config.Skills, "a builtin skill", server.SkillDocument{}, 422),
	)
}

// of returns the routes of a namespace, whose documents are of the type of doc. More are statuses of errors that only this namespace has.
func (h *overrides) of(ns config.Namespace, what string, doc any, more ...int) []protocol.Route {
	path := "/v1/config/" + string(ns) + "/{id}/overrides"
	check := func(req *server.Request) error { return h.override(req, ns, true) }
	write := func(req *server.Request) error { return h.override(req, ns, false) }
	clear := func(req *server.Request) error { return h.clear(req, ns) }
	var patch server.PatchDocument
	return []protocol.Route{
		{Method: "POST", Path: path, Needs: permit.ReadConfig, Handle: server.Handle(check),
			Summary: "Validate overrides of " + what + " without saving them", Headers: server.MatchHeaders[:2], Body: patch, Replies: map[int]any{200: doc},
			Failures: append([]int{412}, more...)},
		{Method: "PATCH", Path: path, Needs: permit.WriteConfig, Handle: server.Handle(write),
			Summary: "Override fields of " + what, Headers: server.MatchHeaders, Body: patch, Replies: map[int]any{200: doc},
			Failures: append([]int{409, 412}, more...)},
		{Method: "DELETE", Path: path, Needs: permit.WriteConfig, Handle: server.Handle(clear),
			Summary: "Delete all overrides of " + what, Headers: server.MatchHeaders, Replies: map[int]any{200: doc}, Failures: append([]int{400, 409, 412}, more...)},
		{Method: "DELETE", Path: path + "/{field}", Needs: permit.WriteConfig, Handle: server.Handle(clear),
			Summary: "Delete one override of " + what, Headers: server.MatchHeaders, Replies: map[int]any{200: doc}, Failures: append([]int{400, 409, 412}, more...)},
	}
}

func (h *overrides) override(req *server.Request, ns config.Namespace, dry bool) error {
	cond, err := conditionOf(req)
	if err != nil {
		return err
	}
	var patch server.RawDocument
	if err := req.Decode(&patch); err != nil {
		return err
	}
	by, err := publisherOf(req)
	if err != nil {
		return err
	}
	v, err := h.control.Override(req.Context(), config.Key{Namespace: ns, ID: req.Path("id")}, json.RawMessage(patch), dry, cond, by)
	return show(req, 200, v, err)
}

func (h *overrides) clear(req *server.Request, ns config.Namespace) error {
	cond, err := conditionOf(req)
	if err != nil {
		return err
	}
	by, err := publisherOf(req)
	if err != nil {
		return err
	}
	v, err := h.control.ClearOverrides(req.Context(), config.Key{Namespace: ns, ID: req.Path("id")}, req.Path("field"), cond, by)
	return show(req, 200, v, err)
}
