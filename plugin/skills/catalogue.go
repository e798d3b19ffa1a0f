package skills

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// catalogue returns the text that tells the model which skills there are, or "" if there are none.
// It fits the budget: first descriptions are shortened, then skills are left out, and the text says so.
func (o *offer) catalogue(set *Set, u *use) string {
	var list []*Skill
	for _, name := range set.names {
		if s := set.byName[name]; o.cfg.allows(name) && !s.UserOnly && near(s, u) {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return ""
	}
	shown := list[:min(len(list), o.cfg.MaxEntries)]
	for _, most := range []int{maxDescription + 512, 256, 96} {
		if text := entries(shown, most); size(text) <= o.cfg.MaxTokens || most == 96 {
			for size(text) > o.cfg.MaxTokens && len(shown) > 0 {
				shown = shown[:len(shown)-1]
				text = entries(shown, most)
			}
			return finish(text, len(list)-len(shown))
		}
	}
	return ""
}

// near reports whether the run works with files that the skill is for.
func near(s *Skill, u *use) bool {
	if len(s.Paths) == 0 {
		return true
	}
	for _, n := range u.Near {
		if n == s.Name {
			return true
		}
	}
	return false
}

// size estimates the tokens of a text.
func size(text string) int { return (len(text) + 3) / 4 }

func entries(list []*Skill, most int) string {
	var b strings.Builder
	b.WriteString("<available_skills>\n")
	for _, s := range list {
		fmt.Fprintf(&b, "<skill><name>%s</name><description>%s</description></skill>\n", escape(s.Name), escape(cut(s.summary(), most)))
	}
	return b.String()
}

// summary is what the model reads about the skill before it loads it.
func (s *Skill) summary() string {
	text := s.Description
	if s.Title != "" && s.Title != s.Name {
		text = s.Title + ": " + text
	}
	if s.WhenToUse != "" {
		text += " When: " + s.WhenToUse
	}
	if s.ArgumentHint != "" || len(s.Arguments) > 0 {
		text += " Arguments: " + s.usage()
	}
	if s.Compatibility != "" {
		text += " Needs: " + s.Compatibility
	}
	return text
}

func finish(text string, hidden int) string {
	if hidden > 0 {
		text += fmt.Sprintf("<!-- %d more skills are not listed -->\n", hidden)
	}
	return text + "</available_skills>\n<skills_usage>Skills are instructions for special tasks. When a task fits a skill, load it with the tool " + toolSkill +
		" before you begin; its instructions then follow the conversation. Read its files with " + toolResource + ".</skills_usage>"
}

func escape(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(strings.Join(strings.Fields(s), " "))); err != nil {
		return "" // cannot happen: a Builder does not fail
	}
	return b.String()
}

// instructions returns the text of the active skills, or "".
func instructions(u *use) string {
	var b strings.Builder
	for _, a := range u.Active {
		if !a.Own {
			// The text is not escaped: it is the skill's, which the operator chose.
			fmt.Fprintf(&b, "<skill_instruction skill=\"%s\">\n%s\n</skill_instruction>\n", escape(a.Name), a.Instructions)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "<active_skill_instructions>\n" + b.String() + "</active_skill_instructions>"
}
