package replay

import (
	"context"
	"encoding/json"
	"maps"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
)

// Retool returns the version of the runs with lists of the tools of MCP servers, by server; see [builtin.ToolLists]. A server that
// is not among them is not connected.
type Retool func(ctx context.Context, lists map[string]string) (*registry.Registry, error)

// listsAt returns the lists of the tools of MCP servers in the step that begins with an event: those that the next snapshot with
// lists shows, or the last one. If there is none, it returns nil.
func (p *past) listsAt(step int) map[string]string {
	for i := max(0, step); i < len(p.events); i++ {
		if lists := p.listsIn(i); lists != nil {
			return lists
		}
	}
	for i := min(step, len(p.events)) - 1; i >= 0; i-- {
		if lists := p.listsIn(i); lists != nil {
			return lists
		}
	}
	return nil
}

// listsIn returns the lists that an event shows, or nil.
func (p *past) listsIn(i int) map[string]string {
	if _, ok := p.events[i].Event.(*awaken.StateSnapshot); !ok || !strings.Contains(p.lines[i], builtin.ToolLists.Name()) {
		return nil
	}
	var shown struct {
		Snapshot struct {
			Extensions map[string]json.RawMessage `json:"extensions"`
		} `json:"snapshot"`
	}
	var lists map[string]string
	if json.Unmarshal([]byte(p.lines[i]), &shown) != nil {
		return nil
	}
	if json.Unmarshal(shown.Snapshot.Extensions[builtin.ToolLists.Name()], &lists) != nil {
		return nil
	}
	return lists
}

// nextStep returns the event that begins the step after an event of the replay, or -1. Number is that of the event in the record, or -1
// if the run is not followed.
func (p *past) nextStep(ev awaken.Event, number int) int {
	from, id := number, ""
	switch ev := ev.(type) {
	case *awaken.RunStart:
		from = max(0, number)
	case *awaken.StepStart:
		if from, id = max(number, p.begins(ev.MessageID)), ev.MessageID; from < 0 {
			return -1
		}
	default:
		return -1
	}
	for i := from; i < len(p.events); i++ {
		if next, ok := p.events[i].Event.(*awaken.StepStart); ok && next.MessageID != id {
			return i
		}
	}
	return -1
}

// retool gives the next step of a run the tools of MCP servers that it had.
func (s *stage) retool(p *part, ev awaken.Event, number int) error {
	if s.player.Retool == nil {
		return nil
	}
	step := p.nextStep(ev, number)
	if step < 0 {
		return nil
	}
	lists := p.listsAt(step)
	if lists == nil || maps.Equal(lists, s.lists) {
		return nil
	}
	reg, err := s.withLists(lists)
	if err != nil {
		return err
	}
	s.version.supersede(reg)
	return nil
}

// withLists returns the registry of the replay with lists of the tools of MCP servers.
func (s *stage) withLists(lists map[string]string) (*registry.Registry, error) {
	reg, err := s.player.Retool(s.ctx, lists)
	if err != nil {
		return nil, err
	}
	s.lists = lists
	return s.registry(reg)
}
