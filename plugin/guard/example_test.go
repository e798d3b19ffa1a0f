package guard_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/guard"
)

// calm takes the excitement out of answers.
type calm struct{}

func (calm) Check(_ context.Context, t guard.Text) (guard.Verdict, error) {
	return guard.Rewrite(strings.ReplaceAll(t.Text, "!", ".")), nil
}

// A guard of your own.
func Example() {
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{"calm"}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript(llmtest.Say("Hello! How are you!"))},
		Plugins:   []awaken.Plugin{guard.New("calm", calm{}, awaken.OutputPoint)},
	})
	if err != nil {
		panic(err)
	}
	res, err := rt.Run(context.Background(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("Hi!")}}, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(res.Response)
	// Output: Hello. How are you.
}
