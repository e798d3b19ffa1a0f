package control

import (
	"cmp"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// versions has the handlers of published versions and of drafts.
type versions struct {
	control *config.Manager
}

func (h *versions) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/registry/versions", Needs: permit.ReadConfig, Handle: server.Handle(h.list),
			Summary: "List published versions, newest first", Query: []protocol.Param{server.Param("before", "integer", "only versions before this one"), server.ConfigPage[1]},
			Replies: map[int]any{200: versionList{}}},
		{Method: "GET", Path: "/v1/registry/versions/{version}", Needs: permit.ReadConfig, Handle: server.Handle(h.get),
			Summary: "Get a published version with its documents, and the runs that have it", Replies: map[int]any{200: versionView{}}},
		{Method: "GET", Path: "/v1/registry/versions/{version}/{namespace}/{id}", Needs: permit.ReadConfig, Handle: inNamespace(h.document),
			Summary: "Get a document of a published version, without its secrets", Replies: map[int]any{200: server.RawDocument{}}},
		{Method: "GET", Path: "/v1/registry/diff", Needs: permit.ReadConfig, Handle: server.Handle(h.diff),
			Summary: "Compare the documents of two versions: numbers, live, or the drafts",
			Query: []protocol.Param{server.Param("from", "string", "number of a version, live or draft; default live"), server.Param("to", "string", "the same; default draft"),
				documentPage[0], server.ConfigPage[1]},
			Replies: map[int]any{200: versionDiff{}}, Failures: []int{404}},
		{Method: "POST", Path: "/v1/registry/versions/{version}/rollback", Needs: permit.PublishConfig, Handle: server.Handle(h.rollback),
			Summary: "Roll back to an earlier version", Headers: server.MatchHeaders[2:3], Replies: map[int]any{200: config.Publication{}}, Failures: []int{400, 409}},
		{Method: "GET", Path: "/v1/registry/drafts", Needs: permit.ReadConfig, Handle: server.Handle(h.drafts),
			Summary: "List drafts by namespace and id", Query: []protocol.Param{documentPage[0], server.ConfigPage[1]}, Replies: map[int]any{200: draftList{}}},
		{Method: "DELETE", Path: "/v1/registry/drafts/{namespace}/{id}", Needs: permit.WriteConfig, Handle: inNamespace(h.discard),
			Summary: "Discard a draft", Headers: server.MatchHeaders[:3], Replies: map[int]any{204: nil}, Failures: []int{400, 409, 412}},
		{Method: "GET", Path: "/v1/registry/gates", Needs: permit.ReadConfig, Handle: server.Handle(h.gates),
			Summary: "List the states of the agents' evaluation gates for a version", Query: []protocol.Param{server.Param("version", "string", "number of a version, or draft for the live version with all drafts; default draft")},
			Replies: map[int]any{200: gateList{}}, Failures: []int{404}},
		{Method: "POST", Path: "/v1/registry/publish", Needs: permit.PublishConfig, Handle: server.HandleBody(h.publish),
			Summary: "Publish drafts, for all threads or as a canary", Headers: server.MatchHeaders[2:], Body: publishBody{},
			Replies: map[int]any{200: config.Publication{}}, Failures: []int{404, 409}},
	}
}

type versionList struct {
	Live       int64         `json:"live"`
	Items      []versionView `json:"items"`
	NextBefore int64         `json:"next_before,omitempty"` // the parameter before of the next page
}

func (h *versions) list(req *server.Request) error {
	before, limit := req.Number("before", 0, 0, 1<<53), req.Number("limit", 100, 1, 1000)
	head, err := h.control.Versions().Head(req.Context())
	if err != nil {
		return err
	}
	list, err := h.control.Versions().List(req.Context(), int64(before), limit)
	if err != nil {
		return err
	}
	runs, err := h.open(req)
	if err != nil {
		return err
	}
	out := versionList{Live: head.Live, Items: make([]versionView, len(list))}
	for i, p := range list {
		out.Items[i] = versionView{*p, runs[p.Number]}
	}
	if len(list) == limit {
		out.NextBefore = list[limit-1].Number
	}
	return req.Reply(200, out)
}

func (h *versions) get(req *server.Request) error {
	n, err := server.VersionOf(req.Path("version"))
	if err != nil {
		return err
	}
	pub, err := h.control.Versions().Get(req.Context(), n)
	if err != nil {
		return err
	}
	runs, err := h.open(req)
	if err != nil {
		return err
	}
	return req.Reply(200, versionView{*pub, runs[n]})
}

// versionView is a version with the number of its runs.
type versionView struct {
	config.Publication
	// OpenRuns is how many unfinished runs of all tenants are pinned to the version: GET /v1/runs?version= lists them.
	OpenRuns int `json:"open_runs"`
}

// open returns how many unfinished runs are pinned to each version.
func (h *versions) open(req *server.Request) (map[int64]int, error) {
	pins, err := h.control.Versions().Pins(req.Context())
	out := map[int64]int{}
	for _, p := range pins {
		out[p.Version] += p.Runs
	}
	return out, err
}

func (h *versions) document(req *server.Request, key config.Key) error {
	n, err := server.VersionOf(req.Path("version"))
	if err != nil {
		return err
	}
	doc, err := h.control.Versions().Document(req.Context(), n, key)
	return req.OK(doc, err)
}

type versionDiff struct {
	From  string                `json:"from"`
	To    string                `json:"to"`
	Items []config.DocumentDiff `json:"items"`
	// NextCursor is the cursor of the next page, if there is one.
	NextCursor string `json:"next_cursor,omitempty"`
}

func (h *versions) diff(req *server.Request) error {
	out := versionDiff{From: cmp.Or(req.Value("from"), config.LiveSide), To: cmp.Or(req.Value("to"), config.DraftSide), Items: []config.DocumentDiff{}}
	prefix := "diff:" + out.From + ":" + out.To + ":"
	var after config.Key
	if s := req.Value("cursor"); s != "" {
		if err := server.ParseCursor(prefix, s, &after); err != nil {
			return err
		}
	}
	list, more, err := h.control.Versions().Diff(req.Context(), out.From, out.To, after, req.Number("limit", 100, 1, 1000))
	if err != nil {
		return err
	}
	if out.Items = append(out.Items, list...); more {
		out.NextCursor = server.CursorText(prefix, list[len(list)-1].Key)
	}
	return req.Reply(200, out)
}

func (h *versions) rollback(req *server.Request) error {
	n, err := server.VersionOf(req.Path("version"))
	if err != nil {
		return err
	}
	return req.OK(h.control.Versions().Rollback(req.Context(), n, server.ActorOf(req)))
}

type draftList struct {
	Items []draft `json:"items"`
	// NextCursor is the cursor of the next page, if there is one.
	NextCursor string `json:"next_cursor,omitempty"`
}

type draft struct {
	config.Key
	Spec server.RawDocument `json:"spec"`
	Meta documentMeta       `json:"meta"`
}

func (h *versions) drafts(req *server.Request) error {
	var after config.Key
	if s := req.Value("cursor"); s != "" {
		if err := server.ParseCursor("drafts:", s, &after); err != nil {
			return err
		}
	}
	limit := req.Number("limit", 100, 1, 1000)
	out := draftList{Items: []draft{}}
	for v, err := range h.control.Drafts().After(req.Context(), after) {
		if err != nil {
			return err
		}
		if n := len(out.Items); n == limit {
			out.NextCursor = server.CursorText("drafts:", out.Items[n-1].Key)
			break
		}
		out.Items = append(out.Items, draft{v.Key, server.RawDocument(v.Spec), metaOf(v)})
	}
	return req.Reply(200, out)
}

func (h *versions) discard(req *server.Request, key config.Key) error {
	cond, err := conditionOf(req)
	if err != nil {
		return err
	}
	return req.Done(h.control.Drafts().Discard(req.Context(), key, cond, server.ActorOf(req)))
}

type publishBody struct {
	Records []config.Key `json:"records,omitempty"` // empty means every draft
	Canary  *canaryBody  `json:"canary,omitempty"`
	Note    string       `json:"note,omitempty"`
}

func (h *versions) publish(req *server.Request, body *publishBody) error {
	canary, err := body.Canary.canary()
	if err != nil {
		return err
	}
	by, err := publisherOf(req)
	if err != nil {
		return err
	}
	return req.OK(h.control.Drafts().Publish(req.Context(), body.Records, canary, body.Note, by))
}

type gateList struct {
	Version string `json:"version"`
	Passed  bool   `json:"passed"` // the version may be published
	// Items are the agents of the version that have a gate.
	Items []config.GateVerdict `json:"items"`
}

func (h *versions) gates(req *server.Request) error {
	out := gateList{Version: cmp.Or(req.Value("version"), config.DraftSide), Passed: true, Items: []config.GateVerdict{}}
	list, err := h.control.Gates(req.Context(), out.Version)
	if err != nil {
		return err
	}
	out.Items = append(out.Items, list...)
	for _, v := range list {
		out.Passed = out.Passed && v.Passed
	}
	return req.Reply(200, out)
}
