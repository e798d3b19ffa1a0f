package acp

import (
	"cmp"
	"encoding/json"
	"slices"
)

// planTools are the names of tools whose argument is the agent's plan.
var planTools = []string{"update_plan", "write_todos", "todo_write", "TodoWrite"}

// planOf returns the plan that a call sets, or nil.
func planOf(tool string, arguments json.RawMessage) []planEntry {
	if !slices.Contains(planTools, tool) {
		return nil
	}
	return entriesOf(arguments)
}

// entriesOf reads a plan: an object with a list of entries, which has one of several names, or the list
// itself. It returns nil if it is something else.
func entriesOf(raw json.RawMessage) []planEntry {
	var named map[string]json.RawMessage
	if json.Unmarshal(raw, &named) == nil {
		raw = nil
		for _, name := range []string{"entries", "plan", "todos", "steps"} {
			if raw = named[name]; raw != nil {
				break
			}
		}
	}
	var list []struct {
		Content  string `json:"content"`
		Step     string `json:"step"`
		Title    string `json:"title"`
		Status   string `json:"status"`
		Priority string `json:"priority"`
	}
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return nil
	}
	out := make([]planEntry, 0, len(list))
	for _, e := range list {
		entry := planEntry{Content: cmp.Or(e.Content, e.Step, e.Title), Priority: "medium", Status: "pending"}
		if slices.Contains([]string{"high", "low"}, e.Priority) {
			entry.Priority = e.Priority
		}
		switch e.Status {
		case "in_progress", "running", "active":
			entry.Status = "in_progress"
		case "completed", "done":
			entry.Status = "completed"
		}
		out = append(out, entry)
	}
	return out
}
