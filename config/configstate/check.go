package configstate

import (
	"errors"
	"fmt"
)

// Check returns what is wrong with a Delta that was read from somewhere: Do takes those
// only that could have been made of this State.
func (s *State) Check(d *Delta) error {
	for _, r := range d.Records {
		if r == nil || r.Namespace == "" || r.ID == "" || r.Spec == "" || r.Meta.Revision < 1 {
			return errors.New("a record is incomplete")
		}
	}
	last := int64(0)
	if n := len(s.publications); n > 0 {
		last = s.publications[n-1].Number
	}
	for _, p := range d.Publications {
		if p == nil || p.Number <= last {
			return fmt.Errorf("a publication does not come after %d", last)
		}
		last = p.Number
	}
	seen := map[string]bool{}
	for _, e := range d.Events {
		if e == nil || e.ID == "" || seen[e.ID] || s.byID[e.ID] != nil {
			return errors.New("an event has no id of its own")
		}
		seen[e.ID] = true
	}
	return nil
}
