package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeMCP is an MCP server that needs nothing: no network, no files, no keys. It has a tool of each kind: one that
// only answers, one with a structured result, one that reports progress, and one that asks the user. It serves
// until in ends.
func ServeMCP(ctx context.Context, version string, in io.ReadCloser, out io.WriteCloser) error {
	s := sdk.NewServer(&sdk.Implementation{Name: "awaken-demo", Version: version}, nil)
	readOnly := &sdk.ToolAnnotations{ReadOnlyHint: true}
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says the text again.", Annotations: readOnly}, func(_ context.Context, _ *sdk.CallToolRequest, in struct {
		Text string `json:"text" jsonschema:"what to say"`
	}) (*sdk.CallToolResult, any, error) {
		return text(in.Text), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "add", Description: "Adds two numbers.", Annotations: readOnly}, add)
	sdk.AddTool(s, &sdk.Tool{Name: "count", Description: "Counts to a number, and reports each step.", Annotations: readOnly}, countTo)
	s.AddTool(&sdk.Tool{Name: "greet", Description: "Asks the user for a name, and greets.", InputSchema: json.RawMessage(`{"type":"object"}`)}, greet)
	s.AddResource(&sdk.Resource{URI: "demo://readme", Name: "readme", Description: "What this server is.", MIMEType: "text/plain"},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "demo://readme", MIMEType: "text/plain", Text: "A server for trying out the tools of MCP servers."}}}, nil
		})
	s.AddPrompt(&sdk.Prompt{Name: "haiku", Description: "Asks for a haiku.", Arguments: []*sdk.PromptArgument{{Name: "topic", Required: true}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "Write a haiku about " + r.Params.Arguments["topic"] + "."}}}}, nil
		})
	return s.Run(ctx, &sdk.IOTransport{Reader: in, Writer: out})
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

type sum struct {
	Sum float64 `json:"sum"`
}

func add(_ context.Context, _ *sdk.CallToolRequest, in struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}) (*sdk.CallToolResult, sum, error) {
	return nil, sum{in.A + in.B}, nil
}

func countTo(ctx context.Context, r *sdk.CallToolRequest, in struct {
	To int `json:"to" jsonschema:"1 to 100"`
}) (*sdk.CallToolResult, any, error) {
	if in.To < 1 || in.To > 100 {
		return nil, nil, fmt.Errorf("to is %d, want 1 to 100", in.To)
	}
	for i := 1; i <= in.To && r.Params.GetProgressToken() != nil; i++ {
		p := &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Total: float64(in.To), Message: fmt.Sprintf("I am at %d", i)}
		if err := r.Session.NotifyProgress(ctx, p); err != nil {
			return nil, nil, err
		}
	}
	return text(fmt.Sprintf("I counted to %d.", in.To)), nil, nil
}

// greet asks with its first answer, and is called again with the name.
func greet(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	said, ok := r.Params.InputResponses["name"].(*sdk.ElicitResult)
	switch {
	case !ok:
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"name": &sdk.ElicitParams{Message: "What is your name?",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}}}, nil
	case said.Action != "accept":
		return text("Hello, whatever your name is!"), nil
	}
	return text(fmt.Sprintf("Hello, %v!", said.Content["name"])), nil
}
