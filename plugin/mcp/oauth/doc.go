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
// The story, by file. A [Server] (server.go) says what is authorized and as which client. Without an
// authorization, [Broker.Token] (grant.go) fails with [*Needed]; [Broker.Begin] (flow.go) asks the MCP server
// who authorizes it (discover.go), registers the program there if it has to (client.go), and returns the
// address that the user opens. The authorization server sends the browser back to RedirectURL, and
// [Broker.Complete] exchanges the code for tokens (token.go). What waited for it is resumed once it is settled,
// also if a process is lost in between (settle.go). Token then returns the access token, and
// refreshes it when it is due. [Broker.Revoke] (revoke.go) ends an authorization.
//
// What callers may rely on:
//
//   - Tokens, client secrets and PKCE verifiers are stored encrypted, and appear in no error and no log.
//   - An authorization request has PKCE (S256), the resource (RFC 8707) and a state that works once, for the user who
//     began it. A response must come from the issuer that was asked (RFC 9207).
//   - A refresh token is used once, however many processes need it at the same moment: they take turns by
//     compare-and-set.
//   - A client secret is sent to the configured issuer or, without one, to the authorization server of its first use (pin.go).
//   - A token is sent to the address that it was issued for, and to no other.
package oauth
