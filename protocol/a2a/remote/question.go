package remote

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// QuestionTool is the tool whose calls are the questions of remote agents. A call suspends the run until it is decided.
const QuestionTool = "a2a_input"

// Kinds of questions.
const (
	kindApproval = "approval" // yes or no
	kindInput    = "input"    // an answer
	kindDoubt    = "in_doubt" // whether a message that may have arrived is sent again
)

// asks are the arguments of a question.
type asks struct {
	Kind      string          `json:"kind"`
	Message   string          `json:"message"`
	Auth      bool            `json:"auth,omitempty"`      // the agent asks for credentials
	Ticket    string          `json:"ticket,omitempty"`    // the server's id of the question
	Tool      string          `json:"tool,omitempty"`      // that the agent wants to call
	Arguments json.RawMessage `json:"arguments,omitempty"` // of that tool
	Schema    json.RawMessage `json:"schema,omitempty"`    // of the answer
	InDoubt   bool            `json:"in_doubt,omitempty"`  // the call that it is about may have taken effect
}

// question is the tool.
type question struct{}

var parameters = json.RawMessage(`{"type":"object","properties":{` +
	`"kind":{"enum":["approval","input","in_doubt"]},"message":{"type":"string"},"auth":{"type":"boolean"},` +
	`"ticket":{"type":"string"},"tool":{"type":"string"},"arguments":{},"schema":{},"in_doubt":{"type":"boolean"}},` +
	`"required":["kind","message"],"additionalProperties":false}`)

func (question) Spec() awaken.ToolSpec {
	return awaken.ToolSpec{
		ID:          QuestionTool,
		Egress:      awaken.Egress{None: true},
		Name:        QuestionTool,
		Description: "Asks what a remote agent needs to know.",
		Parameters:  parameters,
		Effect:      awaken.ReadOnly,
	}
}

// Call asks, or returns what was decided.
func (question) Call(_ context.Context, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	var a asks
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return nil, err
	}
	if call.Resume != nil {
		return awaken.TextResult("approved"), nil
	}
	t := awaken.Ticket{
		Suspension: awaken.Suspension{Action: "a2a:input_required", Message: a.Message, ResponseSchema: a.Schema},
		ResumeMode: awaken.UseDecisionAsToolResult,
		InDoubt:    a.InDoubt || a.Kind == kindDoubt,
	}
	if a.Auth {
		t.Suspension.Action = "a2a:auth_required"
	}
	if a.Kind != kindInput {
		t.ResumeMode = awaken.ReplayToolCall
	}
	return nil, awaken.Suspend(t)
}

// maxQuestions limits how much a task may ask at once.
const maxQuestions = 64

// questionsOf returns what a task asks: the tickets of a server of this project, or the text of its status.
func questionsOf(s *status) []asks {
	auth := s.State == authRequired
	text := ""
	var list []asks
	if s.Message != nil {
		for i := range s.Message.Parts {
			p := &s.Message.Parts[i]
			if p.Text != nil {
				text += *p.Text
				continue
			}
			list = append(list, tickets(p.Data, auth)...)
		}
	}
	if len(list) > 0 {
		return list[:min(len(list), maxQuestions)]
	}
	if text = clip(text, 64<<10); text == "" {
		text = "The agent needs an answer to continue."
		if auth {
			text = "The agent needs authorization to continue."
		}
	}
	return []asks{{Kind: kindInput, Message: text, Auth: auth}}
}

// tickets decodes the tickets in a data part, if it has any.
func tickets(data json.RawMessage, auth bool) (list []asks) {
	var with struct {
		Tickets []struct {
			TicketID       string          `json:"ticketId"`
			Kind           string          `json:"kind"`
			Message        string          `json:"message"`
			ToolName       string          `json:"toolName"`
			Arguments      json.RawMessage `json:"arguments"`
			ResponseSchema json.RawMessage `json:"responseSchema"`
			InDoubt        bool            `json:"inDoubt"`
		} `json:"tickets"`
	}
	if len(data) == 0 || json.Unmarshal(data, &with) != nil {
		return nil
	}
	for _, t := range with.Tickets {
		if t.TicketID == "" || len(t.TicketID) > maxID || t.Kind != kindApproval && t.Kind != kindInput {
			return nil // of another project
		}
		a := asks{
			Kind:      t.Kind,
			Message:   clip(t.Message, 64<<10),
			Auth:      auth,
			Ticket:    t.TicketID,
			Tool:      clip(t.ToolName, maxID),
			Arguments: t.Arguments,
			Schema:    t.ResponseSchema,
			InDoubt:   t.InDoubt,
		}
		if a.Message == "" {
			a.Message = fmt.Sprintf("The agent waits for a decision about %s.", a.Tool)
		}
		list = append(list, a)
	}
	return list
}

// ask ends the step with questions.
func (e *exchange) ask(list []asks) error {
	for i := range list {
		args, err := json.Marshal(&list[i])
		if err != nil {
			return err
		}
		id := fmt.Sprintf("%s_%d", e.x.ID, i)
		if !e.emit(llm.Delta{Kind: llm.ToolCallStart, ID: id, Name: QuestionTool}) ||
			!e.emit(llm.Delta{Kind: llm.ToolCallDelta, ID: id, Text: string(args)}) {
			return nil
		}
	}
	e.emit(llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse})
	return nil
}
