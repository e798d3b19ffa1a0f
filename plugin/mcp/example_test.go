package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/mcp"
)

// An agent uses the tool of a server.
func Example() {
	clock := sdk.NewServer(&sdk.Implementation{Name: "clock", Version: "1"}, nil)
	sdk.AddTool(clock, &sdk.Tool{Name: "time", Description: "Tells the time."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "12:00"}}}, nil, nil
	})
	srv := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return clock }, nil))
	defer srv.Close()

	tools, err := mcp.New(mcp.Config{
		Servers: []mcp.Server{{ID: "clock", URL: srv.URL}},
		Options: mcp.Options{Client: http.DefaultClient}, // the default client reaches public addresses only
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tools.Close()
	ctx := context.Background()
	if err := tools.Ready(ctx); err != nil {
		fmt.Println(err)
		return
	}
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{mcp.PluginID}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(llmtest.Use("mcp__clock__time", `{}`), llmtest.Say("It is noon."))},
		Plugins:   []awaken.Plugin{tools},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := rt.Run(ctx, awaken.RunRequest{Messages: []*llm.Message{llm.UserText("What time is it?")}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Response)
	// Output:
	// It is noon.
}
