package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
)

// query is a tool with which a model lists or reads the resources or prompts of a server. It has no side
// effect.
type query struct {
	conn *Connection
	name string
	spec awaken.ToolSpec
	ask  func(ctx context.Context, s *session, q *queryArgs) ([]llm.Block, error)
}

// queryArgs are the arguments of queries.
type queryArgs struct {
	URI       string            `json:"uri"`
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments"`
}

// maxListed limits the resources and prompts that a model is shown.
const maxListed = 200

// queries returns the tools for what the server has besides tools.
func (c *Connection) queries() []awaken.Tool {
	c.mu.Lock()
	caps := c.caps
	c.mu.Unlock()
	var out []awaken.Tool
	add := func(name, about, params string, ask func(context.Context, *session, *queryArgs) ([]llm.Block, error)) {
		out = append(out, &query{conn: c, name: name, ask: ask, spec: awaken.ToolSpec{
			ID:          toolID(c.server.ID, name),
			Name:        name,
			Server:      c.server.ID,
			OwnName:     name,
			Description: fmt.Sprintf(about, c.server.ID),
			Parameters:  json.RawMessage(params),
			Category:    "mcp",
			Effect:      awaken.ReadOnly,
			Untrusted:   true,
			Egress:      c.server.egress(),
			Timeout:     c.server.Timeout,
			Metadata:    map[string]any{"mcp.server": c.server.ID, "mcp.transport": c.server.transport()},
		}})
	}
	if caps != nil && caps.Resources != nil {
		add("list_resources", "Lists the resources of the MCP server %s, with their addresses.", `{"type":"object","properties":{}}`, listResources)
		add("read_resource", "Reads a resource of the MCP server %s.", `{"type":"object","properties":{"uri":{"type":"string","description":"address of the resource"}},"required":["uri"]}`, readResource)
	}
	if caps != nil && caps.Prompts != nil {
		add("list_prompts", "Lists the prompts of the MCP server %s, with their arguments.", `{"type":"object","properties":{}}`, listPrompts)
		add("get_prompt", "Gets a prompt of the MCP server %s: instructions for a task.",
			`{"type":"object","properties":{"name":{"type":"string","description":"name of the prompt"},"arguments":{"type":"object","additionalProperties":{"type":"string"}}},"required":["name"]}`, getPrompt)
	}
	return out
}

// Spec implements [awaken.Tool].
func (q *query) Spec() awaken.ToolSpec { return q.spec }

// Call implements [awaken.Tool].
func (q *query) Call(ctx context.Context, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	var in queryArgs
	if len(call.Args) > 0 {
		if err := json.Unmarshal(call.Args, &in); err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
	}
	d, _ := resumed(call)
	s, err := q.conn.acquireFor(ctx, call)
	var blocks []llm.Block
	if err == nil {
		blocks, err = q.ask(ctx, s, &in)
	}
	if needed, ok := errors.AsType[*oauth.Needed](err); ok {
		return nil, q.conn.askAuthorization(ctx, call, &d, false, needed)
	}
	if s == nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("MCP server %q: %s", q.conn.server.ID, cut(q.conn.server.hide(err.Error()), maxLine))
	}
	d.end(call)
	res := &awaken.ToolResult{Metadata: map[string]any{"mcp.server": q.conn.server.ID}}
	text, files := split(blocks)
	if len(files) > 0 {
		res.Content = shorten(blocks, q.conn.server.MaxResult)
		return res, nil
	}
	res.Data, err = json.Marshal(cut(text, q.conn.server.MaxResult))
	return res, err
}

// errInput is the error of a query that the server answers with a question.
var errInput = errors.New("it asks for input, which only its tools may do")

func listResources(ctx context.Context, s *session, _ *queryArgs) ([]llm.Block, error) {
	var lines []string
	for r, err := range s.Resources(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if len(lines) == maxListed {
			lines = append(lines, "[further resources are left out]")
			break
		}
		lines = append(lines, about(r.URI, r.Title, r.Name, r.Description, r.MIMEType))
	}
	for r, err := range s.ResourceTemplates(ctx, nil) {
		if err != nil || len(lines) > maxListed {
			break // servers without templates may not know the word
		}
		lines = append(lines, about(r.URITemplate, r.Title, r.Name, r.Description, r.MIMEType))
	}
	return lineBlocks(lines, "The server has no resources."), nil
}

func listPrompts(ctx context.Context, s *session, _ *queryArgs) ([]llm.Block, error) {
	var lines []string
	for p, err := range s.Prompts(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if len(lines) == maxListed {
			lines = append(lines, "[further prompts are left out]")
			break
		}
		var args []string
		for _, a := range p.Arguments {
			arg := a.Name
			if a.Required {
				arg += " (required)"
			}
			args = append(args, arg)
		}
		lines = append(lines, about(p.Name, p.Title, p.Description, strings.Join(args, ", ")))
	}
	return lineBlocks(lines, "The server has no prompts."), nil
}

// about describes something by its name and what else is known of it.
func about(name string, rest ...string) string {
	out := name
	for _, r := range rest {
		if r != "" && r != name {
			out += " - " + cut(oneLine(r), maxLine)
		}
	}
	return out
}

// lineBlocks returns lines as text, or a text that there are none.
func lineBlocks(lines []string, none string) []llm.Block {
	if len(lines) == 0 {
		return []llm.Block{llm.Text(none)}
	}
	return []llm.Block{llm.Text(strings.Join(lines, "\n"))}
}

func readResource(ctx context.Context, s *session, q *queryArgs) ([]llm.Block, error) {
	res, err := s.ReadResource(ctx, &sdk.ReadResourceParams{URI: q.URI})
	if err != nil {
		return nil, err
	}
	if res.NeedsInput() {
		return nil, errInput
	}
	var out []llm.Block
	for _, c := range res.Contents {
		if c != nil && len(out) < maxBlocks {
			out = append(out, resource(c))
		}
	}
	return out, nil
}

func getPrompt(ctx context.Context, s *session, q *queryArgs) ([]llm.Block, error) {
	res, err := s.GetPrompt(ctx, &sdk.GetPromptParams{Name: q.Name, Arguments: q.Arguments})
	if err != nil {
		return nil, err
	}
	if res.NeedsInput() {
		return nil, errInput
	}
	var out []llm.Block
	for _, m := range res.Messages {
		if m != nil && len(out) < maxBlocks {
			out = append(out, llm.Text(string(m.Role)+":"))
			out = append(out, contentBlocks([]sdk.Content{m.Content})...)
		}
	}
	return out, nil
}
