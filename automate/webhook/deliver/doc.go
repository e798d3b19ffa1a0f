// Package deliver sends webhooks: HTTP requests about runs to the addresses that clients subscribe.
//
//	sender, err := deliver.New(deliver.Config{Store: db.Hooks(), Mailbox: box, Kinds: map[string]deliver.Kind{"a2a": a2a.Push}})
//	…
//	err = sender.Set(ctx, &webhook.Hook{RunID: runID, ID: "1", State: webhook.State{Kind: "a2a", Target: webhook.Target{URL: "https://example.com/told"}}})
//	…
//	sender.Work(ctx) // in every process
//
// A [webhook.Hook] says who is told about a run, and how far that has come. The outbox is the log of the run: what a receiver is
// told is a function of the run's record and its committed entries ([Kind.Messages]), so nothing is written when something happens, and
// nothing can be lost between a commit and its delivery. A hook only counts the messages that its receiver has accepted.
//
// Any process may deliver. The one that takes a hook keeps it for a while (a lease, renewed with each step), and delivers its messages one
// after the other: a receiver gets the next one when it has accepted the one before. A message that was sent may be sent again if its process
// dies before it is counted; it then has the same id.
//
// A delivery that fails is repeated with growing pauses, until the receiver has refused everything for [Config.GiveUp]. A receiver that
// answers 410 is not asked again. The last attempts are kept with the hook (field Attempts). A host that does
// not answer gets few requests at once, so that it does not delay what others are told.
//
// Requests go to public addresses only, unless others are allowed (Config.Allow); redirects are not followed. They have the headers of Standard
// Webhooks: webhook-id, webhook-timestamp and, if the hook has a secret, webhook-signature.
package deliver
