package llm

import (
	"context"
	"strings"
)

// ModelInfo describes a model. Zero fields are unknown.
type ModelInfo struct {
	ID              string   // the provider's name for the model
	ContextWindow   int      // tokens of a request and its reply together
	MaxOutputTokens int      // of a reply
	Input, Output   []string // modalities it accepts and produces: text, image, audio, video, pdf
	KnowledgeCutoff string   // YYYY-MM or YYYY-MM-DD
	Capabilities    ModelCapabilities
	Price           *ListPrice // nil if unknown
}

// ListPrice is a provider's list price of a model, in US dollars per million tokens. A nil price is the one of
// input.
type ListPrice struct {
	Input, Output         float64
	CacheRead, CacheWrite *float64
}

// Lister is implemented by models whose provider lists the models it serves.
type Lister interface {
	// ListModels returns the provider's models, or nil if it does not list them.
	ListModels(ctx context.Context) ([]ModelInfo, error)
}

// FindModel returns the entry of a list for a model. It ignores case, a "models/" prefix
// and a ":latest" suffix.
func FindModel(list []ModelInfo, model string) (ModelInfo, bool) {
	name := func(s string) string {
		return strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(s), "models/"), ":latest")
	}
	for _, info := range list {
		if name(info.ID) == name(model) {
			return info, true
		}
	}
	return ModelInfo{}, false
}
