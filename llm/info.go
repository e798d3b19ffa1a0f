package llm

import (
	"context"
	"strings"
)

// ModelInfo is what is known about a model. Zero fields are not known.
type ModelInfo struct {
	ID              string   // the provider's name for it
	ContextWindow   int      // tokens of a request and its answer
	MaxOutputTokens int      // of an answer
	Input, Output   []string // what it takes and gives, of text, image, audio, video and pdf
	KnowledgeCutoff string   // YYYY-MM or YYYY-MM-DD
}

// Lister is a model whose provider says which models it has.
type Lister interface {
	ListModels(ctx context.Context) ([]ModelInfo, error)
}

// FindModel returns what a list says about a model. Case does not count, nor a "models/"
// before the name or a ":latest" after it.
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
