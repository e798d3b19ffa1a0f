package runs

import (
	"slices"
	"strings"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/plugin/memory"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/state/profile"
)

// remembered has the handlers of what plugins keep in the profile of a tenant: approvals, of agents and users, and
// memories, of users.
type remembered struct {
	audit *config.Manager // nil keeps no audit log
}

func (h *remembered) routes() []protocol.Route {
	const approvals, memories = "/v1/remembered-approvals", "/v1/memories"
	user := server.Param("user_id", "string", "the user that they belong to")
	owner := []protocol.Param{server.Param("agent_id", "string", "the agent that they belong to, for all its users"), user}
	page := []protocol.Param{server.Param("cursor", "string", "next_cursor of the previous page"), server.ConfigPage[1]}
	return []protocol.Route{
		{Method: "GET", Path: approvals, Needs: permit.ReadMemories, Handle: server.Handle(h.listApprovals), Query: append(owner, page...),
			Summary: "List the remembered approvals of an agent or a user", Replies: map[int]any{200: rememberedList{}}},
		{Method: "DELETE", Path: approvals, Needs: permit.WriteMemories, Handle: server.Handle(h.forgetApprovals), Query: owner, Headers: server.MatchHeaders[2:],
			Summary: "Delete all remembered approvals of an agent or a user", Replies: map[int]any{204: nil}},
		{Method: "DELETE", Path: approvals + "/{id}", Needs: permit.WriteMemories, Handle: server.Handle(h.forgetApprovals), Query: owner, Headers: server.MatchHeaders[2:],
			Summary: "Delete a remembered approval", Replies: map[int]any{204: nil}},
		{Method: "GET", Path: memories, Needs: permit.ReadMemories, Handle: server.Handle(h.listMemories), Query: append([]protocol.Param{user}, page...),
			Summary: "List the memories about a user, by id", Replies: map[int]any{200: memoryList{}}},
		{Method: "DELETE", Path: memories, Needs: permit.WriteMemories, Handle: server.Handle(h.forgetMemories), Query: []protocol.Param{user}, Headers: server.MatchHeaders[2:],
			Summary: "Delete all memories about a user", Replies: map[int]any{204: nil}},
		{Method: "DELETE", Path: memories + "/{id}", Needs: permit.WriteMemories, Handle: server.Handle(h.forgetMemories), Query: []protocol.Param{user}, Headers: server.MatchHeaders[2:],
			Summary: "Delete a memory about a user", Replies: map[int]any{204: nil}},
	}
}

// ownerOf returns the owner that a request names, as a key of the profile, and its name in the audit log.
func ownerOf(q server.Query, users bool) (of, resource string, err error) {
	agent, user := "", q.Value("user_id")
	if !users {
		agent = q.Value("agent_id")
	}
	switch {
	case (agent == "") == (user == "") && users:
		return "", "", protocol.BadRequest("user_id is missing")
	case (agent == "") == (user == ""):
		return "", "", protocol.BadRequest("agent_id is %q and user_id is %q, want one of them", agent, user)
	case agent != "":
		return profile.AgentType(agent), "agents/" + agent, protocol.CheckID("agent_id", agent)
	}
	return profile.User(user), "users/" + user, protocol.CheckID("user_id", user)
}

// record writes to the audit log that something was forgotten.
func (h *remembered) record(req *server.Request, what, resource string) error {
	if h.audit == nil {
		return nil
	}
	if name := req.Tenant().Name(); name != "" {
		resource = "tenants/" + name + "/" + resource
	}
	return h.audit.Audit().Add(req.Context(), "forget", strings.TrimSuffix(what+"/"+resource+"/"+req.Path("id"), "/"), server.ActorOf(req), nil)
}

type rememberedList struct {
	Items []rememberedApproval `json:"items"`
	// NextCursor is the cursor of the next page, if there is one.
	NextCursor string `json:"next_cursor,omitempty"`
}

// rememberedApproval is a remembered approval: calls that match Tool are allowed without a question.
type rememberedApproval struct {
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Scope     string `json:"scope"`
	When      string `json:"when,omitempty"`
	UpdatedAt int64  `json:"updated_at"` // Unix ms
}

func (h *remembered) listApprovals(req *server.Request) error {
	of, _, err := ownerOf(req.Query, false)
	if err != nil {
		return err
	}
	values, err := server.ProfileOf(req)
	if err != nil {
		return err
	}
	list, err := permission.Approvals(req.Context(), values, of)
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b permission.Approval) int { return strings.Compare(a.ID, b.ID) })
	out := rememberedList{Items: []rememberedApproval{}}
	out.NextCursor, err = pageOf(req, of, list, func(a permission.Approval) string { return a.ID }, func(a permission.Approval) {
		out.Items = append(out.Items, rememberedApproval{a.ID, a.Tool, string(a.Scope), string(a.When), a.At.UnixMilli()})
	})
	return req.OK(out, err)
}

// pageOf calls add for the page of a sorted list that a request asks for, and returns the cursor of the next one, if any.
func pageOf[T any](req *server.Request, of string, list []T, id func(T) string, add func(T)) (next string, err error) {
	after, limit, n := "", req.Number("limit", 100, 1, 1000), 0
	if s := req.Value("cursor"); s != "" {
		if err := server.ParseCursor(of+":", s, &after); err != nil {
			return "", err
		}
	}
	last := ""
	for _, item := range list {
		if id(item) <= after {
			continue
		}
		if n == limit {
			return server.CursorText(of+":", last), nil
		}
		add(item)
		last, n = id(item), n+1
	}
	return "", nil
}

func (h *remembered) forgetApprovals(req *server.Request) error {
	of, resource, err := ownerOf(req.Query, false)
	if err != nil {
		return err
	}
	values, err := server.ProfileOf(req)
	if err != nil {
		return err
	}
	if err := h.record(req, "remembered-approvals", resource); err != nil {
		return err
	}
	if id := req.Path("id"); id != "" {
		return req.Done(permission.ForgetApproval(req.Context(), values, of, id))
	}
	return req.Done(permission.Forget(req.Context(), values, of))
}

type memoryList struct {
	Items []memoryItem `json:"items"`
	// NextCursor is the cursor of the next page, if there is one.
	NextCursor string `json:"next_cursor,omitempty"`
}

// memoryItem is a memory of a user.
type memoryItem struct {
	ID      string   `json:"id"`
	Text    string   `json:"text"`
	Tags    []string `json:"tags"`
	AgentID string   `json:"agent_id"` // the agent that saved it
	SavedAt int64    `json:"saved_at"` // Unix ms
}

func (h *remembered) listMemories(req *server.Request) error {
	of, _, err := ownerOf(req.Query, true)
	if err != nil {
		return err
	}
	values, err := server.ProfileOf(req)
	if err != nil {
		return err
	}
	list, err := memory.Export(req.Context(), values, req.Value("user_id"))
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b memory.Memory) int { return strings.Compare(a.ID, b.ID) })
	out := memoryList{Items: []memoryItem{}}
	out.NextCursor, err = pageOf(req, of, list, func(m memory.Memory) string { return m.ID }, func(m memory.Memory) {
		out.Items = append(out.Items, memoryItem{m.ID, m.Text, append([]string{}, m.Tags...), m.Agent, m.SavedAt.UnixMilli()})
	})
	return req.OK(out, err)
}

func (h *remembered) forgetMemories(req *server.Request) error {
	_, resource, err := ownerOf(req.Query, true)
	if err != nil {
		return err
	}
	values, err := server.ProfileOf(req)
	if err != nil {
		return err
	}
	if err := h.record(req, "memories", resource); err != nil {
		return err
	}
	if id := req.Path("id"); id != "" {
		return req.Done(memory.Forget(req.Context(), values, req.Value("user_id"), id))
	}
	return req.Done(memory.Erase(req.Context(), values, req.Value("user_id")))
}
