package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
)

// Agents on A2A servers. An agent document names its server in endpoint.options.a2a_server_id. An agent that has no
// document is named <server>/<agent>: by the server's target, or by an agent that delegates to it.

// serverOption is the option of an endpoint that names a server document, and cardOption the one that has its timeout.
const (
	serverOption = "a2a_server_id"
	cardOption   = "card_timeout_ms"
)

// reach completes the endpoint of an agent that runs on a configured A2A server.
func (b *builder) reach(spec *awaken.AgentSpec) *awaken.AgentSpec {
	e := spec.Endpoint
	if e == nil || len(e.Options[serverOption]) == 0 {
		return spec
	}
	id, err := strconv.Unquote(string(e.Options[serverOption]))
	if err != nil {
		return spec // the backend reports it
	}
	server := b.a2aServer(id)
	if server == nil {
		return spec // checkReferences has reported it
	}
	full := *e
	full.BaseURL = cmp.Or(full.BaseURL, server.BaseURL)
	full.Target = cmp.Or(full.Target, server.Target)
	if origin(full.BaseURL) == origin(server.BaseURL) { // the secrets of the server are for its address
		full.Auth = cmp.Or(full.Auth, server.Auth)
		full.Options = maps.Clone(server.Options)
	}
	if full.Options == nil {
		full.Options = map[string]json.RawMessage{}
	}
	full.Options[cardOption] = json.RawMessage(strconv.FormatInt(server.TimeoutMS, 10))
	maps.Copy(full.Options, e.Options)
	spec.Endpoint = &full
	return spec
}

// a2aServer returns a server of the candidate, or nil.
func (b *builder) a2aServer(id string) *A2AServerSpec {
	doc := b.next.docs[Key{A2AServers, id}]
	if doc == nil {
		return nil
	}
	decoded, err := b.c.secrets.decode(doc)
	if err != nil {
		b.degraded = append(b.degraded, problem(doc.Key, "invalid", "%v", err))
		return nil
	}
	return decoded.(*A2AServerSpec)
}

// implied returns the agent <server>/<target>, which has no document.
func (b *builder) implied(server, target string) *awaken.AgentSpec {
	return b.reach(&awaken.AgentSpec{ID: server + "/" + target, Description: fmt.Sprintf("Agent %s on the A2A server %s.", target, server),
		Endpoint: &awaken.RemoteEndpoint{Backend: "a2a", Target: target, Options: map[string]json.RawMessage{serverOption: encode(server)}}})
}

// imply adds an agent of a server that has no document, unless the edit has it.
func (b *builder) imply(server, target string) {
	id := server + "/" + target
	if target == "" || b.next.docs[Key{Agents, id}] != nil || b.compiler.code[Key{Agents, id}] ||
		slices.ContainsFunc(b.edit.Agents, func(s *awaken.AgentSpec) bool { return s.ID == id }) {
		return
	}
	b.edit.Agents = append(b.edit.Agents, b.implied(server, target))
}

// implyDelegates adds the delegates of an agent that are on servers and have no document.
func (b *builder) implyDelegates(spec *awaken.AgentSpec) {
	for _, id := range spec.Delegates {
		if server, target, ok := strings.Cut(id, "/"); ok && b.next.docs[Key{A2AServers, server}] != nil && b.c.base.reg.Agent(id) == nil {
			b.imply(server, target)
		}
	}
}

// addAgentsOn adds the agents of a server that is new or has changed: those that its base has, and the target.
func (b *builder) addAgentsOn(server *A2AServerSpec) {
	for id := range b.impliedOn(server.ID) {
		b.imply(server.ID, strings.TrimPrefix(id, server.ID+"/"))
	}
	b.imply(server.ID, server.Target)
	key := Key{A2AServers, server.ID}
	for _, doc := range b.next.docs {
		if _, changed := b.c.changes[doc.Key]; changed || doc.Namespace != Agents || !slices.Contains(doc.needs, key) {
			continue
		}
		decoded, err := b.c.secrets.decode(doc)
		if err != nil {
			b.degraded = append(b.degraded, problem(doc.Key, "invalid", "%v", err))
			continue
		}
		spec := decoded.(*awaken.AgentSpec)
		b.implyDelegates(spec)
		b.edit.Agents = append(b.edit.Agents, b.reach(spec))
	}
}

// impliedOn yields the agents of a server that the base has without a document.
func (b *builder) impliedOn(server string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, id := range b.c.base.reg.AgentIDs() {
			if strings.HasPrefix(id, server+"/") && b.next.docs[Key{Agents, id}] == nil && !b.compiler.code[Key{Agents, id}] && !yield(id) {
				return
			}
		}
	}
}

// removeAgentsOn removes the agents of a server that have no document.
func (b *builder) removeAgentsOn(server string) {
	for id := range b.impliedOn(server) {
		b.edit.Gone.Agents = append(b.edit.Gone.Agents, id)
	}
}
