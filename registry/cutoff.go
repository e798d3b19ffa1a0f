package registry

import "github.com/awaken-go/awaken"

// KnowledgeCutoffSection is the agent's section "knowledge_cutoff_context". It is on unless
// the section turns it off.
var KnowledgeCutoffSection = awaken.NewSection("knowledge_cutoff_context", KnowledgeCutoff{Enabled: true})

// KnowledgeCutoff says whether a model whose spec has a knowledge_cutoff is told today's
// date and where its knowledge ends.
type KnowledgeCutoff struct {
	Enabled bool `json:"enabled" jsonschema:"Tell the model today's date and where its knowledge ends."`
}
