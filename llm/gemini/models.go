package gemini

import (
	"context"
	"strings"

	"google.golang.org/genai"

	"github.com/awaken-go/awaken/llm"
)

// ListModels asks which models there are. Vertex AI does not say.
func (m *Model) ListModels(ctx context.Context) ([]llm.ModelInfo, error) {
	if m.sdk.ClientConfig().Backend == genai.BackendVertexAI {
		return nil, nil
	}
	var out []llm.ModelInfo
	for one, err := range m.sdk.Models.All(ctx) {
		if err != nil {
			return nil, m.client.Failure(err)
		}
		out = append(out, llm.ModelInfo{ID: strings.TrimPrefix(one.Name, "models/"), ContextWindow: int(one.InputTokenLimit), MaxOutputTokens: int(one.OutputTokenLimit)})
	}
	return out, nil
}

var _ llm.Lister = (*Model)(nil)
