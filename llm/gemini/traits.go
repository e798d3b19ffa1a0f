package gemini

import (
	"strconv"
	"strings"
)

// traits describe what the API accepts for a model, derived from the model's name. A name without a
// version has none of the features that only some models have.
type traits struct {
	version int // 100 * major + minor, or 0
	pro     bool
}

// traitsOf parses names such as gemini-2.5-flash, models/gemini-3-pro-preview and
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

// levels reports whether, by the model's version, thinking is set by a level. Older models take
// a budget.
func (t traits) levels() bool { return t.version >= 300 }

// signs reports whether the API rejects calls without a thought signature.
func (t traits) signs() bool { return t.version >= 300 }

// schemaWithTools reports whether the API enforces an output schema in requests with tools.
func (t traits) schemaWithTools() bool { return t.version >= 300 }

// toolMedia reports whether tool results can contain media.
func (t traits) toolMedia() bool { return t.version >= 300 }
