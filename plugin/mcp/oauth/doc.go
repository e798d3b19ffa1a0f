// Package oauth authorizes MCP servers by OAuth, for the users of a program or for the program itself.
//
// A [Broker] keeps the authorizations, one for each user and server, encrypted in a profile:
//
//	broker, err := oauth.New(oauth.Config{
//		Values:      func(tenant string) profile.Store { return store.Profile(tenant) },
//		Sealer:      sealer,
//		RedirectURL: "https://agents.example/callback",
//	})
//	…
//	tools, err := mcp.New(mcp.Config{
//		Servers: []mcp.Server{{ID: "issues", URL: "https://mcp.example/mcp", OAuth: &oauth.Client{}}},
//		Options: mcp.Options{OAuth: broker},
//	})
//	http.Handle("/callback", broker.Handler(signedIn, resume))
//
// The parts, by file: A [Server] (server.go) names the MCP server and the client. Without an authorization, [Broker.Token] (grant.go) fails
// with [*Needed]. [Broker.Begin] (flow.go) discovers the authorization server (discover.go), registers a client there if necessary
// (client.go), and returns the URL for the user to open. The authorization server redirects the browser to RedirectURL, and
// [Broker.Complete] exchanges the code for tokens (token.go). The suspended calls that wait for the authorization are then resumed, even if
// a process dies in between (settle.go). From then on, Token returns the access token and refreshes it when it is due. [Broker.Revoke]
// (revoke.go) revokes an authorization.
//
// Guarantees:
//
//   - Tokens, client secrets and PKCE verifiers are stored encrypted and never appear in errors or logs.
//   - An authorization request has PKCE (S256), the resource (RFC 8707) and a state that is valid once, for the user who began it. A
//     response must come from the requested issuer (RFC 9207).
//   - A refresh token is used once, however many processes need it at the same moment: they take turns by
//     compare-and-set.
//   - A client secret is sent to the configured issuer or, without one, to the authorization server of its first use (pin.go).
//   - A token is sent only to the URL that it was issued for.
package oauth
