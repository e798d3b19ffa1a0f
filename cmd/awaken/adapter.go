package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/demo"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/httpguard"
	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/anthropic"
	"github.com/awaken-go/awaken/llm/gemini"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/llm/ollama"
	"github.com/awaken-go/awaken/llm/openai"
	"github.com/awaken-go/awaken/llm/provider"
)

// adapters returns the names of the provider adapters.
func adapters() []string {
	names := []string{demo.Adapter, "anthropic", "gemini", "vertex", "ollama", "ollama_cloud", "openai_resp"}
	for _, p := range openai.Presets {
		names = append(names, p.Name)
	}
	return names
}

// aliases are other names of adapters, which documents of the original use.
var aliases = map[string]string{"openai-resp": "openai_resp", "responses": "openai_resp"}

// outbound says how to reach providers.
type outbound struct {
	client  *http.Client // nil is the adapter's own
	keyless bool         // no provider is contacted, so no key is needed

	// If guarded, a base URL in a document must be public or in an allowed network.
	guarded bool
	allow   []netip.Prefix
	// keyDir is the folder with the key files that documents may name; "" allows none. It
	// applies only if guarded: authors of documents must not read this machine's files.
	keyDir string
	// envHosts are hosts that are sent the keys in this process's environment, in addition to
	// each adapter's own. It applies only if guarded: authors of documents must not send the
	// operator's keys to a server of theirs.
	envHosts []string

	limiter *limit.Limiter      // of the requests; nil sends them at once
	servers config.MCPConnector // nil connects to no MCP servers
}

// ownHost reports whether a base URL names the adapter's provider, or a host that the
// operator trusts with the keys in the environment.
func (o outbound) ownHost(adapter, base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	own := map[string]string{"anthropic": "api.anthropic.com", "gemini": "googleapis.com", "vertex": "googleapis.com", "ollama_cloud": "ollama.com"}[adapter]
	if adapter == "openai_resp" {
		adapter = "openai"
	}
	for _, p := range openai.Presets {
		if p.Name != adapter {
			continue
		}
		if v, err := url.Parse(p.BaseURL); err == nil {
			own = v.Hostname()
		}
		if v, err := url.Parse(os.Getenv(p.BaseEnv)); err == nil && p.BaseEnv != "" && v.Host != "" && v.Host == u.Host {
			return true // the operator chose it
		}
	}
	host := strings.ToLower(u.Hostname())
	return own != "" && (host == own || strings.HasSuffix(host, "."+own)) || slices.Contains(o.envHosts, host) || slices.Contains(o.envHosts, u.Host)
}

// keyFile returns the path of the key file that a document names, if it is allowed.
func (o outbound) keyFile(name string) (string, error) {
	if !o.guarded || name == "" {
		return name, nil
	}
	if o.keyDir == "" {
		return "", fmt.Errorf("adapter_options.key_file is %q, but documents may not name files: set providers.key_dir (AWAKEN_PROVIDERS_KEY_DIR) to the folder with the keys", name)
	}
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(o.keyDir, name)
		if err != nil {
			return "", fmt.Errorf("adapter_options.key_file is %q, want a file in %s", name, o.keyDir)
		}
		name = rel
	}
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("adapter_options.key_file is %q, want a file in %s", name, o.keyDir)
	}
	return filepath.Join(o.keyDir, name), nil
}

// guard checks the base URL of a provider and returns a client for it. The client checks the
// addresses again when it resolves the host.
func (o outbound) guard(base string) (*http.Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("base_url is %q, want a URL, such as https://api.example.com/v1", base)
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if u.Hostname() == "localhost" {
		addr, err = netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
	}
	if err == nil && !httpguard.Public(addr) && !slices.ContainsFunc(o.allow, func(p netip.Prefix) bool { return p.Contains(addr.Unmap()) }) {
		return nil, fmt.Errorf("base_url is %q, which is not on the public internet: add its network to the setting outbound.allow (AWAKEN_OUTBOUND_ALLOW)", base)
	}
	return provider.Guarded(o.allow...), nil
}

// openProvider opens a provider.
func (o outbound) openProvider(p *awaken.ProviderSpec, keyFile string) (llm.Model, error) {
	if p.Adapter == demo.Adapter {
		return llmtest.Demo(), nil
	}
	if name := aliases[p.Adapter]; name != "" {
		named := *p
		named.Adapter, p = name, &named
	}
	if !slices.Contains(adapters(), p.Adapter) {
		return nil, fmt.Errorf("adapter is %q, want one of %s", p.Adapter, strings.Join(adapters(), ", "))
	}
	c := provider.Config{APIKey: p.APIKey.Expose(), KeyFile: keyFile, BaseURL: p.BaseURL, Timeout: time.Duration(p.TimeoutSecs) * time.Second, HTTPClient: o.client}
	var more struct {
		api, project, location, keepAlive string
		contextTokens                     int
		env                               *bool
		scopes                            []string
		known                             json.RawMessage // validated with the document, and unused here
	}
	options := map[string]any{"headers": &c.Headers, "key_file": &c.KeyFile, "allow_env_credentials": &more.env,
		"credentials_kind": &more.known, "model_discovery_schema": &more.known, "model_discovery_auth": &more.known}
	switch p.Adapter {
	case "anthropic", "gemini", "openai_resp":
	case "vertex":
		options["project"], options["location"], options["scopes"] = &more.project, &more.location, &more.scopes
	case "ollama", "ollama_cloud":
		options["keep_alive"], options["num_ctx"] = &more.keepAlive, &more.contextTokens
	default:
		options["api"] = &more.api
	}
	for name, raw := range p.AdapterOptions {
		to := options[name]
		if to == nil {
			return nil, fmt.Errorf("adapter_options: unknown option %q, want %s", name, strings.Join(slices.Sorted(maps.Keys(options)), ", "))
		}
		if err := json.Unmarshal(raw, to); err != nil {
			return nil, fmt.Errorf("adapter_options.%s: %w", name, err)
		}
	}
	var err error
	if c.KeyFile, err = o.keyFile(c.KeyFile); err != nil {
		return nil, err
	}
	if more.env != nil && !*more.env && c.APIKey == "" && c.KeyFile == "" && !c.Authorized("Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key") && !o.keyless {
		return nil, fmt.Errorf("%w: adapter_options.allow_env_credentials is false; set api_key or adapter_options.key_file", llm.ErrNoKey)
	}
	if o.guarded && p.BaseURL != "" && !o.ownHost(p.Adapter, p.BaseURL) && !o.keyless {
		if c.NoEnv = true; p.Adapter == "vertex" && c.APIKey == "" && c.KeyFile == "" && !c.Authorized("Authorization", "X-Goog-Api-Key") {
			return nil, fmt.Errorf("base_url is %q, a host that does not get credentials from the environment: configure a key, or add the host to the setting providers.env_key_hosts (AWAKEN_PROVIDERS_ENV_KEY_HOSTS)", p.BaseURL)
		}
	}
	if o.guarded && p.BaseURL != "" {
		if c.HTTPClient, err = o.guard(p.BaseURL); err != nil {
			return nil, err
		}
	}
	if o.keyless {
		c.KeyFile, c.APIKey = "", "none"
	}
	switch p.Adapter {
	case "anthropic":
		return anthropic.New(anthropic.Config{Config: c})
	case "gemini":
		return gemini.New(gemini.Config{Config: c})
	case "vertex":
		if o.keyless {
			c.Headers = map[string]string{"Authorization": "none"} // an API key would select another endpoint
		}
		return gemini.New(gemini.Config{Config: c, Vertex: true, Project: more.project, Location: more.location, Scopes: more.scopes})
	case "openai_resp":
		return openai.New(openai.Config{Config: c, Preset: "openai", API: openai.Responses})
	case "ollama", "ollama_cloud":
		return ollama.New(ollama.Config{Config: c, Cloud: p.Adapter == "ollama_cloud", KeepAlive: more.keepAlive, ContextTokens: more.contextTokens})
	}
	return openai.New(openai.Config{Config: c, Preset: p.Adapter, API: more.api})
}

// cassette records the traffic with providers to a file, or plays it back. The zero cassette does
// neither.
type cassette struct {
	rec  *provider.Recorder
	tape *provider.Player
}

// openCassette opens the file to record to or to play back.
func openCassette(record, play string) (*cassette, error) {
	c := &cassette{}
	var err error
	switch {
	case record != "":
		var f *os.File // fail now, and not after the model was paid
		if f, err = os.OpenFile(record, os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
			err = f.Close()
		}
		c.rec = &provider.Recorder{File: record}
	case play != "":
		c.tape, err = provider.OpenPlayer(play)
	}
	return c, err
}

func (c *cassette) outbound() outbound {
	switch {
	case c.rec != nil:
		return outbound{client: &http.Client{Transport: c.rec}}
	case c.tape != nil:
		return outbound{client: &http.Client{Transport: c.tape}, keyless: true}
	}
	return outbound{}
}

// close writes the recording. It returns a note for the user, or "".
func (c *cassette) close() (note string, err error) {
	switch {
	case c.rec != nil:
		return "", c.rec.Close()
	case c.tape != nil && c.tape.Left() > 0:
		return fmt.Sprintf("%d recorded exchanges were not used", c.tape.Left()), nil
	}
	return "", nil
}

// useModel makes all agents use one model, given as provider:model.
func (o outbound) useModel(cfg *engine.Config, name, keyFile string) error {
	const id = "--model"
	if err := o.addModel(cfg, id, id, name, keyFile); err != nil {
		return err
	}
	for _, a := range cfg.Agents {
		a.ModelID = id
	}
	return nil
}

// addModel adds a model, which a flag gives as provider:model, under an id.
func (o outbound) addModel(cfg *engine.Config, flag, id, name, keyFile string) error {
	adapter, upstream, ok := strings.Cut(name, ":")
	if !ok || adapter == "" || upstream == "" {
		return fmt.Errorf("%s is %q, want provider:model, such as openai:gpt-5.5", flag, name)
	}
	m := cfg.Providers[adapter]
	if m == nil || adapter == demo.ProviderID {
		var err error
		if m, err = o.openProvider(&awaken.ProviderSpec{ID: adapter, Adapter: adapter}, keyFile); err != nil {
			return fmt.Errorf("%s %s: %w", flag, name, err)
		}
	}
	cfg.Providers[id] = m
	cfg.Models = append(slices.Clone(cfg.Models), awaken.ModelSpec{ID: id, ProviderID: id, UpstreamModel: upstream})
	return nil
}
