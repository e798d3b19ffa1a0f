package openai

import (
	"net/http"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
)

// model describes an agent.
type model struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"` // always 0: agents are not dated
	OwnedBy     string `json:"owned_by"`
	Description string `json:"description,omitempty"`
}

type modelList struct {
	Object string  `json:"object"`
	Data   []model `json:"data"`
}

func newModel(a *awaken.AgentSpec) model {
	return model{ID: a.ID, Object: "model", OwnedBy: "awaken", Description: a.Description}
}

func listModels(c protocol.Call) error {
	out := modelList{Object: "list", Data: []model{}}
	for _, a := range c.Agents() {
		out.Data = append(out.Data, newModel(a))
	}
	return c.Reply(http.StatusOK, out)
}

func getModel(c protocol.Call) error {
	a, err := agentOf(c, c.Request().PathValue("model"))
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, newModel(a))
}

// listed is how many agents the error of an unknown model names.
const listed = 20

// agentOf returns the agent that a client names as the model.
func agentOf(c protocol.Call, name string) (*awaken.AgentSpec, error) {
	if name == "" {
		f := protocol.InvalidBody("model is missing, want the id of an agent")
		f.Param, f.Code = "model", "missing_required_parameter"
		return nil, f
	}
	all := c.Agents()
	if i := slices.IndexFunc(all, func(a *awaken.AgentSpec) bool { return a.ID == name }); i >= 0 {
		return all[i], nil
	}
	var names []string
	for _, a := range all {
		names = append(names, a.ID)
	}
	if len(names) > listed {
		names = append(names[:listed], "…")
	}
	f := protocol.NotFound("model", name)
	f.Param, f.Code = "model", "model_not_found"
	f.Message = "model " + quoted(name) + " not found; available: " + strings.Join(names, ", ")
	return nil, f
}
