package registry

import "github.com/awaken-go/awaken"

// KnowledgeCutoffSection is the section "knowledge_cutoff_context" of an agent. It is on by
// default.
var KnowledgeCutoffSection = awaken.NewSection("knowledge_cutoff_context", KnowledgeCutoff{Enabled: true})

// KnowledgeCutoff configures whether the runtime tells the model today's date and its
// knowledge cutoff, if the model's spec has a knowledge_cutoff.
type KnowledgeCutoff struct {
	Enabled bool `json:"enabled" jsonschema:"Tell the model today's date and its knowledge cutoff."`
}
