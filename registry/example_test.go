package registry_test

import (
	"fmt"
	"log"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
)

// The program of the package comment: an edit derives a new registry and leaves the old one
// as it is.
func Example() {
	reg, err := registry.New(registry.Config{
		ID:        "v1",
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "chat"}},
		Models:    []awaken.ModelSpec{{ID: "chat", ProviderID: "demo", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"demo": llmtest.Demo()},
		Builtin:   builtin.For,
	})
	if err != nil {
		log.Fatal(err) // a *awaken.ConfigError that lists all problems
	}
	next, err := reg.Derive(registry.Edit{ID: "v2", Agents: []*awaken.AgentSpec{{ID: "clerk", ModelID: "chat"}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reg.ID(), reg.AgentIDs())
	fmt.Println(next.ID(), next.AgentIDs())
	// Output:
	// v1 [default]
	// v2 [clerk default]
}
