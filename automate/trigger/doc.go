// Package trigger defines triggers, with which other systems start runs without an API key, and their storage.
//
// A request authenticates itself by a signed URL, which only the server can make, or by a signature header as in Standard Webhooks. The
// trigger's secret signs both, so rotating the secret revokes all URLs.
//
//	store := db.Triggers() // of a database; new(trigger.Memory) of this process
//	query := trigger.Link{Tenant: "acme", ID: "deploys"}.Sign(secret)
//	// https://agents.example.com/v1/triggers/deploys/fire?tenant=acme&signature=…
//
// The body of a request is untrusted data: its author may try to instruct the model. See [Spec.TrustPayload].
package trigger
