package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/plugin/deferred"
	"github.com/awaken-go/awaken/registry"
)

// fieldCase describes a field: a valid value, an invalid one with part of its error, and
// the default ("" means none). Values are JSON.
type fieldCase struct{ good, bad, problem, def string }

// fieldCases has every field of every struct in documents, in overrides and in the sections
// of the runtime.
var fieldCases = map[string]map[string]fieldCase{
	"AgentSpec": {
		"id":                       {`"x"`, `" "`, "id is empty", ""},
		"description":              {`"d"`, `7`, `field "description" is a JSON number, want a string`, ""},
		"model_id":                 {`"m"`, `7`, `field "model_id" is a JSON number, want a string`, ""},
		"system_prompt":            {`"s"`, `["s"]`, `field "system_prompt" is a JSON array, want a string`, ""},
		"max_rounds":               {`3`, `-1`, "max_rounds is -1, want 0 or more", "16"},
		"max_continuation_retries": {`0`, `-1`, "max_continuation_retries is -1, want 0 or more", "2"},
		"stop_conditions":          {`[{"type":"loop_detection","window":4}]`, `[{"type":"loop_detection","window":65}]`, "window is 65, want at most 64", ""},
		"context_policy":           {`null`, `7`, "found a JSON number, want an object", ""},
		"reasoning_effort":         {`{"budget":5}`, `"huge"`, `reasoning effort is "huge", want "none"`, ""},
		"tool_execution_mode":      {`"parallel_streaming"`, `"parallel"`, `tool_execution_mode is "parallel", want sequential`, ""},
		"plugin_ids":               {`["p"]`, `["p","p"]`, `plugin_ids lists "p" twice`, ""},
		"active_hook_filter":       {`["p"]`, `[""]`, "active_hook_filter has an empty id", ""},
		"allowed_tools":            {`["a"]`, `"a"`, `field "allowed_tools" is a JSON string, want an array`, ""},
		"allowed_tool_patterns":    {`["a*"]`, `["\\"]`, `allowed_tool_patterns[0]: pattern "\\"`, ""},
		"excluded_tools":           {`["a"]`, `[""]`, "excluded_tools has an empty id", ""},
		"excluded_tool_patterns":   {`["a*"]`, `["\\"]`, `excluded_tool_patterns[0]: pattern "\\"`, ""},
		"output_schema":            {`{"type":"object"}`, ``, "", ""},
		"max_output_repairs":       {`0`, `-1`, "max_output_repairs is -1, want 0 or more", ""},
		"budget":                   {`null`, `7`, `field "budget" is a JSON number, want an object`, ""},
		"trust_clients":            {`true`, `"yes"`, `field "trust_clients" is a JSON string`, ""},
		"delegates":                {`["d"]`, `["d","d"]`, `delegates lists "d" twice`, ""},
		"sections":                 {`{"retry":{"max_retries":1}}`, `{"retry":null}`, `sections["retry"] is null, want an object`, ""},
		"backend":                  {`{"kind":"other","version":1}`, `{"kind":"awaken","config":{"modl_id":"m"}}`, `backend.config has an unknown field "modl_id"`, ""},
		"endpoint":                 {`null`, `{}`, `endpoint.base_url is "", want a URL`, ""},
		"registry":                 {`"r"`, `7`, `field "registry" is a JSON number, want a string`, ""},
	},
	"AgentBudget": {"agent_usd": {`1.5`, `-1`, "budget.agent_usd is -1, want 0 to", ""}},
	"RunBudget": {
		"thread_usd": {`1.5`, `-1`, "budget.thread_usd is -1, want 0 to", ""},
		"run_usd":    {`1.5`, `-1`, "budget.run_usd is -1, want 0 to", ""},
	},
	"ContextPolicy": {
		"max_context_tokens":             {`20000`, `0`, "context_policy.max_context_tokens is 0, want more than 0", "200000"},
		"max_output_tokens":              {`0`, `200001`, "context_policy.max_output_tokens is 200001, want 0 to max_context_tokens (200000)", "16384"},
		"min_recent_messages":            {`0`, `-1`, "context_policy.min_recent_messages is -1, want 0 or more", "10"},
		"enable_prompt_cache":            {`false`, `1`, `field "enable_prompt_cache" is a JSON number, want true or false`, "true"},
		"autocompact_threshold":          {`9000`, `0`, "context_policy.autocompact_threshold is 0, want more than 0", ""},
		"compaction_mode":                {`"compact_to_safe_frontier"`, `"CompactToSafeFrontier"`, `context_policy.compaction_mode is "CompactToSafeFrontier", want keep_recent_raw_suffix`, `"keep_recent_raw_suffix"`},
		"compaction_raw_suffix_messages": {`0`, `-1`, "context_policy.compaction_raw_suffix_messages is -1, want 0 or more", "2"},
	},
	"Backend": {
		"kind":    {`"other"`, `7`, `field "backend.kind" is a JSON number, want a string`, `"awaken"`},
		"version": {`2`, `"2"`, `field "backend.version" is a JSON string, want a whole number`, "1"},
		"config":  {`{"a":1}`, `[]`, `field "backend.config" is a JSON array, want an object`, ""},
	},
	"RemoteEndpoint": {
		"backend":    {`"other"`, `7`, `field "endpoint.backend" is a JSON number, want a string`, `"a2a"`},
		"base_url":   {`"http://h/v1"`, `"h"`, `endpoint.base_url is "h", want a URL`, ""},
		"auth":       {`{"type":"bearer","token":"t"}`, `{"type":"bearer"}`, "endpoint.auth.token is empty", ""},
		"target":     {`"t"`, `7`, `field "endpoint.target" is a JSON number, want a string`, ""},
		"timeout_ms": {`1`, `-1`, "endpoint.timeout_ms is -1, want more than 0", "300000"},
		"options":    {`{"a":1}`, `[]`, `field "endpoint.options" is a JSON array, want an object`, ""},
	},
	"RemoteAuth": {
		"type":  {`"bearer"`, `"basic"`, `endpoint.auth.type is "basic", want bearer`, ""},
		"token": {`"t"`, `""`, "endpoint.auth.token is empty", ""},

		"header":        {`"X-Key"`, `7`, `field "endpoint.auth.header" is a JSON number, want a string`, ""},
		"token_url":     {`"https://t/token"`, `"t"`, `endpoint.auth.token_url is "t", want a URL`, ""},
		"client_id":     {`"me"`, `""`, "endpoint.auth.client_id is empty", ""},
		"client_secret": {`"s"`, `""`, "endpoint.auth.client_secret is empty", ""},
		"scopes":        {`["a"]`, `"a"`, `field "endpoint.auth.scopes" is a JSON string, want an array`, ""},
	},
	"ModelSpec": {
		"id":                {`"x"`, `""`, "id is empty", ""},
		"provider_id":       {`"p"`, `""`, "provider_id is empty", ""},
		"upstream_model":    {`"m"`, `" "`, "upstream_model is empty", ""},
		"context_window":    {`1000`, `-1`, "context_window is -1, want 0 or more", ""},
		"max_output_tokens": {`1000`, `-1`, "max_output_tokens is -1, want 0 or more", ""},
		"modalities":        {`{"input":["pdf"]}`, `["text"]`, `field "modalities" is a JSON array, want an object`, ""},
		"knowledge_cutoff":  {`"2025-03-01"`, `"March"`, `knowledge_cutoff is "March", want YYYY-MM or YYYY-MM-DD`, ""},
		"structured_output": {`false`, `"no"`, `field "structured_output" is a JSON string, want true or false`, ""},
		"capabilities":      {`{"reasoning":"none"}`, `["reasoning"]`, `field "capabilities" is a JSON array, want an object`, ""},
		"circuit_breaker":   {`{"cooldown_secs":5}`, `[5]`, `field "circuit_breaker" is a JSON array, want an object`, ""},
	},
	"BreakerSettings": {
		"failure_threshold": {`1`, `-1`, `circuit_breaker.failure_threshold is -1, want 0 or more`, ""},
		"cooldown_secs":     {`1`, `-1`, `circuit_breaker.cooldown_secs is -1, want 0 or more`, ""},
		"half_open_max":     {`1`, `-1`, `circuit_breaker.half_open_max is -1, want 0 or more`, ""},
	},
	"ModelCapabilities": {
		"reasoning":      {`"levels"`, `"yes"`, `capabilities.reasoning is "yes", want none`, ""},
		"temperature":    {`false`, `1`, `field "capabilities.temperature" is a JSON number, want true or false`, ""},
		"top_p":          {`false`, `1`, `field "capabilities.top_p" is a JSON number, want true or false`, ""},
		"parallel_tools": {`false`, `1`, `field "capabilities.parallel_tools" is a JSON number, want true or false`, ""},
		"seed":           {`false`, `1`, `field "capabilities.seed" is a JSON number, want true or false`, ""},
	},
	"Modalities": {
		"input":  {`["text","image","audio","video","pdf"]`, `["smell"]`, `modalities.input[0] is "smell", want text`, ""},
		"output": {`["text"]`, `["text","text"]`, `modalities.output lists "text" twice`, ""},
	},
	"Prices": {
		"input_token_price_per_million_usd":       {`3`, `-1`, "input_token_price_per_million_usd is -1, want 0 to", ""},
		"output_token_price_per_million_usd":      {`3`, `-1`, "output_token_price_per_million_usd is -1, want 0 to", ""},
		"cache_read_token_price_per_million_usd":  {`3`, `-1`, "cache_read_token_price_per_million_usd is -1, want 0 to", ""},
		"cache_write_token_price_per_million_usd": {`3`, `-1`, "cache_write_token_price_per_million_usd is -1, want 0 to", ""},
		"reasoning_token_price_per_million_usd":   {`3`, `-1`, "reasoning_token_price_per_million_usd is -1, want 0 to", ""},
	},
	"ModelPoolSpec": {
		"id":      {`"x"`, `""`, "id is empty", ""},
		"members": {`[{"model_id":"a","role":"member"},{"model_id":"b","role":"failover_only"}]`, `[]`, "members has none of role member", ""},
		"routing": {`{"home":"round_robin","sticky_scope":"run"}`, `{"hom":"x"}`, `unknown field "hom", did you mean "home"?`, ""},
		"switch":  {`{"on_circuit_open":false,"on_permanent":false,"on_quota":false}`, `{"on_quotas":true}`, `unknown field "on_quotas", did you mean "on_quota"?`, ""},
	},
	"PoolMember": {
		"model_id": {`"m"`, `""`, "members[0].model_id is empty", ""},
		"weight":   {`3`, `0`, "members[0].weight is 0, want a finite number above 0", ""},
		"role":     {`"member"`, `"boss"`, `members[0].role is "boss", want member or failover_only`, `"member"`},
	},
	"PoolRouting": {
		"home":         {`"first_healthy"`, `"random"`, `routing.home is "random", want deterministic`, `"deterministic"`},
		"sticky_scope": {`"run"`, `"user"`, `routing.sticky_scope is "user", want thread or run`, `"thread"`},
	},
	"PoolSwitch": {
		"on_circuit_open":                  {`false`, `1`, `field "switch.on_circuit_open" is a JSON number`, "true"},
		"on_quota":                         {`false`, `1`, `field "switch.on_quota" is a JSON number`, "true"},
		"quota_retry_after_threshold_secs": {`0`, `-1`, "switch.quota_retry_after_threshold_secs is -1, want 0 or more", ""},
		"on_permanent":                     {`false`, `1`, `field "switch.on_permanent" is a JSON number`, "true"},
		"max_switches_per_session":         {`0`, `-1`, "switch.max_switches_per_session is -1, want 0 or more", ""},
	},
	"ProviderSpec": {
		"id":              {`"x"`, `""`, "id is empty", ""},
		"adapter":         {`"openai"`, `""`, "adapter is empty", ""},
		"api_key":         {`"k"`, `7`, `field "api_key" is a JSON number, want a string`, ""},
		"base_url":        {`"http://h/v1"`, `"h"`, `base_url is "h", want a URL`, ""},
		"timeout_secs":    {`1`, `-1`, "timeout_secs is -1, want 0 or more", "300"},
		"adapter_options": {`{"model_discovery_auth":"none","model_discovery_schema":"openrouter","scopes":["s"],"allow_env_credentials":true}`, `{"model_discovery_auth":"basic"}`, `adapter_options.model_discovery_auth is "basic", want bearer`, ""},
		"rate_limits":     {`{"requests_per_minute":600}`, `{"rpm":600}`, `unknown field "rpm"`, ""},
	},
	"RateLimits": {
		"models":     {`{"m":{"requests_per_minute":1}}`, `{"m":{"tokens_per_minute":-1}}`, `rate_limits.models["m"].tokens_per_minute is -1, want 0 or more`, ""},
		"per_tenant": {`{"requests_per_minute":60}`, `{"requests_per_minute":-1}`, "rate_limits.per_tenant.requests_per_minute is -1, want 0 or more", ""},
		"tenants":    {`{"acme":{"requests_per_minute":60}}`, `{"acme":{"requests_per_minute":-1}}`, `rate_limits.tenants["acme"].requests_per_minute is -1, want 0 or more`, ""},
		"learn":      {`false`, `1`, `field "rate_limits.learn" is a JSON number, want true or false`, ""},
	},
	"Rate": {
		"requests_per_minute": {`600`, `-1`, "requests_per_minute is -1, want 0 or more", ""},
		"tokens_per_minute":   {`100000`, `-1`, "tokens_per_minute is -1, want 0 or more", ""},
	},
	"MCPServerSpec": {
		"id":             {`"x"`, `""`, "id is empty", ""},
		"transport":      {`"stdio"`, `"ftp"`, `transport is "ftp", want stdio, http or sse`, ""},
		"command":        {`"c"`, `""`, "command is empty, but transport stdio needs it", ""},
		"args":           {`["a"]`, `"a"`, `field "args" is a JSON string, want an array`, ""},
		"url":            {`""`, `"https://h"`, "url is set, but transport stdio does not use it", ""},
		"auth":           {`null`, `{"type":"oauth"}`, "auth is set, but transport stdio does not use it", ""},
		"config":         {`{"a":1}`, `[]`, `field "config" is a JSON array, want an object`, ""},
		"timeout_secs":   {`1`, `-1`, "timeout_secs is -1, want more than 0", "30"},
		"env":            {`{"A":"b"}`, `{"A=":"b"}`, `env has the variable name "A=", want one without =`, ""},
		"restart_policy": {`null`, `{"enable":true}`, `unknown field "enable", did you mean "enabled"?`, ""},
	},
	"MCPAuth": {
		"type":          {`"oauth"`, `"basic"`, `auth.type is "basic", want oauth`, ""},
		"grant":         {`"server"`, `"mine"`, `auth.grant is "mine", want user, server or client_credentials`, ""},
		"client_id":     {`"c"`, `""`, "auth.client_secret is set, but auth.client_id is empty", ""},
		"client_secret": {`"s"`, `1`, `field "auth.client_secret" is a JSON number, want a string`, ""},
		"scopes":        {`["a:b"]`, `["a b"]`, `auth.scopes has "a b", want a word without spaces and quotes`, ""},
		"issuer":        {`"https://h"`, `"h"`, `auth.issuer is "h", want a URL that begins with http:// or https://`, ""},
	},
	"RestartPolicy": {
		"enabled":            {`true`, `1`, `field "restart_policy.enabled" is a JSON number, want true or false`, "false"},
		"max_attempts":       {`0`, `-1`, "restart_policy.max_attempts is -1, want 0 or more", ""},
		"delay_ms":           {`5`, `-1`, "restart_policy.delay_ms is -1, want more than 0", "1000"},
		"backoff_multiplier": {`1.5`, `0.5`, "restart_policy.backoff_multiplier is 0.5, want 1 or more", "2"},
		"max_delay_ms":       {`1000`, `999`, "restart_policy.max_delay_ms is 999, want at least delay_ms (1000)", "30000"},
	},
	"A2AServerSpec": {
		"id":         {`"x"`, `""`, "id is empty", ""},
		"base_url":   {`"http://h"`, `""`, `base_url is "", want a URL`, ""},
		"auth":       {`{"type":"bearer","token":"t"}`, `{"type":"basic"}`, `auth.type is "basic", want bearer`, ""},
		"target":     {`"t"`, `7`, `field "target" is a JSON number, want a string`, ""},
		"timeout_ms": {`30000`, `30001`, "timeout_ms is 30001, want 1 to 30000", "10000"},
		"options":    {`{"a":1}`, `[]`, `field "options" is a JSON array, want an object`, ""},
	},
	"SkillSpec": {
		"id":              {`"x"`, `"X"`, `id is "X", want 1 to 64 lower-case letters, digits and -`, ""},
		"name":            {`"n"`, `"` + strings.Repeat("n", 129) + `"`, "name is 129 characters long, want at most 128", ""},
		"description":     {`"d"`, `"` + strings.Repeat("d", 1025) + `"`, "description is 1025 characters long, want at most 1024", ""},
		"instructions_md": {`"i"`, `""`, "instructions_md is empty", ""},
		"allowed_tools":   {`["a"]`, `[""]`, "allowed_tools has an empty id", ""},
		"when_to_use":     {`"w"`, `7`, `field "when_to_use" is a JSON number, want a string`, ""},
		"arguments":       {`[{"name":"a"}]`, `[{"name":"a"},{"name":"a"}]`, `arguments lists "a" twice`, ""},
		"argument_hint":   {`"h"`, `7`, `field "argument_hint" is a JSON number, want a string`, ""},
		"user_invocable":  {`false`, `0`, `field "user_invocable" is a JSON number, want true or false`, "true"},
		"model_invocable": {`false`, `0`, `field "model_invocable" is a JSON number, want true or false`, "true"},
		"model_override":  {`"m"`, `7`, `field "model_override" is a JSON number, want a string`, ""},
		"context":         {`"fork"`, `"thread"`, `context is "thread", want inline or fork`, `"inline"`},
		"paths":           {`null`, `["p"]`, "paths has 1 entries, want none", ""},
	},
	"SkillArgument": {
		"name":        {`"n"`, `""`, "arguments[0].name is empty", ""},
		"description": {`"d"`, `7`, `field "arguments.description" is a JSON number, want a string`, ""},
		"required":    {`true`, `7`, `field "arguments.required" is a JSON number, want true or false`, ""},
	},
	"ToolSpec": {
		"id":                {`"x"`, `""`, "id is empty", ""},
		"name":              {`"n"`, `7`, `field "name" is a JSON number, want a string`, ""},
		"description":       {`"d"`, `7`, `field "description" is a JSON number, want a string`, ""},
		"category":          {`"c"`, `7`, `field "category" is a JSON number, want a string`, ""},
		"parameters_schema": {`{"type":"object"}`, ``, "", ""},
	},
	"AgentPatch": {
		"description":              {`null`, `7`, `field "description" is a JSON number`, ""},
		"model_id":                 {`"m"`, `7`, `field "model_id" is a JSON number`, ""},
		"system_prompt":            {`"s"`, `7`, `field "system_prompt" is a JSON number`, ""},
		"max_rounds":               {`1`, `-1`, "max_rounds is -1", ""},
		"max_continuation_retries": {`1`, `-1`, "max_continuation_retries is -1", ""},
		"stop_conditions":          {`[]`, `[{"type":"x"}]`, `"x", want max_rounds`, ""},
		"context_policy":           {`null`, `{"max_context_tokens":0}`, "context_policy.max_context_tokens is 0", ""},
		"reasoning_effort":         {`"max"`, `"huge"`, `reasoning effort is "huge"`, ""},
		"tool_execution_mode":      {`"parallel_streaming"`, `"parallel"`, `tool_execution_mode is "parallel"`, ""},
		"output_schema":            {`{"type":"object"}`, ``, "", ""},
		"max_output_repairs":       {`0`, `-1`, "max_output_repairs is -1", ""},
		"budget":                   {`null`, `7`, `field "budget" is a JSON number`, ""},
		"trust_clients":            {`false`, `"yes"`, `field "trust_clients" is a JSON string`, ""},
		"plugin_ids":               {`[]`, `["p","p"]`, `plugin_ids lists "p" twice`, ""},
		"active_hook_filter":       {`["p"]`, `[""]`, "active_hook_filter has an empty id", ""},
		"allowed_tools":            {`null`, `"a"`, `field "allowed_tools" is a JSON string`, ""},
		"allowed_tool_patterns":    {`["*"]`, `["\\"]`, "allowed_tool_patterns[0]", ""},
		"excluded_tools":           {`null`, `"a"`, `field "excluded_tools" is a JSON string`, ""},
		"excluded_tool_patterns":   {`["*"]`, `["\\"]`, "excluded_tool_patterns[0]", ""},
		"delegates":                {`["d"]`, `["d","d"]`, `delegates lists "d" twice`, ""},
		"sections":                 {`{"a":null}`, `[]`, `field "sections" is a JSON array`, ""},
		"backend":                  {`{"kind":"other","version":1}`, `{"kind":7}`, `field "backend.kind" is a JSON number`, ""},
		"endpoint":                 {`null`, `{"base_url":"h"}`, `endpoint.base_url is "h"`, ""},
	},
	"SkillPatch": {
		"name":            {`"n"`, `""`, "name is empty", ""},
		"description":     {`"d"`, `""`, "description is empty", ""},
		"instructions_md": {`"i"`, `""`, "instructions_md is empty", ""},
		"allowed_tools":   {`[]`, `[""]`, "allowed_tools has an empty id", ""},
		"when_to_use":     {`null`, `7`, `field "when_to_use" is a JSON number`, ""},
		"arguments":       {`[]`, `[{"name":""}]`, "arguments[0].name is empty", ""},
		"argument_hint":   {`null`, `7`, `field "argument_hint" is a JSON number`, ""},
		"user_invocable":  {`false`, `7`, `field "user_invocable" is a JSON number`, ""},
		"model_invocable": {`false`, `7`, `field "model_invocable" is a JSON number`, ""},
		"model_override":  {`null`, `7`, `field "model_override" is a JSON number`, ""},
		"context":         {`"fork"`, `"x"`, `context is "x"`, ""},
	},
	"ToolPatch": {"description": {`"d"`, `"` + strings.Repeat("d", 4097) + `"`, "description is 4097 bytes long, want at most 4096", ""}},
	"CompactionConfig": {
		"mode":                     {`"off"`, `"on"`, `mode is "on", want background or off`, `"background"`},
		"summarizer_system_prompt": {`"s"`, `7`, `field "summarizer_system_prompt" is a JSON number`, "*"},
		"summarizer_user_prompt":   {`"{messages}"`, `"all"`, "summarizer_user_prompt lacks {messages}", "*"},
		"summary_max_tokens":       {`512`, `0`, "summary_max_tokens is 0", ""},
		"summary_model":            {`"m"`, `""`, "summary_model is empty", ""},
		"min_savings_ratio":        {`0.5`, `1.5`, "min_savings_ratio is 1.5", "0.3"},
		"raw_retention":            {`"preserve_durable"`, `"drop"`, `raw_retention is "drop"`, `"preserve_durable"`},
	},
	"RetryPolicy": {
		"max_retries":                {`0`, `-1`, `max_retries is missing or negative, want 0 or more`, "2"},
		"backoff_base_ms":            {`1`, `-1`, "backoff_base_ms is -1, want 0 or more", "500"},
		"overloaded_backoff_base_ms": {`1`, `-1`, "overloaded_backoff_base_ms is -1, want 0 or more", "2000"},
		"max_stream_retries":         {`1`, `-1`, "max_stream_retries is -1, want 0 or more", "2"},
		"stream_idle_timeout_secs":   {`1`, `-1`, "stream_idle_timeout_secs is -1, want 0 or more", "60"},
		"max_retry_after_secs":       {`1`, `-1`, "max_retry_after_secs is -1, want 0 or more", "30"},
	},
	"InferenceOverride": {
		"upstream_model":   {`"m"`, `7`, `field "upstream_model" is a JSON number, want a string`, ""},
		"temperature":      {`0.5`, `"hot"`, `field "temperature" is a JSON string, want a number`, ""},
		"max_tokens":       {`5`, `1.5`, `field "max_tokens" is a JSON number 1.5, want a whole number`, ""},
		"top_p":            {`0.5`, `"all"`, `field "top_p" is a JSON string, want a number`, ""},
		"reasoning_effort": {`"none"`, `{"budget":0}`, `reasoning effort is {"budget":0}`, ""},
		"stop_sequences":   {`["END"]`, `"END"`, `field "stop_sequences" is a JSON string, want an array`, ""},
		"seed":             {`7`, `"x"`, `field "seed" is a JSON string, want a whole number`, ""},
		"parallel_tools":   {`false`, `1`, `field "parallel_tools" is a JSON number, want true or false`, ""},
		"tool_choice":      {`{"mode":"none"}`, `"none"`, `field "tool_choice" is a JSON string, want an object`, ""},
	},
	"Config": { // the section deferred_tools
		"enabled":       {`true`, `1`, `field "enabled" is a JSON number, want true or false`, "null"},
		"rules":         {`[{"tool":"a","mode":"eager"}]`, `[{"tool":"a","mode":"lazy"}]`, `"lazy", want eager or deferred`, "[]"},
		"default_mode":  {`"eager"`, `"lazy"`, `default_mode is "lazy", want eager or deferred`, `"deferred"`},
		"beta_overhead": {`0`, `-1`, "beta_overhead is -1, want 0 or more", "1136"},
		"agent_priors":  {`{"a":0.03}`, `{"a":2}`, `agent_priors["a"] is 2, want 0 to 1`, "{}"},
		"disc_beta":     {`{"omega":0.9,"n0":1,"defer_after":1,"thresh_mult":1,"gamma":1}`, `{"omga":1}`, `unknown field "omga", did you mean "omega"?`, `{"defer_after":5,"gamma":2000,"n0":5,"omega":0.95,"thresh_mult":0.5}`},
	},
}

// reader tries the fields of a struct.
type reader struct {
	fields map[string]jsonField
	// try reads a minimal object of the type with one field set.
	try func(name string, value any) (map[string]any, error)
	// defaults holds the fields of an object that sets nothing.
	defaults map[string]any
}

// in tries fields of objects at a path of a document.
func in(ns Namespace, t reflect.Type, base string, path ...string) reader {
	k := kinds[ns]
	def, _ := lookup(k.defaults(), path).(map[string]any)
	return reader{jsonFields(t), func(name string, value any) (map[string]any, error) {
		tree, err := parse([]byte(base))
		if err != nil {
			return nil, err
		}
		lookup(tree, path).(map[string]any)[name] = value
		whole, err := k.normalise(tree)
		if err != nil {
			return nil, err
		}
		at, _ := lookup(whole, path).(map[string]any)
		return at, nil
	}, def}
}

// credentials tries the fields of auth, each with a type that has it.
func credentials() reader {
	of := func(auth string) reader {
		return in(Agents, reflect.TypeFor[awaken.RemoteAuth](), `{"id":"#","endpoint":{"base_url":"https://h","auth":`+auth+`}}`, "endpoint", "auth")
	}
	bearer, key := of(`{"type":"bearer","token":"t"}`), of(`{"type":"api_key","token":"t"}`)
	oauth := of(`{"type":"oauth2_client_credentials","token_url":"https://t","client_id":"c","client_secret":"s"}`)
	r := bearer
	r.try = func(name string, value any) (map[string]any, error) {
		switch name {
		case "header":
			return key.try(name, value)
		case "token_url", "client_id", "client_secret", "scopes":
			return oauth.try(name, value)
		}
		return bearer.try(name, value)
	}
	return r
}

// patchOf tries fields of overrides.
func patchOf(ns Namespace) reader {
	k := kinds[ns]
	owner := map[Namespace]string{Agents: "AgentPatch", Skills: "SkillPatch", Tools: "ToolPatch"}[ns]
	fields := map[string]jsonField{}
	for _, name := range k.patch.fields {
		fields[name] = jsonField{owner: owner}
	}
	return reader{fields, func(name string, value any) (map[string]any, error) {
		return k.checkPatch(map[string]any{name: value})
	}, nil}
}

// section tries fields of an agent's section.
func section[C any](s *awaken.Section[C]) reader {
	read := func(doc any) (map[string]any, error) {
		v, err := s.Read(&awaken.AgentSpec{Sections: map[string]json.RawMessage{s.Name(): encode(doc)}})
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		return parse(data)
	}
	def, err := read(map[string]any{})
	if err != nil {
		panic(err)
	}
	return reader{jsonFields(reflect.TypeFor[C]()), func(name string, value any) (map[string]any, error) { return read(map[string]any{name: value}) }, def}
}

// plain tries fields of a struct that validates itself when it is decoded.
func plain[T any](base string, def T) reader {
	data, _ := json.Marshal(def)
	defaults, _ := parse(data)
	return reader{jsonFields(reflect.TypeFor[T]()), func(name string, value any) (map[string]any, error) {
		tree, err := parse([]byte(base))
		if err != nil {
			return nil, err
		}
		tree[name] = value
		var v T
		if err := strict.Unmarshal(encode(tree), &v); err != nil {
			return nil, err
		}
		data, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		return parse(data)
	}, defaults}
}

var fieldReaders = []reader{
	in(Agents, reflect.TypeFor[awaken.AgentSpec](), `{"id":"#"}`),
	in(Agents, reflect.TypeFor[awaken.AgentBudget](), `{"id":"#","budget":{}}`, "budget"),
	in(Agents, reflect.TypeFor[awaken.ContextPolicy](), `{"id":"#","context_policy":{}}`, "context_policy"),
	in(Agents, reflect.TypeFor[awaken.Backend](), `{"id":"#","backend":{"kind":"other"}}`, "backend"),
	in(Agents, reflect.TypeFor[awaken.RemoteEndpoint](), `{"id":"#","endpoint":{"base_url":"https://h"}}`, "endpoint"),
	credentials(),
	in(Models, reflect.TypeFor[awaken.ModelSpec](), `{"id":"#","provider_id":"p","upstream_model":"m","input_token_price_per_million_usd":1,"output_token_price_per_million_usd":1}`),
	in(Models, reflect.TypeFor[awaken.Modalities](), `{"id":"#","provider_id":"p","upstream_model":"m","modalities":{}}`, "modalities"),
	in(Models, reflect.TypeFor[llm.BreakerSettings](), `{"id":"#","provider_id":"p","upstream_model":"m","circuit_breaker":{}}`, "circuit_breaker"),
	in(Models, reflect.TypeFor[llm.ModelCapabilities](), `{"id":"#","provider_id":"p","upstream_model":"m","capabilities":{}}`, "capabilities"),
	in(Pools, reflect.TypeFor[awaken.ModelPoolSpec](), `{"id":"#","members":[{"model_id":"m"}]}`),
	in(Pools, reflect.TypeFor[awaken.PoolMember](), `{"id":"#","members":[{"model_id":"m"}]}`, "members", "0"),
	in(Pools, reflect.TypeFor[awaken.PoolRouting](), `{"id":"#","members":[{"model_id":"m"}],"routing":{}}`, "routing"),
	in(Pools, reflect.TypeFor[awaken.PoolSwitch](), `{"id":"#","members":[{"model_id":"m"}],"switch":{}}`, "switch"),
	in(Providers, reflect.TypeFor[awaken.ProviderSpec](), `{"id":"#","adapter":"a"}`),
	in(Providers, reflect.TypeFor[llm.RateLimits](), `{"id":"#","adapter":"a","rate_limits":{}}`, "rate_limits"),
	in(Providers, reflect.TypeFor[llm.Rate](), `{"id":"#","adapter":"a","rate_limits":{"per_tenant":{}}}`, "rate_limits", "per_tenant"),
	in(MCPServers, reflect.TypeFor[MCPServerSpec](), `{"id":"#","transport":"stdio","command":"c"}`),
	in(MCPServers, reflect.TypeFor[MCPAuth](), `{"id":"#","transport":"http","url":"https://h","auth":{"type":"oauth","client_id":"c","client_secret":"s"}}`, "auth"),
	in(MCPServers, reflect.TypeFor[RestartPolicy](), `{"id":"#","transport":"stdio","command":"c","restart_policy":{}}`, "restart_policy"),
	in(A2AServers, reflect.TypeFor[A2AServerSpec](), `{"id":"#","base_url":"https://h"}`),
	in(Skills, reflect.TypeFor[SkillSpec](), `{"id":"-","name":"n","description":"d","instructions_md":"i"}`),
	in(Skills, reflect.TypeFor[SkillArgument](), `{"id":"-","name":"n","description":"d","instructions_md":"i","arguments":[{"name":"a"}]}`, "arguments", "0"),
	in(Tools, reflect.TypeFor[ToolSpec](), `{"id":"#","name":"n","description":"d"}`),
	patchOf(Agents), patchOf(Skills), patchOf(Tools),
	section(registry.CompactionSection),
	section(awaken.NewSection(deferred.SectionName, deferred.Defaults())),
	plain(`{"max_retries":1}`, llm.DefaultRetry),
	plain(`{}`, awaken.InferenceOverride{}),
}

// Every field of every struct accepts valid values, reports invalid ones, and has its
// default. A new field needs a case.
func TestFields(t *testing.T) {
	tried := map[string]bool{}
	for _, r := range fieldReaders {
		for name, f := range r.fields {
			c, ok := fieldCases[f.owner][name]
			if !ok {
				t.Errorf("%s.%s has no case", f.owner, name)
				continue
			}
			tried[f.owner+"."+name] = true
			t.Run(f.owner+"."+name, func(t *testing.T) { tryField(t, r, name, c) })
		}
	}
	for _, typ := range documented() { // nothing was left out of the list of readers
		for name, f := range jsonFields(typ) {
			if !tried[f.owner+"."+name] {
				t.Errorf("%s.%s is not tried", f.owner, name)
			}
		}
	}
	for owner, fields := range fieldCases {
		for name := range fields {
			if !tried[owner+"."+name] {
				t.Errorf("there is a case for %s.%s, and no such field", owner, name)
			}
		}
	}
}

func tryField(t *testing.T, r reader, name string, c fieldCase) {
	value := func(raw string) any {
		tree, err := parse(fmt.Appendf(nil, `{"v":%s}`, raw))
		if err != nil {
			t.Fatal(err)
		}
		return tree["v"]
	}
	got, err := r.try(name, value(c.good))
	if err != nil {
		t.Fatalf("%s: %v", c.good, err)
	}
	if v := value(c.good); v != nil && v != "" && string(encode(got[name])) != string(encode(v)) {
		t.Errorf("%s became %s", c.good, encode(got[name]))
	}
	if c.bad != "" {
		if _, err := r.try(name, value(c.bad)); err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: error is %v, want %s", c.bad, err, c.problem)
		}
	}
	def, ok := r.defaults[name]
	switch {
	case c.def == "*" && ok && def != "": // a long text
	case isObject(def) && c.def == "": // of which the fields are tried
	case c.def == "" && ok, c.def != "" && string(encode(def)) != c.def:
		t.Errorf("the default is %s, want %s", encode(def), c.def)
	}
}

func isObject(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return true
	case []any:
		return len(v) > 0
	}
	return false
}

// Values of fields that are not structs.
func TestFields_Variants(t *testing.T) {
	for _, good := range []string{
		`"reasoning_effort":"none"`, `"reasoning_effort":"low"`, `"reasoning_effort":"medium"`, `"reasoning_effort":"high"`, `"reasoning_effort":"max"`, `"reasoning_effort":{"budget":1}`, `"reasoning_effort":null`,
		`"stop_conditions":[{"type":"max_rounds","rounds":1},{"type":"timeout","seconds":86400},{"type":"token_budget","max_total":100000000},{"type":"cost_budget","max_usd":0.1},{"type":"consecutive_errors","max":1},{"type":"stop_on_tool","tool_name":"t"},{"type":"content_match","pattern":"a+"},{"type":"loop_detection","window":64}]`,
		`"tool_execution_mode":"sequential"`, `"tool_execution_mode":"parallel_batch_approval"`,
	} {
		if _, err := seal(Key{Agents, "x"}, json.RawMessage(`{"id":"x",`+good+`}`), nil); err != nil {
			t.Error(err)
		}
	}
	for bad, want := range map[string]string{
		`"reasoning_effort":{"budget":0}`:                                     `with n above 0`,
		`"reasoning_effort":{"budgt":1}`:                                      `unknown field "budgt", did you mean "budget"?`,
		`"stop_conditions":[{"type":"timeout","seconds":86401}]`:              `seconds is 86401, want at most 86400`,
		`"stop_conditions":[{"type":"token_budget","max_total":100000001}]`:   `max_total is 100000001, want at most 100000000`,
		`"stop_conditions":[{"type":"content_match","pattern":"("}]`:          `pattern "("`,
		`"stop_conditions":[{"type":"stop_on_tool","tool_name":""}]`:          `tool_name is empty`,
		`"stop_conditions":[{"type":"max_rounds","rounds":-1}]`:               `rounds is -1, want 0 or more`,
		`"stop_conditions":[{"type":"consecutive_errors","max":-1}]`:          `max is -1, want 0 or more`,
		`"stop_conditions":[{"type":"cost_budget","max_usd":-1}]`:             `max_usd is -1, want 0 or more`,
		`"stop_conditions":[{"type":"loop_detection","window":1}]`:            `window is 1, want 0 (off), or 2 or more`,
		`"context_policy":{"max_context_tokens":10,"max_output_tokens":10.5}`: `want a whole number`,
	} {
		_, err := seal(Key{Agents, "x"}, json.RawMessage(`{"id":"x",`+bad+`}`), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %s", bad, err, want)
		}
	}
	if got := slices.Sorted(slices.Values(kinds[Agents].patch.fields)); len(got) != 23 {
		t.Errorf("agents have %d fields to override: %v", len(got), got)
	}
}
