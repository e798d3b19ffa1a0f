package anthropic

import (
	"strconv"
	"strings"
)

// traits describe what the API accepts for a model, derived from the model's name. A name that is
// not Claude's has version 0: the adapter then uses only what all servers have.
type traits struct {
	family  string // opus, sonnet, haiku, ...
	version int    // 100 * major + minor, or 0
}

// traitsOf parses names as the API, Bedrock, Vertex and routers write them:
// claude-opus-4-1-20250805, claude-3-5-haiku-latest, anthropic/claude-opus-4.7,
// anthropic.claude-sonnet-4-20250514-v1:0, claude-opus-4-1@20250805.
func traitsOf(model string) traits {
	var t traits
	_, rest, found := strings.Cut(strings.ToLower(model), "claude")
	if !found {
		return t
	}
	words := strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune("-._@:/", r) })
	for i, w := range words {
		switch n, err := strconv.Atoi(w); {
		case err != nil && t.family == "":
			t.family = w
		case err == nil && t.version == 0 && len(w) <= 2:
			t.version = 100 * n
			if i+1 < len(words) && len(words[i+1]) <= 2 {
				if minor, err := strconv.Atoi(words[i+1]); err == nil {
					t.version += minor
				}
			}
		}
	}
	if t.family == "mythos" && t.version == 0 { // claude-mythos-preview
		t.version = 407
	}
	return t
}

// adaptive reports whether the model, by its version, takes an effort. Older models take a
// thinking budget.
func (t traits) adaptive() bool { return t.version >= 406 }

// alwaysThinks reports whether thinking cannot be turned on or off.
func (t traits) alwaysThinks() bool {
	return t.version >= 500 && (t.family == "fable" || t.family == "mythos")
}

// thinksByDefault reports whether a model thinks unless thinking is disabled.
func (t traits) thinksByDefault() bool { return t.version >= 500 }

// samples reports whether the model accepts a temperature and top-p.
func (t traits) samples() bool { return t.version < 407 }

// samplesOnce reports whether the model accepts a temperature or top-p, but not both.
func (t traits) samplesOnce() bool { return t.version >= 401 }

// enforcesSchema reports whether the API enforces an output schema for the model.
func (t traits) enforcesSchema() bool {
	return t.version >= 405 || t.version == 401 && t.family == "opus"
}

// maxTokens returns the limit of a reply for requests without one: the model's maximum, as far as
// known. The API requires a limit.
func (t traits) maxTokens() int {
	switch {
	case t.version == 0:
		return 8192
	case t.version < 305:
		return 4096
	case t.version < 307:
		return 8192
	case t.family == "opus" && t.version < 405 && t.version >= 400:
		return 32000
	case t.family == "opus" && t.version >= 406:
		return 128000
	}
	return 64000
}
