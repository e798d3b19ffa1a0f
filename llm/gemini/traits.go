package gemini

import (
	"strconv"
	"strings"
)

// traits are what a model's name tells about what the API accepts for it. Names that have
// no version have none of what only some models have.
type traits struct {
	version int // 100 * major + minor, or 0
	pro     bool
}

// traitsOf reads names such as gemini-2.5-flash, models/gemini-3-pro-preview and
// publishers/google/models/gemini-2.0-flash-001.
func traitsOf(model string) traits {
	_, rest, found := strings.Cut(strings.ToLower(model), "gemini-")
	if !found {
		return traits{}
	}
	number, _, _ := strings.Cut(rest, "-")
	t := traits{pro: strings.Contains(rest, "pro")}
	major, minor, _ := strings.Cut(number, ".")
	if n, err := strconv.Atoi(major); err == nil {
		t.version = 100 * n
		if n, err := strconv.Atoi(minor); err == nil {
			t.version += n
		}
	}
	return t
}

// levels reports whether thinking is set by a level; before, it is by a number of tokens.
func (t traits) levels() bool { return t.version >= 300 }

// thinks reports whether the model thinks at all.
func (t traits) thinks() bool { return t.version == 0 || t.version >= 205 }

// signs reports whether calls without a thought signature are refused.
func (t traits) signs() bool { return t.version >= 300 }

// formsWithTools reports whether answers can be held to a schema while tools are offered.
func (t traits) formsWithTools() bool { return t.version >= 300 }

// toolMedia reports whether the answers to calls can have media in them.
func (t traits) toolMedia() bool { return t.version >= 300 }
