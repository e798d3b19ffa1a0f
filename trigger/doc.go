// Package trigger is what is stored of triggers: each lets another system start a run with one request, without a key of the server.
//
// Such a request is authentic by its URL, whose signature only the server can make, or by its own signature as in Standard Webhooks. Both are made with the secret of
// the trigger, so another secret ends all of its URLs.
//
//	store := db.Triggers() // of a database; new(trigger.Memory) of this process
//	query := trigger.Link{Tenant: "acme", ID: "deploys"}.Sign(secret)
//	// https://agents.example.com/v1/triggers/deploys/fire?tenant=acme&signature=…
//
// What a request has in its body is data for the model, which its author may have written to instruct it: see [Spec.TrustPayload].
package trigger
