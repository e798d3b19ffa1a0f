package openai

import (
	"cmp"
	"net/http"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
)

// postChat answers a chat completion.
func postChat(c protocol.Call) error {
	var req chatRequest
	if err := c.Decode(&req); err != nil {
		return err
	}
	agent, err := agentOf(c, req.Model)
	if err != nil {
		return err
	}
	if err := req.check(); err != nil {
		return err
	}
	x := &exchange{Call: c, field: "messages", request: awaken.RunRequest{AgentID: agent.ID}}
	if x.prompt, err = req.prompt(); err != nil {
		return err
	}
	specs, choice, err := toolsOf(req.Tools, req.ToolChoice)
	if err != nil {
		return err
	}
	if x.request.OutputSchema, err = req.Format.schema("response_format"); err != nil {
		return err
	}
	maxField := "max_tokens"
	if req.MaxCompletionTokens != nil {
		maxField = "max_completion_tokens"
	}
	o, err := req.overrides(cmp.Or(req.MaxCompletionTokens, req.MaxTokens), maxField, req.ReasoningEffort, "reasoning_effort")
	if err != nil {
		return err
	}
	if o.StopSequences, err = stopsOf(req.Stop); err != nil {
		return err
	}
	x.ask(specs, choice, o)
	a, err := x.submit()
	if err != nil {
		return err
	}
	opts := Options{Model: req.Model, From: a.from, Structured: len(x.request.OutputSchema) > 0}
	if req.Stream {
		opts.Usage = req.Options != nil && req.Options.IncludeUsage
		x.prompt = nil // a stream may be open for hours
		return x.stream(a, opts.format("chat"), func() protocol.Encoder { return NewChatEncoder(opts) })
	}
	e := NewChatEncoder(opts)
	if _, err := x.collect(a, e); err != nil {
		return err
	}
	out, err := e.completion()
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, out)
}
