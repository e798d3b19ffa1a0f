package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
)

// Preset is what is special about a server. All but openai and azure speak Chat Completions.
type Preset struct {
	Name      string   // also the name in errors and in opaque material
	BaseURL   string   // "" must be configured
	BaseEnv   string   // the environment variable with a base URL
	BasePath  string   // added to a base URL that has no path
	KeyEnv    []string // the environment variables with a key
	KeyHeader string   // "" is Authorization: Bearer

	KeyOptional bool // it may be asked without a key
	Responses   bool // it speaks the Responses API
	CacheKey    bool // it takes prompt_cache_key
	MaxTokens   bool // the limit is max_tokens, not max_completion_tokens
	NoUsage     bool // stream_options is refused; usage comes without
	NoParallel  bool // parallel_tool_calls is refused
	NoSchema    bool // an answer can be JSON, but not of a schema
	EndUser     bool // the last message must not be the assistant's
	Files       bool // documents can be sent
	Audio       bool // audio can be sent

	Replay   string // the field in which earlier reasoning is sent back: reasoning_content, reasoning_details; "" is none
	Effort   string // how an effort is asked for: "" is reasoning_effort; object is reasoning:{...}; none is not at all
	Seed     string // the field of the seed; "" is seed
	Required string // the word for a tool choice of required; "" is that

	callID func(string) string // what ids of calls may look like; nil is 40 plain characters
}

// Presets are the servers that are known by name.
var Presets = []Preset{
	{Name: "openai", BaseURL: "https://api.openai.com/v1", BaseEnv: "OPENAI_BASE_URL", BasePath: "/v1", KeyEnv: []string{"OPENAI_API_KEY"}, Responses: true, CacheKey: true, Files: true, Audio: true},
	{Name: "azure", BaseEnv: "AZURE_OPENAI_ENDPOINT", BasePath: "/openai/v1", KeyEnv: []string{"AZURE_OPENAI_API_KEY"}, KeyHeader: "api-key", Responses: true, CacheKey: true, Files: true, Audio: true},
	{Name: "deepseek", BaseURL: "https://api.deepseek.com/v1", KeyEnv: []string{"DEEPSEEK_API_KEY"}, MaxTokens: true, NoParallel: true, NoSchema: true, Replay: "reasoning_content"},
	{Name: "groq", BaseURL: "https://api.groq.com/openai/v1", KeyEnv: []string{"GROQ_API_KEY"}},
	{Name: "mistral", BaseURL: "https://api.mistral.ai/v1", KeyEnv: []string{"MISTRAL_API_KEY"}, MaxTokens: true, NoUsage: true, EndUser: true, Effort: "none", Seed: "random_seed", Required: "any", callID: nineID},
	{Name: "xai", BaseURL: "https://api.x.ai/v1", KeyEnv: []string{"XAI_API_KEY"}},
	{Name: "openrouter", BaseURL: "https://openrouter.ai/api/v1", KeyEnv: []string{"OPENROUTER_API_KEY"}, MaxTokens: true, Files: true, Audio: true, Effort: "object", Replay: "reasoning_details"},
	{Name: "together", BaseURL: "https://api.together.xyz/v1", KeyEnv: []string{"TOGETHER_API_KEY"}, MaxTokens: true, NoParallel: true},
	{Name: "fireworks", BaseURL: "https://api.fireworks.ai/inference/v1", KeyEnv: []string{"FIREWORKS_API_KEY"}, MaxTokens: true, NoParallel: true, Replay: "reasoning_content"},
	// Any other server, often a local one.
	{Name: "compatible", BaseEnv: "OPENAI_BASE_URL", BasePath: "/v1", KeyEnv: []string{"OPENAI_API_KEY"}, KeyOptional: true, MaxTokens: true, Replay: "reasoning_content"},
}

// base returns the base URL in the form that paths are added to.
func (p *Preset) base(s string) (string, error) {
	if s == "" {
		if p.BaseEnv != "" {
			return "", fmt.Errorf("%s: no base URL: configure one, or set %s", p.Name, p.BaseEnv)
		}
		return "", fmt.Errorf("%s: no base URL", p.Name)
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%s: base URL %q is not an http or https URL", p.Name, s)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = p.BasePath
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/"
	return u.String(), nil
}

// nineID keeps ids of nine letters and digits, and makes others into such: Mistral takes
// nothing else.
func nineID(id string) string {
	if len(id) == 9 && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:9]
}
