package config_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/memory"
)

// A program whose agents are documents that change while it runs, and are rolled back.
func Example() {
	ctx := context.Background()
	vault, err := config.NewVault(config.NewKey())
	if err != nil {
		log.Fatal(err)
	}
	m, err := config.Open(ctx, config.Options{
		Store: memory.NewDB().Config(),
		Vault: vault,
		Provider: func(_ context.Context, spec *awaken.ProviderSpec) (llm.Model, error) {
			return parrot{spec.APIKey.Expose()}, nil // a real one makes a client of spec.Adapter
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	rt, err := engine.New(engine.Config{Versions: m, Store: memory.New()})
	if err != nil {
		log.Fatal(err)
	}

	admin := config.Actor{ID: "key-1", Label: "ada"}
	put := func(ns config.Namespace, id, spec string) {
		key := config.Key{Namespace: ns, ID: id}
		if _, err := m.Put(ctx, key, json.RawMessage(spec), false, config.Condition{}, admin); err != nil {
			log.Fatal(err)
		}
	}
	say := func() {
		res, err := rt.Run(ctx, awaken.RunRequest{AgentID: "helper", Messages: []*llm.Message{llm.UserText("hello")}}, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.Response)
	}
	put(config.Providers, "acme", `{"id":"acme","adapter":"openai","api_key":"sk-1"}`)
	put(config.Models, "fast", `{"id":"fast","provider_id":"acme","upstream_model":"acme-fast"}`)
	put(config.Agents, "helper", `{"id":"helper","model_id":"fast","system_prompt":"Be kind."}`)
	say()
	put(config.Agents, "helper", `{"id":"helper","model_id":"fast","system_prompt":"Be brief."}`)
	say()
	if _, err := m.Versions().Rollback(ctx, 3, admin); err != nil {
		log.Fatal(err)
	}
	say()
	// Output:
	// [sk-1]Be kind. acme-fast 0 tools
	// [sk-1]Be brief. acme-fast 0 tools
	// [sk-1]Be kind. acme-fast 0 tools
}
