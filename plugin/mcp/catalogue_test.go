package mcp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/plugin/mcp"
)

func TestCatalogue_ModelsReadResourcesAndPrompts(t *testing.T) {
	srv := newServer()
	read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		c := &sdk.ResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: "the text"}
		if strings.HasSuffix(r.Params.URI, ".png") {
			c = &sdk.ResourceContents{URI: r.Params.URI, MIMEType: "image/png", Blob: []byte("png")}
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
	}
	srv.AddResource(&sdk.Resource{URI: "file:///a.txt", Name: "a.txt", Description: "notes"}, read)
	srv.AddResource(&sdk.Resource{URI: "file:///b.png", Name: "b.png"}, read)
	srv.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "file:///{name}", Name: "any"}, read)
	srv.AddPrompt(&sdk.Prompt{Name: "greet", Description: "Greets.", Arguments: []*sdk.PromptArgument{{Name: "who", Required: true}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "Greet " + r.Params.Arguments["who"]}}}}, nil
	})
	sdk.AddTool(srv, &sdk.Tool{Name: "list_prompts", Description: "The server's own."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "own"}}}, nil, nil
	})
	get := func(*http.Request) *sdk.Server { return srv }
	for _, stateless := range []bool{false, true} {
		c := connect(t, mcp.Server{ID: "s", URL: serve(t, sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{Stateless: stateless}))}, local)
		for _, x := range []struct{ tool, args, want string }{
			{"list_resources", `{}`, "file:///a.txt - a.txt - notes\nfile:///b.png - b.png\nfile:///{name} - any"},
			{"read_resource", `{"uri":"file:///a.txt"}`, "the text"},
			{"get_prompt", `{"name":"greet","arguments":{"who":"Ada"}}`, "user:\nGreet Ada"},
			{"list_prompts", `{}`, "own"},
		} {
			if res := call(t, c, "mcp__s__"+x.tool, x.args); res.Status != awaken.ToolSuccess || res.Plain() != x.want {
				t.Errorf("%s: %+v, want %q", x.tool, res, x.want)
			}
		}
		if res := call(t, c, "mcp__s__read_resource", `{"uri":"file:///b.png"}`); len(res.Content) != 1 || res.Content[0].Type != llm.ImageBlock {
			t.Errorf("%+v", res)
		}
		if res := call(t, c, "mcp__s__get_prompt", `{"name":"missing"}`); res.Status != awaken.ToolError || !strings.Contains(res.Message, `MCP server "s"`) {
			t.Errorf("%+v", res)
		}
		v, err := c.Inventory(patience(t))
		if err != nil || len(v.Prompts) != 1 || len(v.Resources) != 2 || !strings.Contains(string(v.Resources[0]), `"server_name":"s","transport_type":"http"`) {
			t.Errorf("%+v, %v", v, err)
		}
	}
}
