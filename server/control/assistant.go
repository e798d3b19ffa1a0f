package control

import (
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/assistant"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// assistants has the handlers of the admin assistant's settings.
type assistants struct {
	control *config.Manager
}

func (h *assistants) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/admin/assistant/config", Needs: permit.ReadConfig, Handle: server.Handle(h.get),
			Summary: "Get the settings of the admin assistant", Replies: map[int]any{200: assistantConfig{}}},
		{Method: "PUT", Path: "/v1/admin/assistant/config", Needs: permit.WriteConfig, Handle: server.HandleBody(h.put),
			Summary: "Update the settings of the admin assistant", Body: assistantConfig{}, Replies: map[int]any{200: assistantConfig{}}, Failures: []int{409}},
	}
}

// assistantConfig is the part of the admin assistant that operators can set.
type assistantConfig struct {
	ID           string `json:"id,omitempty"` // always "default"
	PolicyPrompt string `json:"policy_prompt"`
	ModelID      string `json:"model_id,omitempty"`
	Revision     int64  `json:"revision"`
}

func (h *assistants) get(req *server.Request) error {
	s, err := h.control.Assistant().Settings(req.Context())
	return replyAssistant(req, s, err)
}

func (h *assistants) put(req *server.Request, body *assistantConfig) error {
	if body.ID != "" && body.ID != "default" {
		return protocol.BadRequest("id is %q, want default", body.ID)
	}
	if n := len(body.PolicyPrompt); n > assistant.MaxPolicy {
		return protocol.BadRequest("policy_prompt has %d bytes, want at most %d", n, assistant.MaxPolicy)
	}
	s, err := h.control.Assistant().Set(req.Context(), config.AssistantSettings{PolicyPrompt: body.PolicyPrompt, ModelID: body.ModelID, Revision: body.Revision}, server.ActorOf(req))
	return replyAssistant(req, s, err)
}

func replyAssistant(req *server.Request, s *config.AssistantSettings, err error) error {
	if err != nil {
		return err
	}
	return req.Reply(200, assistantConfig{"default", s.PolicyPrompt, s.ModelID, s.Revision})
}
