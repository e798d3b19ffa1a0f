// Package thirdparty is the folder of programs that tests start: servers and clients that other projects made. Each is a small main package
// around a library of theirs:
//
//   - nats: the server of NATS, for the bus
//   - oidc: an authorization server, on go-oidc
//   - a2a: an agent and a client, on a2a-go
//
// They are a module of their own, which imports nothing of the one around it, so that programs which use Awaken as a library do not have these
// libraries, and what they require, in their module graph. Package testenv builds and starts the programs.
package thirdparty
