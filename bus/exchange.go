package bus

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken/internal/ids"
)

// Exchange is a process's connection to a bus, which the parts of the process share. A part exchanges texts with the parts of the same name
// in other processes. Like the bus, it guarantees no delivery. It is safe for concurrent use.
type Exchange struct {
	bus  Bus
	id   string
	wake chan struct{} // cap 1: there is something to tell

	mu     sync.Mutex
	parts  map[string]func(from, text string)
	number uint64          // of the last text sent
	news   []string        // bodies to tell all, oldest first
	queued map[string]bool // the bodies in news
}

const (
	// maxNews is the maximum number of texts that wait to be sent. Further texts are lost.
	maxNews = 4096
	// tellTime is the timeout for sending them.
	tellTime = 2 * time.Second
)

// NewExchange returns an exchange with a new ID. It works only while Run runs.
func NewExchange(b Bus) *Exchange {
	return &Exchange{bus: b, id: ids.New(), wake: make(chan struct{}, 1), parts: map[string]func(from, text string){}, queued: map[string]bool{}}
}

// ID returns the ID of this process on the bus.
func (x *Exchange) ID() string { return x.id }

// Limit returns the maximum length of a text that fits into one message.
func (x *Exchange) Limit() int { return x.bus.Limit() - headRoom - 64 }

// Listen registers fn for the texts that other processes send to a part; Run calls it with one text at a time. Fn must return quickly. It
// gets empty strings when Run begins to listen, and when messages may have been lost.
func (x *Exchange) Listen(part string, fn func(from, text string)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.parts[part] = fn
}

// Send sends texts to a part in other processes: in the process Message.To, by its ID, or in all processes if it is empty. A text may have
// up to [MaxText] bytes, less 100. Texts of one Send arrive in order, if they arrive. Texts longer than Limit must not be sent
// concurrently.
func (x *Exchange) Send(ctx context.Context, part string, texts ...Message) error {
	var out []Message
	for _, m := range texts {
		out = x.split(out, m.To, part+"\n"+m.Text)
	}
	if len(out) == 0 {
		return nil
	}
	return x.bus.Publish(ctx, out...)
}

// split appends the messages that carry a body.
func (x *Exchange) split(out []Message, to, body string) []Message {
	x.mu.Lock()
	x.number++
	number := x.number
	x.mu.Unlock()
	for _, part := range Split(x.id, number, body, x.bus.Limit()) {
		out = append(out, Message{To: to, Text: part})
	}
	return out
}

// Tell queues a short text for a part in all other processes and returns immediately. A text that is already queued is not queued again.
func (x *Exchange) Tell(part, text string) {
	body := part + "\n" + text
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.queued[body] || len(x.news) >= maxNews {
		return
	}
	x.queued[body] = true
	x.news = append(x.news, body)
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Run sends and receives until ctx is done and all parts, which it runs meanwhile, have returned. So parts can still send their last
// messages: a bus may close its connections when Subscribe ends.
func (x *Exchange) Run(ctx context.Context, parts ...func(ctx context.Context)) {
	listening, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	var receiving, working sync.WaitGroup
	defer func() {
		working.Wait()
		stop(context.Cause(ctx))
		receiving.Wait()
	}()
	receiving.Go(func() {
		var texts Joiner
		_ = x.bus.Subscribe(listening, x.id, func(text string) {
			if text == "" {
				x.begin()
			} else if from, body, ok := texts.Add(text); ok && from != x.id {
				x.receive(from, body)
			}
		})
	})
	for _, part := range parts {
		working.Go(func() { part(ctx) })
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.wake:
		}
		x.tell(ctx)
	}
}

// tell sends the queued texts.
func (x *Exchange) tell(ctx context.Context) {
	x.mu.Lock()
	news := x.news
	x.news = nil
	clear(x.queued)
	x.mu.Unlock()
	var out []Message
	for _, body := range news {
		out = x.split(out, "", body)
	}
	if len(out) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	_ = x.bus.Publish(ctx, out...) // receivers of lost messages find the change in the store
}

// begin notifies every part that messages may have been lost.
func (x *Exchange) begin() {
	x.mu.Lock()
	var all []func(from, text string)
	for _, fn := range x.parts {
		all = append(all, fn)
	}
	x.mu.Unlock()
	for _, fn := range all {
		fn("", "")
	}
}

// receive passes a body to its part.
func (x *Exchange) receive(from, body string) {
	part, text, ok := strings.Cut(body, "\n")
	if !ok || text == "" {
		return
	}
	x.mu.Lock()
	fn := x.parts[part]
	x.mu.Unlock()
	if fn != nil {
		fn(from, text)
	}
}
