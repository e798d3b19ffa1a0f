package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/llm/provider"
	"github.com/awaken-go/awaken/plugin/mcp"
	"github.com/awaken-go/awaken/store/memory"
)

// client is an agent with the tools of a server of the suite. It calls each of them once.
type client struct {
	conn  *mcp.Connection
	tools map[string]awaken.Tool // by the names of the server
}

// act is the client that the suite starts: it connects to a server, has an agent call its tools, and answers
// what the server asks as a person does who accepts every default.
func act(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 25*time.Second) // the suite gives it 30
	defer cancel()
	local := provider.Guarded(netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")) // where the suite serves
	u, err := newUser(local)
	if err != nil {
		return err
	}
	auth, err := guarded(os.Getenv("MCP_CONFORMANCE_SCENARIO"))
	if err != nil {
		return err
	}
	p, err := mcp.New(mcp.Config{Servers: []mcp.Server{{ID: "suite", URL: url, Restart: mcp.Restart{Never: true}, OAuth: auth}}, Options: mcp.Options{Client: local, OAuth: u.broker}})
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.Ready(ctx); err != nil {
		return err
	}
	if auth != nil && auth.Grant == "" {
		if err := u.authorize(ctx, p); err != nil {
			return err
		}
	}
	c := &client{conn: p.Connection("suite"), tools: map[string]awaken.Tool{}}
	for _, t := range c.conn.Tools() {
		name, own := t.Spec().Metadata["mcp.tool"].(string)
		if !own { // it lists or reads what the server has besides tools
			name = t.Spec().Name
		}
		c.tools[name] = t
	}
	calls, err := c.plan(ctx)
	if err != nil {
		return err
	}
	var turns []llmtest.Turn
	for _, call := range calls {
		if t := c.tools[call.Name]; t != nil { // the client has left out what it must not call
			turns = append(turns, llmtest.Use(t.Spec().ID, string(call.Arguments)))
		}
	}
	return u.run(ctx, p, append(turns, llmtest.Say("done")))
}

// call is a call of a tool.
type call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// plan returns the calls to make: those that the suite wants, or one of each tool.
func (c *client) plan(ctx context.Context) ([]call, error) {
	var wanted struct {
		ToolCalls []call `json:"toolCalls"`
	}
	if v := os.Getenv("MCP_CONFORMANCE_CONTEXT"); v != "" {
		if err := json.Unmarshal([]byte(v), &wanted); err != nil {
			return nil, fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	if len(wanted.ToolCalls) > 0 {
		return wanted.ToolCalls, nil
	}
	var calls []call
	for _, name := range slices.Sorted(maps.Keys(c.tools)) {
		args, err := c.arguments(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", name, err)
		}
		calls = append(calls, call{name, args})
	}
	return calls, nil
}

// arguments returns arguments that fit the parameters of a tool.
func (c *client) arguments(ctx context.Context, tool string) (json.RawMessage, error) {
	var params struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(c.tools[tool].Spec().Parameters, &params); err != nil {
		return nil, err
	}
	args := map[string]any{}
	for name, p := range params.Properties {
		switch p.Type {
		case "string":
			args[name] = "text"
		case "number", "integer":
			args[name] = 1
		case "boolean":
			args[name] = true
		}
	}
	switch tool {
	case "json_schema_echo": // sends back the schema of the other tool
		args["schema"] = c.tools["json_schema_2020_12_tool"].Spec().Parameters
	case "read_resource", "get_prompt":
		if err := c.choose(ctx, args); err != nil {
			return nil, err
		}
	}
	return json.Marshal(args)
}

// choose makes the first resource and the first prompt of the server arguments.
func (c *client) choose(ctx context.Context, args map[string]any) error {
	list, err := c.conn.Inventory(ctx)
	if err != nil {
		return err
	}
	for _, item := range slices.Concat(list.Resources, list.Prompts) {
		var v struct {
			Resource *struct {
				URI string `json:"uri"`
			} `json:"resource"`
			Prompt *struct {
				Name string `json:"name"`
			} `json:"prompt"`
		}
		if err := json.Unmarshal(item, &v); err != nil {
			return err
		}
		if _, ok := args["uri"]; ok && v.Resource != nil {
			args["uri"] = v.Resource.URI
		}
		if _, ok := args["name"]; ok && v.Prompt != nil {
			args["name"] = v.Prompt.Name
		}
	}
	return nil
}

// run runs an agent of the user whose model makes turns, and answers the questions that it waits for.
func (u *user) run(ctx context.Context, p awaken.Plugin, turns []llmtest.Turn) error {
	rt, err := engine.New(engine.Config{
		Agents: []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{mcp.PluginID}, MaxRounds: new(len(turns) + 1)}}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "m", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"m": llmtest.NewScript(turns...)}, Plugins: []awaken.Plugin{p}, Store: memory.New()})
	if err != nil {
		return err
	}
	req := awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("go")}}
	show := awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
		if done, ok := e.Event.(*awaken.ToolCallDone); ok {
			data, err := json.Marshal(done)
			fmt.Println(string(data))
			return err
		}
		return nil
	})
	for {
		res, err := rt.Run(ctx, req, show)
		switch {
		case err != nil:
			return err
		case res.Waiting == nil && res.Status != awaken.RunDone:
			return fmt.Errorf("the run is %s", res.Status)
		case res.Waiting == nil:
			return nil
		case len(res.Waiting.Tickets) == 0:
			return errors.New("the run waits for nothing")
		}
		req = awaken.RunRequest{ThreadID: "t"}
		for i := range res.Waiting.Tickets {
			d, err := u.decide(ctx, &res.Waiting.Tickets[i])
			if err != nil {
				return err
			}
			req.Decisions = append(req.Decisions, d)
		}
	}
}
