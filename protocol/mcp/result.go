package mcp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// callResult is the result of tools/call: what the tool returned or, in the newer era, what it asks.
type callResult struct {
	result
	Content    []content              `json:"content,omitempty"`
	Structured any                    `json:"structuredContent,omitempty"`
	IsError    bool                   `json:"isError,omitempty"`
	Requests   map[string]elicitation `json:"inputRequests,omitempty"`
	State      string                 `json:"requestState,omitempty"`
}

// content is a part of a result.
type content struct {
	Type     string    `json:"type"` // text, image, audio, resource or resource_link
	Text     *string   `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"` // base64
	MimeType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *Contents `json:"resource,omitempty"`
}

// outcome is the structured result of an agent's tool.
type outcome struct {
	ThreadID string          `json:"thread_id"`
	RunID    string          `json:"run_id"`
	Status   string          `json:"status"` // completed or waiting
	Response string          `json:"response"`
	Output   json.RawMessage `json:"output,omitempty"`
	Tickets  []ticket        `json:"tickets,omitempty"`
}

// ticket is a question that a person must decide.
type ticket struct {
	TicketID   string          `json:"ticket_id"`
	ToolName   string          `json:"tool_name,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
	Message    string          `json:"message,omitempty"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
}

func textContent(text string) []content { return []content{{Type: "text", Text: &text}} }

// failedResult returns the result of a call that failed, for the model that made it.
func failedResult(why string) *callResult {
	return &callResult{Content: textContent(why), IsError: true}
}

// ticketsOf returns the questions of a run that waits.
func ticketsOf(w *awaken.Waiting) (out []ticket) {
	for i := range w.Tickets {
		t := &w.Tickets[i]
		q := ticket{TicketID: t.TicketID, ToolName: t.ToolName, ToolCallID: t.ToolCallID, Message: t.Reason, Arguments: t.Arguments}
		if t.Suspension != nil {
			q.Message = cmp.Or(t.Suspension.Message, q.Message)
		}
		out = append(out, q)
	}
	return out
}

// waitingResult returns the result of a run that waits for a person whom the client cannot ask.
func waitingResult(fin *awaken.RunFinish, w *awaken.Waiting) *callResult {
	out := &outcome{ThreadID: fin.ThreadID, RunID: fin.RunID, Status: "waiting"}
	if fin.Result != nil {
		out.Response = fin.Result.Response
	}
	out.Tickets = ticketsOf(w)
	var lines []string
	for _, t := range out.Tickets {
		lines = append(lines, strings.TrimSpace(t.Message+" "+t.ToolName+" "+compact(t.Arguments)))
	}
	text := "The run " + fin.RunID + " waits for a person to decide: " + cmp.Or(strings.Join(lines, "; "), w.Message, string(w.Reason)) +
		". It continues when that is done; its answer is the resource awaken://runs/" + fin.RunID + "."
	return &callResult{Content: textContent(text), Structured: out}
}

// callResult returns the result of a planned call.
func (c *called) callResult(response string) *callResult {
	r := &callResult{IsError: c.failed}
	data := c.value
	if c.result != nil {
		data = c.result.Data
		for i := range c.result.Content {
			r.Content = append(r.Content, blockContent(&c.result.Content[i]))
		}
		response = cmp.Or(response, c.result.Plain())
	}
	if !c.failed && isObject(data) {
		r.Structured = data
	}
	if len(r.Content) == 0 {
		if response == "" {
			response = plain(data)
		}
		r.Content = textContent(response)
	}
	return r
}

func isObject(raw json.RawMessage) bool {
	raw = json.RawMessage(strings.TrimSpace(string(raw)))
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}

// plain returns a JSON value as text: a string as it is.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return compact(raw)
}

// blockContent converts a block of a tool's result.
func blockContent(b *llm.Block) content {
	src := b.Source
	switch {
	case src == nil:
		return content{Type: "text", Text: &b.Text}
	case src.URL != "":
		return content{Type: "resource_link", URI: src.URL, Name: cmp.Or(b.Title, src.URL), MimeType: src.MediaType}
	case b.Type == llm.ImageBlock:
		return content{Type: "image", Data: src.Data, MimeType: src.MediaType}
	case b.Type == llm.AudioBlock:
		return content{Type: "audio", Data: src.Data, MimeType: src.MediaType}
	}
	r := &Contents{URI: b.Title, MimeType: src.MediaType, Blob: src.Data}
	if !strings.Contains(r.URI, "://") {
		r.URI = "attachment:" + cmp.Or(r.URI, "file")
	}
	if data, err := base64.StdEncoding.DecodeString(src.Data); err == nil && (strings.HasPrefix(src.MediaType, "text/") || src.MediaType == "application/json") && utf8.Valid(data) {
		r.Text, r.Blob = new(string(data)), ""
	}
	return content{Type: "resource", Resource: r}
}
