package skills

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

// note records which skills are for the files that words name.
func (o *offer) note(h *awaken.HookCall, set *Set, words []string) {
	u := used.Get(h)
	var found []string
	for _, name := range set.names {
		s := set.byName[name]
		if len(s.Paths) == 0 || slices.Contains(u.Near, name) || !o.cfg.allows(name) {
			continue
		}
		if slices.ContainsFunc(words, func(w string) bool { return concerns(s, w) }) {
			found = append(found, name)
		}
	}
	if len(found) > 0 {
		used.Update(h, change{near: found})
	}
}

// concerns reports whether the skill is for the file that a word names: as it is, or below any of
// the folders that it names.
func concerns(s *Skill, word string) bool {
	if word == "" || len(word) > 1024 {
		return false
	}
	word = strings.TrimPrefix(word, "./")
	for range 64 {
		if s.concerns(word) {
			return true
		}
		_, rest, ok := strings.Cut(word, "/")
		if !ok {
			return false
		}
		word = rest
	}
	return false
}

// texts returns the texts in a JSON value, at any depth.
func texts(v json.RawMessage) (out []string) {
	var tree any
	if json.Unmarshal(v, &tree) != nil {
		return nil
	}
	var walk func(v any)
	walk = func(v any) {
		if len(out) == 256 {
			return
		}
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(tree)
	return out
}
