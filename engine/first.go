package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// NewAgent returns a runtime with one agent, whose answers come from a model of a provider. The
// agent's id is "default", unless it has another. For anything more, use [New].
//
//	rt, err := engine.NewAgent(provider, "gpt-5.5", awaken.AgentSpec{SystemPrompt: "You are terse."}, weather)
//	answer, err := rt.Text(ctx, "How warm is it in Paris?")
func NewAgent(provider llm.Model, upstreamModel string, agent awaken.AgentSpec, tools ...awaken.Tool) (*Runtime, error) {
	if agent.ID == "" {
		agent.ID = DefaultAgentID
	}
	agent.ModelID = "model"
	return New(Config{Agents: []*awaken.AgentSpec{&agent}, Models: []awaken.ModelSpec{{ID: "model", ProviderID: "provider", UpstreamModel: upstreamModel}},
		Providers: map[string]llm.Model{"provider": provider}, Tools: tools})
}

// Text asks the default agent on a new thread and returns the text of its answer. It fails if the
// run ends in another way than with an answer, or waits for a decision.
func (rt *Runtime) Text(ctx context.Context, prompt string) (string, error) {
	res, err := rt.Run(ctx, awaken.RunRequest{AgentID: DefaultAgentID, Messages: []*llm.Message{llm.UserText(prompt)}}, nil)
	switch {
	case err != nil:
		return "", err
	case res.Waiting != nil:
		return "", fmt.Errorf("run %s waits: %s", res.RunID, res.Waiting.Reason)
	case res.Termination.Type != awaken.NaturalEnd && res.Termination.Type != awaken.BehaviorRequested:
		return "", errors.New("run " + res.RunID + " ended without an answer: " + res.Termination.String())
	}
	return res.Response, nil
}
