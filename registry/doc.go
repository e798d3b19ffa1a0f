// Package registry resolves agents: it looks up the models, plugins and tools that their specs
// name, registers the plugins, and reports every problem that it finds.
//
// A [Registry] is immutable. Each agent is resolved once, and its runs share the result, an
// [Agent]. [Registry.Derive] makes an edited copy that shares everything that did not change,
// so that active runs keep the registry that they started with.
//
// A remote agent is one that another program runs, over a protocol ([RemoteAgent]); a variant
// is derived from an agent by one of its plugins ([awaken.Registrar.Variant]); a version is a
// registry that was published, by its id ([Versions]).
//
// Most of the package is for code that runs agents. Programs usually let engine.New build the
// registry, and use only [Registry.Derive] with engine.Runtime.Publish. To build one directly:
//
//	package main
//
//	import (
//		"fmt"
//		"log"
//
//		"github.com/awaken-go/awaken"
//		"github.com/awaken-go/awaken/state/builtin"
//		"github.com/awaken-go/awaken/llm"
//		"github.com/awaken-go/awaken/llm/llmtest"
//		"github.com/awaken-go/awaken/registry"
//	)
//
//	func main() {
//		reg, err := registry.New(registry.Config{
//			ID:        "v1",
//			Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "chat"}},
//			Models:    []awaken.ModelSpec{{ID: "chat", ProviderID: "demo", UpstreamModel: "scripted"}},
//			Providers: map[string]llm.Model{"demo": llmtest.Demo()},
//			Builtin:   builtin.For,
//		})
//		if err != nil {
//			log.Fatal(err) // a *awaken.ConfigError that lists all problems
//		}
//		next, err := reg.Derive(registry.Edit{ID: "v2", Agents: []*awaken.AgentSpec{{ID: "clerk", ModelID: "chat"}}})
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(reg.ID(), reg.AgentIDs())
//		fmt.Println(next.ID(), next.AgentIDs())
//	}
package registry
