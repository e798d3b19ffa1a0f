// Package trigger defines triggers, with which other systems start runs without a key of the server, and the store that keeps them.
//
// A request of a trigger is authentic by its URL, whose signature only the server can make, or by its own signature as in Standard Webhooks. Both are made with the secret of
// the trigger, so another secret ends all of its URLs.
//
//	store := db.Triggers() // of a database; new(trigger.Memory) of this process
//	query := trigger.Link{Tenant: "acme", ID: "deploys"}.Sign(secret)
//	// https://agents.example.com/v1/triggers/deploys/fire?tenant=acme&signature=…
//
// What a request has in its body is data for the model, which its author may have written to instruct it: see [Spec.TrustPayload].
package trigger
