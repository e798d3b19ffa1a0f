package basics

import (
	"context"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

// Todo is one item of the to-do list.
type Todo struct {
	Text   string `json:"text" jsonschema:"what is to be done, in one line"`
	Status string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=done"`
}

// maxTodoBytes limits the text of an item.
const maxTodoBytes = 500

// todoList is the to-do list of the thread.
var todoList = state.NewValue[[]Todo]("basics.todos", state.Options{Scope: state.Thread})

type todoArgs struct {
	Items []Todo `json:"items" jsonschema:"the whole list; it replaces the previous one"`
}

type todoResult struct {
	Items []Todo `json:"items"`
	Open  int    `json:"open"` // items that are not done
}

func newTodoWrite(cfg Config) awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: TodoWrite, Egress: awaken.Egress{None: true}, Effect: awaken.ReadOnly,
		Description: "Writes your to-do list for this conversation. Use it for work of several steps: write the plan first, and write the list again whenever an item changes."},
		func(_ context.Context, call *awaken.ToolCall, in todoArgs) (todoResult, error) {
			if len(in.Items) > cfg.MaxTodos {
				return todoResult{}, fmt.Errorf("items has %d items, want at most %d", len(in.Items), cfg.MaxTodos)
			}
			for i, it := range in.Items {
				if it.Text == "" || len(it.Text) > maxTodoBytes {
					return todoResult{}, fmt.Errorf("items[%d].text is %d bytes long, want 1 to %d", i, len(it.Text), maxTodoBytes)
				}
			}
			todoList.Update(call, slices.Clone(in.Items))
			return outcomeOf(in.Items), nil
		})
}

func newTodoRead() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{
		ID:          TodoRead,
		Egress:      awaken.Egress{None: true},
		Effect:      awaken.ReadOnly,
		Description: "Returns your to-do list of this conversation.",
	},
		func(_ context.Context, call *awaken.ToolCall, _ struct{}) (todoResult, error) {
			return outcomeOf(todoList.Get(call)), nil
		})
}

func outcomeOf(items []Todo) todoResult {
	r := todoResult{Items: items}
	if items == nil {
		r.Items = []Todo{}
	}
	for _, it := range items {
		if it.Status != "done" {
			r.Open++
		}
	}
	return r
}
