package ollama

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// ListModels returns the server's models with the sizes of their context windows, which are those
// they are loaded with if [Config.ContextTokens] is set.
func (m *Model) ListModels(ctx context.Context) ([]llm.ModelInfo, error) {
	var list struct {
		Models []struct {
			Model string `json:"model"`
			Name  string `json:"name"`
		} `json:"models"`
	}
	if err := m.api.Fetch(ctx, http.MethodGet, "api/tags", nil, &list); err != nil {
		return nil, err
	}
	out := make([]llm.ModelInfo, 0, len(list.Models))
	for _, one := range list.Models {
		id := one.Model
		if id == "" {
			id = one.Name
		}
		info, err := m.show(ctx, id)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	m.api.Note(out)
	return out, nil
}

// show returns the details of one model.
func (m *Model) show(ctx context.Context, model string) (llm.ModelInfo, error) {
	var about struct {
		Info         map[string]any `json:"model_info"`
		Capabilities []string       `json:"capabilities"`
	}
	info := llm.ModelInfo{ID: model}
	if err := m.api.Fetch(ctx, http.MethodPost, "api/show", map[string]string{"model": model}, &about); err != nil {
		return info, err
	}
	for name, value := range about.Info { // the key starts with the architecture
		if n, ok := value.(float64); ok && strings.HasSuffix(name, ".context_length") && n > 0 {
			info.ContextWindow = int(n)
		}
	}
	if n := m.config.ContextTokens; n > 0 && (info.ContextWindow == 0 || n < info.ContextWindow) {
		info.ContextWindow = n
	}
	if len(about.Capabilities) > 0 {
		info.Input, info.Output = []string{"text"}, []string{"text"}
		if slices.Contains(about.Capabilities, "vision") {
			info.Input = append(info.Input, "image")
		}
		if !slices.Contains(about.Capabilities, "thinking") {
			info.Capabilities.Reasoning = llm.NoReasoning
		}
	}
	return info, nil
}
