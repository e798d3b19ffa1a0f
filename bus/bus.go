// Package bus carries short messages between the processes that share a store. It is fast and unreliable: everything that must not be lost
// is in the store, and a message only saves a process the wait until it next polls the store.
//
// A [Bus] is the port. Package store/postgres implements it with PostgreSQL alone, and [github.com/awaken-go/awaken/bus/nats] with NATS for
// large fleets. The parts of a process (the event log, the queue and the keys) share the bus through an [Exchange]. [Split] and [Joiner]
// carry texts that are longer than a message of the bus may be.
package bus

import "context"

// Message is a text for one process or for all processes.
type Message struct {
	To   string // the process, which consists of letters, digits and dashes; "" means all, also the sender
	Text string // UTF-8 without U+0000, at most Bus.Limit bytes, and not empty
}

// Bus carries messages between processes. It may lose, delay, repeat and reorder messages, but it does not alter or misdirect them. It
// buffers only a bounded number of messages for a slow process. It is safe for concurrent use.
type Bus interface {
	// Publish sends messages. It returns nil when the bus has accepted them, and an error when some are or may be lost. It does not wait
	// for receivers.
	Publish(ctx context.Context, messages ...Message) error
	// Subscribe calls fn with every text that arrives for the process self, one at a time, until ctx is done, and returns the cause of ctx.
	// Fn must return quickly. Subscribe calls fn with "" when it begins to listen, and again whenever messages may have been lost. It
	// reconnects until it succeeds.
	Subscribe(ctx context.Context, self string, fn func(text string)) error
	// Limit returns the maximum length of a text in bytes.
	Limit() int
}
