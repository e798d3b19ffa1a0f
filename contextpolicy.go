package awaken

import (
	"fmt"

	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/internal/strict"
)

// ContextPolicy keeps every request within the model's context window. An agent without a
// policy sends its whole conversation. docs/context.md explains how a growing conversation
// is shortened.
type ContextPolicy struct {
	// MaxContextTokens limits a request and its answer together. The model's
	// context_window applies if it is smaller.
	MaxContextTokens int `json:"max_context_tokens"`
	// MaxOutputTokens is reserved for the answer and sent to the provider as its limit. The
	// model's max_output_tokens applies if it is smaller.
	MaxOutputTokens int `json:"max_output_tokens"`
	// MinRecentMessages is the number of latest messages that every request includes. They
	// are shortened if they are too large.
	MinRecentMessages int  `json:"min_recent_messages"`
	EnablePromptCache bool `json:"enable_prompt_cache"` // use the provider's prompt cache, if it has one
	// AutocompactThreshold is the size of a conversation, in tokens, from which the runtime
	// summarises its beginning in the background. Nil turns that off.
	AutocompactThreshold *int   `json:"autocompact_threshold,omitempty"`
	CompactionMode       string `json:"compaction_mode"` // keep_recent_raw_suffix, or compact_to_safe_frontier to summarise everything except open tool calls
	// CompactionRawSuffixMessages is the number of latest messages that
	// keep_recent_raw_suffix does not summarise.
	CompactionRawSuffixMessages int `json:"compaction_raw_suffix_messages"`
}

const (
	keepRecentRawSuffix   = "keep_recent_raw_suffix"
	compactToSafeFrontier = "compact_to_safe_frontier"
)

// KeepRaw returns the number of latest messages that are not summarised.
func (p *ContextPolicy) KeepRaw() int {
	if p.CompactionMode == keepRecentRawSuffix {
		return p.CompactionRawSuffixMessages
	}
	return 0
}

// DefaultContextPolicy returns a policy with the values of the fields that a document leaves
// out: 200,000 tokens of context, 16,384 of output, the last 10 messages in every request, the
// prompt cache on, no summaries. Go code begins with it: the zero ContextPolicy is invalid.
func DefaultContextPolicy() ContextPolicy {
	return ContextPolicy{MaxContextTokens: 200_000, MaxOutputTokens: 16_384, MinRecentMessages: 10,
		EnablePromptCache: true, CompactionMode: keepRecentRawSuffix, CompactionRawSuffixMessages: 2}
}

// UnmarshalJSON decodes and validates a policy. Fields that the document leaves out get
// their defaults.
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
	bad.When(p.MaxContextTokens <= 0, "max_context_tokens is %d, want more than 0", p.MaxContextTokens)
	bad.When(p.MaxOutputTokens < 0 || p.MaxOutputTokens > p.MaxContextTokens, "max_output_tokens is %d, want 0 to max_context_tokens (%d)", p.MaxOutputTokens, p.MaxContextTokens)
	bad.NotNegative("min_recent_messages", p.MinRecentMessages)
	if n := p.AutocompactThreshold; n != nil && *n <= 0 {
		bad.Add("autocompact_threshold is %d, want more than 0, or null for none", *n)
	}
	bad.NotNegative("compaction_raw_suffix_messages", p.CompactionRawSuffixMessages)
	return bad.Err()
}
