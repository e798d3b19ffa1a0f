package anthropic

import (
	"context"

	"github.com/awaken-go/awaken/llm"
)

var _ llm.Lister = (*Model)(nil)

// ListModels asks which models there are.
func (m *Model) ListModels(ctx context.Context) ([]llm.ModelInfo, error) {
	return m.api.Models(ctx, "v1/models?limit=1000")
}
