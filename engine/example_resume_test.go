package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

// askFirst makes every call of delete_file wait for a person.
type askFirst struct{}

func (askFirst) Name() string { return "ask_first" }

func (askFirst) Register(r *awaken.Registrar) error {
	r.Gate(func(_ context.Context, h *awaken.HookCall) (awaken.Verdict, error) {
		if h.Tool.Tool != "delete_file" {
			return awaken.Allow(), nil
		}
		return awaken.SuspendCall(awaken.Ticket{Suspension: awaken.Suspension{
			Action: "confirm", Message: "May I delete a file?", Parameters: h.Tool.Args,
		}}), nil
	})
	return nil
}

// A call waits for a person, who edits its arguments and lets it go on. Between Run
// and Resume nothing is kept but what the store holds.
func ExampleRuntime_Resume() {
	remove := awaken.NewTool(awaken.ToolSpec{ID: "delete_file"},
		func(_ context.Context, _ *awaken.ToolCall, in struct {
			Path string `json:"path"`
		}) (string, error) {
			return "deleted " + in.Path, nil
		})
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "chat", PluginIDs: []string{"ask_first"}}},
		Models:    []awaken.ModelSpec{{ID: "chat", ProviderID: "demo", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"demo": llmtest.NewScript(llmtest.Use("delete_file", `{"path":"/"}`), llmtest.Say("Done."))},
		Tools:     []awaken.Tool{remove},
		Plugins:   []awaken.Plugin{askFirst{}},
		Store:     memory.New(),
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	res, err := rt.Run(ctx, awaken.RunRequest{Messages: []*llm.Message{llm.UserText("clean up")}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	ticket := res.Waiting.Tickets[0]
	fmt.Println(res.Status, ticket.ToolName, string(ticket.Arguments), ticket.Reason)

	show := awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
		if ev, ok := e.Event.(*awaken.ToolCallResumed); ok {
			fmt.Println(string(ev.Result))
		}
		return nil
	})
	res, err = rt.Resume(ctx, res.RunID, show, awaken.Decision{
		Target: ticket.TicketID, ID: "click-1", Action: awaken.ActionResume,
		Arguments: json.RawMessage(`{"path":"/tmp/x"}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.Response)
	// Output:
	// waiting delete_file {"path":"/"} May I delete a file?
	// "deleted /tmp/x"
	// done Done.
}
