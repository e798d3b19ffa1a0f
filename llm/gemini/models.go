package gemini

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

var _ llm.Lister = (*Model)(nil)

// ListModels returns the models of the Gemini API. For Vertex AI, which does not list them, it
// returns nil.
func (m *Model) ListModels(ctx context.Context) (out []llm.ModelInfo, err error) {
	if m.address.vertex {
		return nil, nil
	}
	for path := m.address.path + "models"; ; {
		var page struct {
			Models []struct {
				Name             string `json:"name"`
				InputTokenLimit  int    `json:"inputTokenLimit"`
				OutputTokenLimit int    `json:"outputTokenLimit"`
			} `json:"models"`
			NextPageToken string `json:"nextPageToken"`
		}
		if err := m.api.Fetch(ctx, http.MethodGet, path, nil, &page); err != nil {
			return nil, err
		}
		for _, one := range page.Models {
			out = append(out, llm.ModelInfo{ID: strings.TrimPrefix(one.Name, "models/"), ContextWindow: one.InputTokenLimit, MaxOutputTokens: one.OutputTokenLimit})
		}
		if page.NextPageToken == "" {
			return out, nil
		}
		path = m.address.path + "models?pageToken=" + url.QueryEscape(page.NextPageToken)
	}
}
