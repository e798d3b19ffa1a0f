//lint:file-ignore SA1019 servers of the older revisions log, sample and ask for roots; the SDK keeps these deprecated features for them

package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Sampling lets an agent answer a server's sampling requests during a call. The answer is a child run of the calling run: it is stored, and
// its cost is charged to the budget of its parent.
type Sampling struct {
	Agent      string // answers the requests; one without tools is safest
	Ask        bool   // each answer needs a person's approval
	MaxPerCall int    // 0 means 3
}

// maxSample limits the text that a server may send to a model, in bytes.
const maxSample = 64 << 10

// sample lets the agent answer.
func (t *tool) sample(ctx context.Context, call *awaken.ToolCall, d *dialogue, p *sdk.CreateMessageParams) reply {
	cfg := t.conn.server.Sampling
	if d.Samples++; d.Samples > cfg.MaxPerCall {
		return reply{err: fmt.Errorf("models answer at most %d times in a call", cfg.MaxPerCall)}
	}
	if call.Host == nil || call.Run == nil {
		return reply{err: fmt.Errorf("there is no runtime that could answer")}
	}
	messages, err := samplingMessages(p)
	if err != nil {
		return reply{err: err}
	}
	id := awaken.ChildID(fmt.Sprintf("%s/sample/%d", call.Key, d.Samples))
	res, err := call.Host.Run(ctx, awaken.RunRequest{AgentID: cfg.Agent, ThreadID: id, RunID: id, Messages: messages, Attended: true, Untrusted: true,
		Taint:          &awaken.Taint{RunID: call.Run.RunID, CallID: call.ID, Tool: call.Tool, At: call.Host.Now().UnixMilli()}, // the server has written the messages
		ParentThreadID: call.Run.ThreadID, ParentRunID: call.Run.RunID, ParentToolCallID: call.ID, SessionID: call.Run.SessionID, UserID: call.Run.UserID,
		Origin: "mcp", Adapter: call.Run.Adapter, Depth: call.Run.Depth + 1, ResolutionID: call.Host.ResolutionID()},
		awaken.SinkFunc(func(context.Context, awaken.Entry) error { return nil }))
	if res != nil {
		u := res.Usage
		u.Add(res.ChildUsage)
		call.Spend(u, res.CostUSD+res.ChildCostUSD)
	}
	switch {
	case err != nil:
		return reply{err: fmt.Errorf("agent %q: %w", cfg.Agent, err)}
	case res.Status != awaken.RunDone:
		return reply{err: fmt.Errorf("agent %q has no answer: its run is %s", cfg.Agent, res.Status)}
	}
	return reply{sample: &sdk.CreateMessageResult{Role: "assistant", Model: cfg.Agent, StopReason: "endTurn", Content: &sdk.TextContent{Text: res.Response}}}
}

// samplingMessages returns the conversation that a server wants answered. Only text is supported.
func samplingMessages(p *sdk.CreateMessageParams) ([]*llm.Message, error) {
	var out []*llm.Message
	size := len(p.SystemPrompt)
	for i, m := range p.Messages {
		text, ok := m.Content.(*sdk.TextContent)
		if !ok {
			return nil, fmt.Errorf("messages[%d] has content other than text", i)
		}
		size += len(text.Text)
		msg := llm.UserText(text.Text)
		if m.Role == "assistant" {
			msg = &llm.Message{Role: llm.Assistant, Content: []llm.Block{llm.Text(text.Text)}}
		}
		out = append(out, msg)
	}
	switch {
	case size > maxSample:
		return nil, fmt.Errorf("the messages have %d bytes, want at most %d", size, maxSample)
	case len(out) == 0 || out[len(out)-1].Role != llm.User:
		return nil, fmt.Errorf("the last message is not one of the user")
	}
	if s := strings.TrimSpace(p.SystemPrompt); s != "" { // it is the server's, not the operator's
		out = append([]*llm.Message{llm.UserText(s)}, out...)
	}
	return out, nil
}

// withDefaults returns s with the defaults of all fields that have one.
func (s Sampling) withDefaults() *Sampling {
	s.MaxPerCall = cmp.Or(s.MaxPerCall, 3)
	return &s
}
