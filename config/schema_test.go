package config

import (
	"encoding/json"
	"testing"

	"github.com/awaken-go/awaken/internal/schema"
)

// What a namespace takes, its schema takes, and what the schema takes has no unknown field.
func TestSchema(t *testing.T) {
	for ns, k := range kinds {
		raw := Schema(ns)
		s, err := schema.Compile(raw)
		if err != nil {
			t.Fatalf("%s: %v", ns, err)
		}
		good := []string{least[ns], string(mustSeal(t, Key{ns, "x"}, least[ns], "").Doc), k.least, examples[ns]}
		for _, doc := range good {
			if err := s.Check([]byte(doc)); err != nil {
				t.Errorf("%s: %s: %v", ns, doc, err)
			}
		}
		for _, doc := range []string{`{}`, `[]`, `{"id":7}`} {
			if s.Check([]byte(doc)) == nil {
				t.Errorf("%s takes %s", ns, doc)
			}
		}
		tree, _ := parse([]byte(least[ns]))
		tree["unknown"] = 1
		if s.Check(encode(tree)) == nil {
			t.Errorf("%s takes an unknown field", ns)
		}
		var fields struct {
			Properties map[string]struct{ Description string }
		}
		if err := json.Unmarshal(raw, &fields); err != nil {
			t.Fatal(err)
		}
		for name, f := range fields.Properties {
			if f.Description == "" {
				t.Errorf("%s: %s has no description", ns, name)
			}
		}
	}
	if Schema("others") != nil {
		t.Error("there is a schema of others")
	}
}

// examples are documents that say much. The pages of the documentation have them.
var examples = map[Namespace]string{
	Agents: `{
  "id": "x",
  "description": "Answers questions about sources.",
  "model_id": "research-pool",
  "system_prompt": "You help with source-grounded research.",
  "max_rounds": 12,
  "stop_conditions": [{"type": "timeout", "seconds": 600}, {"type": "cost_budget", "max_usd": 0.5}],
  "reasoning_effort": "medium",
  "tool_execution_mode": "parallel_streaming",
  "plugin_ids": ["permission"],
  "allowed_tools": ["web_search"],
  "allowed_tool_patterns": ["mcp__docs__*"],
  "context_policy": {"max_context_tokens": 120000, "autocompact_threshold": 90000},
  "budget": {"run_usd": 1},
  "sections": {"permission": {"default_behavior": "ask"}}
}`,
	Models: `{
  "id": "x",
  "provider_id": "anthropic-prod",
  "upstream_model": "claude-sonnet-4-20250514",
  "context_window": 200000,
  "max_output_tokens": 64000,
  "modalities": {"input": ["text", "image"], "output": ["text"]},
  "knowledge_cutoff": "2025-03",
  "input_token_price_per_million_usd": 3,
  "output_token_price_per_million_usd": 15
}`,
	Pools: `{
  "id": "x",
  "members": [{"model_id": "research-default", "weight": 3}, {"model_id": "research-fallback", "role": "failover_only"}],
  "routing": {"home": "deterministic", "sticky_scope": "thread"},
  "switch": {"on_quota": true, "quota_retry_after_threshold_secs": 10, "max_switches_per_session": 2}
}`,
	Providers: `{
  "id": "x",
  "adapter": "anthropic",
  "api_key": "sk-…",
  "base_url": null,
  "timeout_secs": 300,
  "adapter_options": {"headers": {"X-Team": "research"}}
}`,
	MCPServers: `{
  "id": "x",
  "transport": "stdio",
  "command": "mcp-docs",
  "args": ["--read-only"],
  "env": {"DOCS_TOKEN": "…"},
  "restart_policy": {"enabled": true, "max_attempts": 5}
}`,
	A2AServers: `{
  "id": "x",
  "base_url": "https://agent.example.com/v1/a2a",
  "auth": {"type": "bearer", "token": "…"}
}`,
	Skills: `{
  "id": "x",
  "name": "Release notes",
  "description": "Writes release notes from a list of changes.",
  "instructions_md": "Group the changes by what they mean for users.",
  "allowed_tools": ["read_document"],
  "when_to_use": "When somebody asks what is new in a version.",
  "arguments": [{"name": "version", "required": true}]
}`,
	Tools: `{
  "id": "x",
  "name": "Web search",
  "description": "Finds pages.",
  "parameters_schema": {"type": "object", "properties": {"query": {"type": "string"}}}
}`,
}
