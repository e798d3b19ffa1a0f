package anthropic

import (
	"context"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// ListModels asks which models there are.
func (m *Model) ListModels(ctx context.Context) ([]llm.ModelInfo, error) {
	var body []byte
	if err := m.sdk.Get(ctx, "v1/models?limit=1000", nil, &body); err != nil {
		return nil, m.client.Failure(err)
	}
	list, err := provider.ReadModels(body)
	if err != nil {
		return nil, m.client.Failure(err)
	}
	return list, nil
}

var _ llm.Lister = (*Model)(nil)
