package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
)

// Prompt is a template of messages that people choose.
type Prompt struct {
	Name        string     `json:"name"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Arguments   []Argument `json:"arguments,omitempty"`
}

// Argument is an argument of a prompt.
type Argument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// PromptMessage is a message of a prompt.
type PromptMessage struct {
	Role    string          `json:"role"`    // user or assistant
	Content json.RawMessage `json:"content"` // a content block of the protocol
}

// Prompts are the prompts of a server.
type Prompts interface {
	// List returns the prompts.
	List(ctx context.Context) ([]Prompt, error)
	// Get returns a prompt's messages, or [awaken.ErrNotFound].
	Get(ctx context.Context, name string, arguments map[string]string) ([]PromptMessage, error)
}

// promptList is the result of prompts/list.
type promptList struct {
	result
	Prompts []Prompt `json:"prompts"`
}

func (x *exchange) listPrompts(m *message) error {
	var in cursorParams
	if err := m.params(&in); err != nil {
		return err
	}
	list, err := x.cfg.Prompts.List(x.Context())
	if err != nil {
		return err
	}
	out := &promptList{Prompts: append([]Prompt{}, list...)}
	x.cacheable(&out.result)
	return x.reply(out)
}

// promptParams name a prompt.
type promptParams struct {
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments,omitempty"`
}

// UnmarshalJSON ignores unknown fields.
func (p *promptParams) UnmarshalJSON(data []byte) error {
	type plain promptParams
	return strict.UnmarshalKnown(data, (*plain)(p))
}

// promptResult is the result of prompts/get.
type promptResult struct {
	result
	Messages []PromptMessage `json:"messages"`
}

func (x *exchange) getPrompt(m *message) error {
	var in promptParams
	if err := m.params(&in); err != nil {
		return err
	}
	list, err := x.cfg.Prompts.Get(x.Context(), in.Name, in.Arguments)
	if errors.Is(err, awaken.ErrNotFound) {
		return invalid("params.name is %.80q, which is no prompt", in.Name)
	}
	if err != nil {
		return err
	}
	x.say.Prompt = in.Name
	return x.reply(&promptResult{Messages: list})
}

// completeParams ask how an argument may continue.
type completeParams struct {
	Ref struct {
		Type string `json:"type"`
		Name string `json:"name,omitempty"`
		URI  string `json:"uri,omitempty"`
	} `json:"ref"`
	Argument struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"argument"`
}

// UnmarshalJSON ignores unknown fields.
func (p *completeParams) UnmarshalJSON(data []byte) error {
	type plain completeParams
	return strict.UnmarshalKnown(data, (*plain)(p))
}

// completeResult is the result of completion/complete.
type completeResult struct {
	result
	Completion completion `json:"completion"`
}

type completion struct {
	Values  []string `json:"values"`
	HasMore bool     `json:"hasMore"`
}

const (
	maxCompletions = 100 // of the protocol
	completionScan = 500 // how many threads or runs are searched, the latest first
)

// complete completes the ids of threads and runs. Arguments of prompts have no completions.
func (x *exchange) complete(m *message) error {
	var in completeParams
	if err := m.params(&in); err != nil {
		return err
	}
	out := &completeResult{Completion: completion{Values: []string{}}}
	add := func(id string) {
		if !strings.HasPrefix(id, in.Argument.Value) {
			return
		}
		if len(out.Completion.Values) == maxCompletions {
			out.Completion.HasMore = true
			return
		}
		out.Completion.Values = append(out.Completion.Values, id)
	}
	switch {
	case in.Ref.Type == "ref/prompt" && x.cfg.Prompts != nil:
	case in.Ref.Type == "ref/resource" && in.Ref.URI == templates[0].URI:
		threads, err := x.threads(0, completionScan)
		if err != nil {
			return err
		}
		for _, th := range threads {
			if ok, err := x.showsThread(th); err != nil {
				return err
			} else if ok {
				add(th.ID)
			}
		}
	case in.Ref.Type == "ref/resource" && in.Ref.URI == templates[1].URI:
		owner, err := x.Owner()
		if err != nil {
			return err
		}
		runs, err := x.Tenant().Store.ListRuns(x.Context(), awaken.RunQuery{Owner: owner, Limit: completionScan})
		if err != nil {
			return err
		}
		for _, run := range runs {
			if x.visible(run) {
				add(run.RunID)
			}
		}
	case in.Ref.Type == "ref/resource" && x.cfg.Resources != nil:
	default:
		return invalid("params.ref is %.80q %.80q, want a template of resources/templates/list", in.Ref.Type, in.Ref.Name+in.Ref.URI)
	}
	return x.reply(out)
}
