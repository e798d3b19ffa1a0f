// Package bus carries short messages between the processes that share a store. It is fast and
// promises nothing: what must not be lost is in the store, and a message only saves the time until
// a process would have looked there.
//
// A [Bus] is the port. PostgreSQL is one that needs nothing else (store/postgres), and
// [github.com/awaken-go/awaken/bus/nats] is one for large fleets. The parts of a process share it
// through an [Exchange]: the event log, the queue and the keys. [Split] and [Joiner] carry texts that
// are longer than a message of a bus may be.
package bus

import "context"

// Message is a text for one process or for all.
type Message struct {
	To   string // the process, which consists of letters, digits and dashes; "" means all, also the sender
	Text string // UTF-8 without U+0000, at most Bus.Limit bytes, and not empty
}

// Bus carries messages between processes. It may lose, delay, repeat and reorder them, and nothing
// else: what arrives is what was sent, to a process that it was sent to. It keeps no more than a
// bounded number of messages for a process that does not take them. It is safe for concurrent use.
type Bus interface {
	// Publish sends messages. It returns when the bus has them, or when it knows or must assume
	// that some are lost. It does not wait for receivers.
	Publish(ctx context.Context, messages ...Message) error
	// Subscribe calls fn with every text that arrives for the process self, one at a time, until
	// ctx is done, and returns its cause. Fn must return quickly. Subscribe calls fn with "" when
	// it begins to listen: at first, and again whenever messages may have been lost meanwhile. It
	// tries to connect until it can.
	Subscribe(ctx context.Context, self string, fn func(text string)) error
	// Limit returns the maximum length of a text in bytes.
	Limit() int
}
