package skills

import (
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state/builtin"
)

// command activates the skill that a person asks for with a message that begins with /name. Other
// messages are left alone, and so are skills that people may not call.
func (o *offer) command(h *awaken.HookCall, set *Set, msg *llm.Message) error {
	text := strings.TrimSpace(msg.Text())
	word, rest, _ := strings.Cut(text, " ")
	if i := strings.IndexAny(word, "\n\t"); i >= 0 {
		word, rest = text[:i], text[i:]
	}
	name, ok := strings.CutPrefix(word, "/")
	s := set.byName[name]
	if !ok || s == nil || s.ModelOnly || !o.cfg.allows(name) {
		return nil
	}
	used.Update(h, change{asked: name, message: msg.ID})
	tell := func(format string, args ...any) {
		builtin.AddContextMessage.Schedule(h, builtin.SystemContext("skill_command", fmt.Sprintf(format, args...)))
	}
	args, err := withText(s, rest)
	if err != nil {
		tell("The user asked for the skill %q, but %v. Ask for what is missing.", name, err)
		return nil
	}
	if s.Fork || !o.shows {
		tell("The user asked for the skill %q. Call the tool %s with skill %q and args %q.", name, toolSkill, name, args.text)
		return nil
	}
	act, _, err := o.activation(s, args, h.Tools)
	if err != nil {
		return nil // the text is too long with its arguments; the model may still load it
	}
	u := used.Get(h)
	if len(u.Active) < maxActive || u.active(name) != nil {
		o.begin(h, act, h.Tools)
	}
	return nil
}
