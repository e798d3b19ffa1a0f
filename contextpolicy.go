package awaken

import (
	"fmt"

	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/internal/strict"
)

// ContextPolicy bounds what a model is shown, so that every request fits. An agent
// without one sends its whole conversation. docs/context.md explains what happens to a
// conversation that grows.
type ContextPolicy struct {
	// MaxContextTokens is how much a request and its answer may take together. The model's
	// context_window counts if it is smaller.
	MaxContextTokens int `json:"max_context_tokens"`
	// MaxOutputTokens is kept free for the answer, and sent as the limit of it. The model's
	// max_output_tokens counts if it is smaller.
	MaxOutputTokens int `json:"max_output_tokens"`
	// MinRecentMessages is how many messages of the end are always shown; if they are too
	// large, shortened.
	MinRecentMessages int  `json:"min_recent_messages"`
	EnablePromptCache bool `json:"enable_prompt_cache"` // of the provider, where it has one
	// AutocompactThreshold is how many tokens of conversation make the runtime summarise
	// its beginning, in the background. Nil never does.
	AutocompactThreshold *int   `json:"autocompact_threshold,omitempty"`
	CompactionMode       string `json:"compaction_mode"` // keep_recent_raw_suffix or compact_to_safe_frontier, which summarises all but what is going on
	// CompactionRawSuffixMessages is how many messages of the end keep_recent_raw_suffix
	// does not summarise.
	CompactionRawSuffixMessages int `json:"compaction_raw_suffix_messages"`
}

const (
	keepRecentRawSuffix   = "keep_recent_raw_suffix"
	compactToSafeFrontier = "compact_to_safe_frontier"
)

// KeepRaw is how many messages of the end are not summarised.
func (p *ContextPolicy) KeepRaw() int {
	if p.CompactionMode == keepRecentRawSuffix {
		return p.CompactionRawSuffixMessages
	}
	return 0
}

// DefaultContextPolicy is the policy that fields left out of a document get.
func DefaultContextPolicy() ContextPolicy {
	return ContextPolicy{MaxContextTokens: 200_000, MaxOutputTokens: 16_384, MinRecentMessages: 10,
		EnablePromptCache: true, CompactionMode: keepRecentRawSuffix, CompactionRawSuffixMessages: 2}
}

// UnmarshalJSON fills the fields the document leaves out with their defaults.
func (p *ContextPolicy) UnmarshalJSON(data []byte) error {
	type plain ContextPolicy
	v := plain(DefaultContextPolicy())
	if err := strict.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("context_policy: %w", err)
	}
	*p = ContextPolicy(v)
	return p.validate()
}

func (p *ContextPolicy) validate() error {
	bad := check.Problems{Prefix: "context_policy."}
	bad.OneOf("compaction_mode", p.CompactionMode, keepRecentRawSuffix, compactToSafeFrontier)
	if p.MaxContextTokens <= 0 {
		bad.Add("max_context_tokens is %d, want more than 0", p.MaxContextTokens)
	}
	if p.MaxOutputTokens < 0 || p.MaxOutputTokens > p.MaxContextTokens {
		bad.Add("max_output_tokens is %d, want 0 to max_context_tokens (%d)", p.MaxOutputTokens, p.MaxContextTokens)
	}
	bad.NotNegative("min_recent_messages", p.MinRecentMessages)
	if n := p.AutocompactThreshold; n != nil && *n <= 0 {
		bad.Add("autocompact_threshold is %d, want more than 0, or null for none", *n)
	}
	bad.NotNegative("compaction_raw_suffix_messages", p.CompactionRawSuffixMessages)
	return bad.Err()
}
