package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
)

// Preset describes how a server differs from OpenAI.
type Preset struct {
	Name      string   // also the provider's name in errors and in opaque data
	BaseURL   string   // "" means that one must be configured
	BaseEnv   string   // environment variable with a base URL
	BasePath  string   // added to a base URL without a path
	KeyEnv    []string // environment variables with a key
	KeyHeader string   // "" means Authorization: Bearer

	KeyOptional bool // no key is required
	Responses   bool // has the Responses API
	CacheKey    bool // accepts prompt_cache_key
	MaxTokens   bool // the limit is max_tokens, not max_completion_tokens
	NoUsage     bool // rejects stream_options; reports usage without
	NoParallel  bool // rejects parallel_tool_calls
	NoSchema    bool // enforces JSON, but no schema
	EndUser     bool // the last message must not be the assistant's
	Files       bool // accepts documents
	Audio       bool // accepts audio

	Thoughts string // field for earlier reasoning: reasoning_content, reasoning_details; "" means none
	// Effort is how to send an effort: "" as reasoning_effort, "high" as a reasoning_effort of none
	// or high, "object" as reasoning:{...}, "thinking" as thinking:{type:...} and "enable_thinking"
	// as that, which turn reasoning on or off; "none" not at all.
	Effort   string
	Seed     string // field of the seed; default seed
	Required string // value for a tool choice of required; default required

	callID func(string) string // converts the ids of calls; nil means SafeID(40)
}

// Presets lists the known servers.
var Presets = []Preset{
	{Name: "openai", BaseURL: "https://api.openai.com/v1", BaseEnv: "OPENAI_BASE_URL", BasePath: "/v1", KeyEnv: []string{"OPENAI_API_KEY"}, Responses: true, CacheKey: true, Files: true, Audio: true},
	{Name: "azure", BaseEnv: "AZURE_OPENAI_ENDPOINT", BasePath: "/openai/v1", KeyEnv: []string{"AZURE_OPENAI_API_KEY"}, KeyHeader: "api-key", Responses: true, CacheKey: true, Files: true, Audio: true},
	{Name: "deepseek", BaseURL: "https://api.deepseek.com/v1", KeyEnv: []string{"DEEPSEEK_API_KEY"}, MaxTokens: true, NoParallel: true, NoSchema: true, Thoughts: "reasoning_content"},
	{Name: "groq", BaseURL: "https://api.groq.com/openai/v1", KeyEnv: []string{"GROQ_API_KEY"}},
	{Name: "mistral", BaseURL: "https://api.mistral.ai/v1", KeyEnv: []string{"MISTRAL_API_KEY"}, MaxTokens: true, NoUsage: true, EndUser: true, Effort: "none", Seed: "random_seed", Required: "any", callID: nineID},
	{Name: "xai", BaseURL: "https://api.x.ai/v1", KeyEnv: []string{"XAI_API_KEY"}},
	{Name: "openrouter", BaseURL: "https://openrouter.ai/api/v1", KeyEnv: []string{"OPENROUTER_API_KEY"}, MaxTokens: true, Files: true, Audio: true, Effort: "object", Thoughts: "reasoning_details"},
	{Name: "together", BaseURL: "https://api.together.xyz/v1", KeyEnv: []string{"TOGETHER_API_KEY"}, MaxTokens: true, NoParallel: true},
	{Name: "fireworks", BaseURL: "https://api.fireworks.ai/inference/v1", KeyEnv: []string{"FIREWORKS_API_KEY"}, MaxTokens: true, NoParallel: true, Thoughts: "reasoning_content"},
	{Name: "cohere", BaseURL: "https://api.cohere.ai/compatibility/v1", KeyEnv: []string{"COHERE_API_KEY", "CO_API_KEY"}, MaxTokens: true, NoParallel: true, Effort: "high"},
	{Name: "zai", BaseURL: "https://api.z.ai/api/paas/v4", KeyEnv: []string{"ZAI_API_KEY"}, MaxTokens: true, NoUsage: true, NoParallel: true, NoSchema: true, Effort: "thinking", Thoughts: "reasoning_content", Required: "auto"},
	{Name: "bigmodel", BaseURL: "https://open.bigmodel.cn/api/paas/v4", KeyEnv: []string{"BIGMODEL_API_KEY", "ZHIPUAI_API_KEY"}, MaxTokens: true, NoUsage: true, NoParallel: true, NoSchema: true, Effort: "thinking", Thoughts: "reasoning_content", Required: "auto"},
	{Name: "aliyun", BaseURL: "https://dashscope.aliyuncs.com/compatible-mode/v1", KeyEnv: []string{"DASHSCOPE_API_KEY", "ALIYUN_API_KEY"}, MaxTokens: true, NoSchema: true, Effort: "enable_thinking", Thoughts: "reasoning_content", Required: "auto"},
	{Name: "mimo", BaseURL: "https://api.xiaomimimo.com/v1", KeyEnv: []string{"MIMO_API_KEY"}, NoParallel: true, NoSchema: true, Effort: "thinking", Thoughts: "reasoning_content", Required: "auto"},
	{Name: "nebius", BaseURL: "https://api.tokenfactory.nebius.com/v1", KeyEnv: []string{"NEBIUS_API_KEY"}, MaxTokens: true, NoParallel: true, Thoughts: "reasoning_content"},
	// Any other server, often a local one.
	{Name: "compatible", BaseEnv: "OPENAI_BASE_URL", BasePath: "/v1", KeyEnv: []string{"OPENAI_API_KEY"}, KeyOptional: true, MaxTokens: true, Thoughts: "reasoning_content"},
}

// base returns the base URL with a path and a trailing slash.
func (p *Preset) base(s string) (string, error) {
	if s == "" {
		if p.BaseEnv != "" {
			return "", fmt.Errorf("%s: no base URL: configure one, or set %s", p.Name, p.BaseEnv)
		}
		return "", fmt.Errorf("%s: no base URL: configure one", p.Name)
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%s: base URL is %q, want an http or https URL", p.Name, s)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = p.BasePath
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/"
	return u.String(), nil
}

// nineID converts ids into ones of nine letters and digits, the only ones that Mistral accepts.
func nineID(id string) string {
	if len(id) == 9 && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:9]
}
