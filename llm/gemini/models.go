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
	thinks := map[string]bool{}
	for path := m.address.path + "models"; ; {
		var page struct {
			Models []struct {
				Name             string `json:"name"`
				InputTokenLimit  int    `json:"inputTokenLimit"`
				OutputTokenLimit int    `json:"outputTokenLimit"`
				Thinking         bool   `json:"thinking"`
			} `json:"models"`
			NextPageToken string `json:"nextPageToken"`
		}
		if err := m.api.Fetch(ctx, http.MethodGet, path, nil, &page); err != nil {
			return nil, err
		}
		for _, one := range page.Models {
			info := llm.ModelInfo{ID: strings.TrimPrefix(one.Name, "models/"), ContextWindow: one.InputTokenLimit, MaxOutputTokens: one.OutputTokenLimit}
			if one.Thinking {
				thinks[info.ID] = true
			}
			out = append(out, info)
		}
		if page.NextPageToken == "" {
			break
		}
		path = m.address.path + "models?pageToken=" + url.QueryEscape(page.NextPageToken)
	}
	if len(thinks) > 0 { // otherwise the list does not say, because it omits what is false
		for i := range out {
			if !thinks[out[i].ID] {
				out[i].Capabilities.Reasoning = llm.NoReasoning
			}
		}
	}
	m.api.Note(out)
	return out, nil
}
