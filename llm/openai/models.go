package openai

import (
	"context"

	"github.com/awaken-go/awaken/llm"
)

var _ llm.Lister = (*Model)(nil)

// ListModels asks the server which models it has. Many say nothing but their names.
func (m *Model) ListModels(ctx context.Context) ([]llm.ModelInfo, error) {
	return m.api.Models(ctx, "models")
}
