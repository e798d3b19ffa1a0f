package basics

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/awaken-go/awaken"
)

const (
	maxQuestionBytes = 4000
	maxFields        = 20
	maxOptions       = 50
)

// field is one field of the form that a question shows.
type field struct {
	Name     string   `json:"name" jsonschema:"key of the answer: letters, digits and _"`
	Label    string   `json:"label,omitempty" jsonschema:"shown to the user"`
	Type     string   `json:"type,omitempty" jsonschema:"enum=text,enum=number,enum=boolean,enum=choice,description=default text"`
	Options  []string `json:"options,omitempty" jsonschema:"of a choice"`
	Optional bool     `json:"optional,omitempty" jsonschema:"the user may leave it empty"`
}

type askArgs struct {
	Question string  `json:"question" jsonschema:"what you need to know, in words for the user"`
	Fields   []field `json:"fields,omitempty" jsonschema:"the form to fill in; without fields the user answers with a text"`
}

// askTool suspends its call with a form. The answer is the call's result.
type askTool struct{ timeout time.Duration }

func (t askTool) Spec() awaken.ToolSpec { return askPrototype.Spec() }

// askPrototype has the spec of the tool, with the schema that is derived from its arguments.
var askPrototype = awaken.NewTool(awaken.ToolSpec{ID: AskUser, Egress: awaken.Egress{None: true}, Effect: awaken.ReadOnly,
	Description: "Asks the user and waits for the answer. Use it only for what you cannot find out yourself and must not guess."},
	func(context.Context, *awaken.ToolCall, askArgs) (*awaken.ToolResult, error) { return nil, nil })

// Validate checks arguments beyond the schema.
func (askTool) Validate(args json.RawMessage) error {
	_, err := decodeAsk(args)
	return err
}

// Call asks.
func (t askTool) Call(_ context.Context, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	in, err := decodeAsk(call.Args)
	if err != nil {
		return nil, err
	}
	form, err := in.schema()
	if err != nil {
		return nil, err
	}
	return nil, awaken.Suspend(awaken.Ticket{ResumeMode: awaken.UseDecisionAsToolResult, ExpiresIn: t.timeout,
		Suspension: awaken.Suspension{Action: "tool:" + AskUser, Message: in.Question, Parameters: call.Args, ResponseSchema: form}})
}

var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

func decodeAsk(args json.RawMessage) (in askArgs, err error) {
	if err := json.Unmarshal(args, &in); err != nil {
		return in, fmt.Errorf("arguments: %w", err)
	}
	if in.Question == "" || len(in.Question) > maxQuestionBytes {
		return in, fmt.Errorf("question is %d bytes long, want 1 to %d", len(in.Question), maxQuestionBytes)
	}
	if len(in.Fields) > maxFields {
		return in, fmt.Errorf("fields has %d fields, want at most %d", len(in.Fields), maxFields)
	}
	names := map[string]bool{}
	for i, f := range in.Fields {
		switch {
		case !fieldName.MatchString(f.Name):
			return in, fmt.Errorf("fields[%d].name is %q, want up to 64 letters, digits and _, not beginning with a digit", i, f.Name)
		case names[f.Name]:
			return in, fmt.Errorf("fields[%d].name %q is used twice", i, f.Name)
		case f.Type == "choice" && (len(f.Options) == 0 || len(f.Options) > maxOptions):
			return in, fmt.Errorf("fields[%d].options has %d options, want 1 to %d for a choice", i, len(f.Options), maxOptions)
		case f.Type != "choice" && len(f.Options) > 0:
			return in, fmt.Errorf("fields[%d].options is for fields of type choice, not %q", i, f.Type)
		}
		names[f.Name] = true
	}
	return in, nil
}

// schema returns the JSON Schema of the answer, from which clients make the form.
func (in askArgs) schema() (json.RawMessage, error) {
	fields := in.Fields
	if len(fields) == 0 {
		fields = []field{{Name: "answer"}}
	}
	properties, required := map[string]any{}, []string{}
	for _, f := range fields {
		p := map[string]any{"type": "string", "maxLength": 10_000}
		switch f.Type {
		case "number", "boolean":
			p = map[string]any{"type": f.Type}
		case "choice":
			p = map[string]any{"type": "string", "enum": f.Options}
		}
		if f.Label != "" {
			p["title"] = f.Label
		}
		properties[f.Name] = p
		if !f.Optional {
			required = append(required, f.Name)
		}
	}
	return json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}
