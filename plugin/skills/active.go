package skills

import (
	"slices"

	"github.com/awaken-go/awaken/state"
)

// active is a skill that a run has activated. The text is kept with the run, so that the run sees
// the same when it is resumed, whatever has become of the skill.
type active struct {
	Name         string   `json:"name"`
	Digest       string   `json:"digest"` // of the skill; its files must still be the same
	Instructions string   `json:"instructions,omitempty"`
	Tools        []string `json:"tools,omitempty"` // patterns of the tools that the run may use
	Model        string   `json:"model,omitempty"` // upstream model
	// Own says that the run was started for the skill, which stays active until its end. Its
	// instructions are the run's first message.
	Own bool `json:"own,omitempty"`
}

// use is what a run knows about its skills.
type use struct {
	Active []active `json:"active,omitempty"` // in the order of activation
	// Asked are the skills that a person asked for, which the model may therefore load.
	Asked []string `json:"asked,omitempty"`
	// Near are the skills whose Paths match a file that the run works with.
	Near []string `json:"near,omitempty"`
	// Set is the digest of the library's skills in the current step.
	Set string `json:"set,omitempty"`
	// Message is the id of the last message in which a person asked for a skill.
	Message string `json:"message,omitempty"`
}

type change struct {
	activate   *active
	deactivate string
	asked      string
	near       []string
	set        string
	message    string
}

// used is the key of a run's skills.
var used = state.NewKey("skills", func(u use, c change) use {
	next := use{Active: slices.Clone(u.Active), Asked: slices.Clone(u.Asked), Near: slices.Clone(u.Near), Set: u.Set, Message: u.Message}
	name := c.deactivate
	if c.activate != nil {
		name = c.activate.Name
	}
	if name != "" {
		next.Active = slices.DeleteFunc(next.Active, func(a active) bool { return a.Name == name && !a.Own })
	}
	if c.activate != nil {
		next.Active = append(next.Active, *c.activate)
	}
	if c.asked != "" && !slices.Contains(next.Asked, c.asked) {
		next.Asked = append(next.Asked, c.asked)
	}
	for _, n := range c.near {
		if !slices.Contains(next.Near, n) {
			next.Near = append(next.Near, n)
		}
	}
	if c.set != "" {
		next.Set = c.set
	}
	if c.message != "" {
		next.Message = c.message
	}
	return next
}, state.Options{Merge: state.Commutative})

// maxActive is how many skills a run may have active.
const maxActive = 16

// active returns the active skill with that name, or nil.
func (u *use) active(name string) *active {
	if i := slices.IndexFunc(u.Active, func(a active) bool { return a.Name == name }); i >= 0 {
		return &u.Active[i]
	}
	return nil
}

// names lists the active skills.
func (u *use) names() []string {
	out := []string{}
	for _, a := range u.Active {
		out = append(out, a.Name)
	}
	return out
}
