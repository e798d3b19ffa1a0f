package anthropic

import (
	"strconv"
	"strings"
)

// traits are what a model's name tells about what the API accepts for it. A name that
// is not Claude's has no version: such servers are asked for what all have.
type traits struct {
	family  string // opus, sonnet, haiku, ...
	version int    // 100 * major + minor, or 0
}

// traitsOf reads names as the API, Bedrock, Vertex and routers write them:
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

// adaptive reports whether the model decides itself how much to think, and is told with
// an effort. Older models are told with a number of tokens.
func (t traits) adaptive() bool { return t.version >= 406 }

// alwaysThinks reports whether thinking can be turned neither on nor off.
func (t traits) alwaysThinks() bool {
	return t.version >= 500 && (t.family == "fable" || t.family == "mythos")
}

// thinksUnasked reports whether a model thinks unless it is told not to.
func (t traits) thinksUnasked() bool { return t.version >= 500 }

// samples reports whether the model takes a temperature and top-p.
func (t traits) samples() bool { return t.version < 407 }

// samplesOnce reports whether the model takes a temperature or top-p, but not both.
func (t traits) samplesOnce() bool { return t.version >= 401 }

// formats reports whether the model's answers can be held to a JSON schema. Others are
// made to call a tool that has the schema.
func (t traits) formats() bool {
	return t.version >= 405 || t.version == 401 && t.family == "opus"
}

// maxTokens is how long an answer may be when the request does not say: as long as the
// model can make it, as far as is known. The API wants to be told.
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
