// Package deliver sends webhooks: HTTP requests about runs to the URLs that clients subscribe.
//
//	sender, err := deliver.New(deliver.Config{Store: db.Hooks(), Mailbox: box, Kinds: map[string]deliver.Kind{"a2a": a2a.Push}})
//	…
//	target := webhook.Target{URL: "https://example.com/events"}
//	err = sender.Set(ctx, &webhook.Hook{RunID: runID, ID: "1", State: webhook.State{Kind: "a2a", Target: target}})
//	…
//	sender.Work(ctx) // in every process
//
// A [webhook.Hook] names the receiver and counts the messages that it has accepted. The run's log is the outbox: messages are a function of
// the run's record and its committed entries ([Kind.Messages]). Nothing is written when an event happens, so no message can be lost between
// a commit and its delivery.
//
// Any process may deliver. A process takes a hook by a lease, which it renews with each step, and delivers the messages in order: it sends
// a message only after the receiver has accepted the previous one. If the process dies before it counts a message, the next process sends
// the message again with the same ID.
//
// The sender retries a failed delivery with exponential backoff until the receiver has refused everything for [Config.GiveUp]. A response
// of 410 ends the subscription. The hook keeps the latest attempts in field Attempts. A slow host gets only a few concurrent requests, so
// that it does not delay deliveries to other receivers.
//
// Requests go only to public addresses, unless [Config.Allow] lists others, and do not follow redirects. They carry the headers of Standard
// Webhooks: webhook-id, webhook-timestamp and, if the hook has a secret, webhook-signature.
package deliver
