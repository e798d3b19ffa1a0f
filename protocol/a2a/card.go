package a2a

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

// Card describes an agent.
type Card struct {
	Name         string            `json:"name"`
	Description  string            `json:"description"`
	Interfaces   []Interface       `json:"supportedInterfaces"`
	Provider     *Provider         `json:"provider,omitempty"`
	Version      string            `json:"version"`
	Capabilities Capabilities      `json:"capabilities"`
	Schemes      map[string]Scheme `json:"securitySchemes,omitempty"`
	Requirements []Requirement     `json:"securityRequirements,omitempty"`
	InputModes   []string          `json:"defaultInputModes"`
	OutputModes  []string          `json:"defaultOutputModes"`
	Skills       []Skill           `json:"skills"`
	Signatures   []Signature       `json:"signatures,omitempty"`
}

// Interface is where an agent can be reached.
type Interface struct {
	URL     string `json:"url"`
	Binding string `json:"protocolBinding"`
	Tenant  string `json:"tenant,omitempty"`
	Version string `json:"protocolVersion"`
}

// Provider is who offers an agent.
type Provider struct {
	Organization string `json:"organization"`
	URL          string `json:"url"`
}

// Capabilities are the optional parts of the protocol that are supported.
type Capabilities struct {
	Streaming         bool `json:"streaming"`
	PushNotifications bool `json:"pushNotifications"`
	ExtendedAgentCard bool `json:"extendedAgentCard"`
}

// Scheme is a way to authenticate.
type Scheme struct {
	HTTP *HTTPScheme `json:"httpAuthSecurityScheme,omitempty"`
}

// HTTPScheme is an authentication scheme of HTTP.
type HTTPScheme struct {
	Description string `json:"description,omitempty"`
	Scheme      string `json:"scheme"`
}

// Requirement names schemes, all of which are needed, and their scopes.
type Requirement struct {
	Schemes map[string]Scopes `json:"schemes"`
}

// Scopes is a list of scopes.
type Scopes struct {
	List []string `json:"list,omitempty"`
}

// Skill is something that an agent can do.
type Skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	InputModes  []string `json:"inputModes,omitempty"`
	OutputModes []string `json:"outputModes,omitempty"`
}

// exposes reports whether clients may use an agent.
func (c *Config) exposes(agentID string) bool {
	return len(c.Agents) == 0 || slices.Contains(c.Agents, agentID)
}

// exposed returns the agents that clients may use.
func (c *Config) exposed(all []*awaken.AgentSpec) []*awaken.AgentSpec {
	return slices.DeleteFunc(slices.Clone(all), func(a *awaken.AgentSpec) bool { return !c.exposes(a.ID) })
}

// public returns the agent of requests that name none: default, or else the first. It is nil if there is none.
func public(agents []*awaken.AgentSpec) *awaken.AgentSpec {
	for _, a := range agents {
		if a.ID == "default" {
			return a
		}
	}
	if len(agents) == 0 {
		return nil
	}
	return slices.MinFunc(agents, func(a, b *awaken.AgentSpec) int { return cmp.Compare(a.ID, b.ID) })
}

// base returns the address of the server, as clients reach it.
func (c *Config) base(r *http.Request) string {
	if c.URL != "" {
		return strings.TrimSuffix(c.URL, "/")
	}
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

const keyScheme = "key"

// card returns the card of an agent. With tenant, its interfaces name the agent.
func (c *Config) card(base string, a *awaken.AgentSpec, tenant string) *Card {
	url := base + "/v1/a2a"
	card := &Card{Name: a.ID, Description: describe(a), Version: cmp.Or(c.Version, "dev"), Provider: &Provider{Organization: "Awaken", URL: base},
		Interfaces:   []Interface{{URL: url, Binding: "HTTP+JSON", Tenant: tenant, Version: version}, {URL: url, Binding: "JSONRPC", Tenant: tenant, Version: version}},
		Capabilities: Capabilities{Streaming: true, PushNotifications: c.Hooks != nil, ExtendedAgentCard: !c.ExtendedCardToken.IsZero()},
		InputModes:   inputModes, OutputModes: outputModes, Skills: []Skill{skill(a)}}
	if c.RequireKey {
		card.Schemes = map[string]Scheme{keyScheme: {HTTP: &HTTPScheme{Description: "a key of the server, or a token of a user", Scheme: "Bearer"}}}
		card.Requirements = []Requirement{{Schemes: map[string]Scopes{keyScheme: {}}}}
	}
	return card
}

func describe(a *awaken.AgentSpec) string {
	return cmp.Or(strings.TrimSpace(a.Description), "Agent "+a.ID+".")
}

func skill(a *awaken.AgentSpec) Skill {
	return Skill{ID: a.ID, Name: a.ID, Description: describe(a), Tags: []string{"awaken", "agent"}, InputModes: inputModes, OutputModes: outputModes}
}

// cardAge is how long clients may keep a card, in seconds.
const cardAge = 60

// publicCard replies with the card of the public agent, or of the one that the path names.
func (x *exchange) publicCard() error {
	agents := x.cfg.exposed(x.Agents())
	a := public(agents)
	if x.agent != "" {
		a = nil
		if i := slices.IndexFunc(agents, func(s *awaken.AgentSpec) bool { return s.ID == x.agent }); i >= 0 {
			a = agents[i]
		}
	}
	if a == nil {
		return noAgent(cmp.Or(x.agent, "default"))
	}
	return x.sendCard(x.cfg.card(x.cfg.base(x.Request()), a, x.agent), "public")
}

// bearer is a call to a server that counts wrong secrets.
type bearer interface {
	// Bearer fails with status 401 unless the request has the secret, or a key of the server that may read, as its bearer
	// token. Wrong ones count as wrong keys.
	Bearer(secret awaken.Secret) error
}

// extendedCard replies with a card that has all exposed agents, to clients with its token or with a key of the server: a
// request has one header for either.
func (x *exchange) extendedCard() error {
	if x.cfg.ExtendedCardToken.IsZero() {
		return unsupported("this server has no extended agent card")
	}
	if x.cfg.RequireKey && (x.rpc != nil || x.agent != "") { // these routes have checked the key
		return x.sendExtended()
	}
	b, ok := x.Call.(bearer)
	if !ok {
		return unsupported("this server cannot check the token of the extended agent card")
	}
	if err := b.Bearer(x.cfg.ExtendedCardToken); err != nil {
		return err
	}
	return x.sendExtended()
}

func (x *exchange) sendExtended() error {
	agents := x.cfg.exposed(x.Agents())
	a := public(agents)
	if a == nil {
		return noAgent("default")
	}
	card := x.cfg.card(x.cfg.base(x.Request()), a, "")
	url := card.Interfaces[0].URL
	for _, other := range agents {
		if other != a {
			card.Skills = append(card.Skills, skill(other))
		}
		card.Interfaces = append(card.Interfaces, Interface{URL: url, Binding: "HTTP+JSON", Tenant: other.ID, Version: version},
			Interface{URL: url, Binding: "JSONRPC", Tenant: other.ID, Version: version})
	}
	if x.rpc != nil {
		if err := x.cfg.sign(card); err != nil {
			return err
		}
		return x.reply(card)
	}
	return x.sendCard(card, "private")
}

// sendCard replies with a card that clients may keep for a while.
func (x *exchange) sendCard(card *Card, cache string) error {
	if err := x.cfg.sign(card); err != nil {
		return err
	}
	unsigned := *card
	unsigned.Signatures = nil // some signatures differ every time
	data, err := json.Marshal(unsigned)
	if err != nil {
		return err
	}
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256(data))
	h := x.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", fmt.Sprintf("%s, max-age=%d", cache, cardAge))
	h.Set("Vary", "Host, X-Forwarded-Proto")
	for have := range strings.SplitSeq(x.Request().Header.Get("If-None-Match"), ",") {
		if have = strings.TrimPrefix(strings.TrimSpace(have), "W/"); have == tag || have == "*" {
			return x.Reply(http.StatusNotModified, nil)
		}
	}
	return x.Reply(http.StatusOK, card)
}
