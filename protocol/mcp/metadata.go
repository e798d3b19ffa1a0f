package mcp

import (
	"net/http"
	"strings"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

// resourceMetadata says how clients get tokens for the server (RFC 9728).
type resourceMetadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers,omitempty"`
	Methods  []string `json:"bearer_methods_supported"`
	Name     string   `json:"resource_name"`
}

const metadataPath = "/.well-known/oauth-protected-resource"

// base returns the address of the server, as clients reach it.
func (c *Config) base(r *http.Request) string {
	if c.URL != "" {
		return strings.TrimSuffix(c.URL, "/")
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// challenge tells a client without a valid key where to find the metadata.
func (c *Config) challenge(r *http.Request) string {
	return `resource_metadata="` + strings.NewReplacer(`"`, "", `\`, "").Replace(c.base(r)) + metadataPath + `/v1/mcp"`
}

// metadataRoutes returns the routes of the metadata: for clients that ask for the server, and for its MCP route.
func (c *Config) metadataRoutes() (out []protocol.Route) {
	for _, path := range []string{metadataPath, metadataPath + "/v1/mcp"} {
		out = append(out, protocol.Route{Method: http.MethodGet, Path: path, Needs: permit.Public, Summary: "Get how MCP clients authenticate", Replies: map[int]any{200: resourceMetadata{}},
			Handle: func(call protocol.Call) error {
				m := resourceMetadata{Resource: c.base(call.Request()) + "/v1/mcp", Methods: []string{"header"}, Name: "Awaken"}
				if c.Issuer != "" {
					m.Servers = []string{c.Issuer}
				}
				return call.Reply(http.StatusOK, m)
			}})
	}
	return out
}
