package llm

import (
	"context"
	"iter"
)

// Model generates replies. Implementations are safe for concurrent use.
type Model interface {
	// Stream sends req and yields the reply as it arrives. The request is sent
	// when iteration starts; leaving the loop, or cancelling ctx, closes the
	// connection. A stream ends with exactly one FinishDelta or one error; a
	// connection that closes without either is an error of kind Interrupted.
	// Stream must not modify req or keep it.
	Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error]
}

// ModelFunc is a Model made of one function.
type ModelFunc func(ctx context.Context, req *Request) iter.Seq2[Delta, error]

// Stream calls f.
func (f ModelFunc) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return f(ctx, req)
}

// Reply is a whole reply, collected from a stream.
type Reply struct {
	Message    *Message // role assistant; only calls whose arguments are complete
	Usage      Usage
	Finish     FinishReason
	Incomplete []string // names of tools whose call broke off in its arguments
}

// Generate asks m and collects the reply.
func Generate(ctx context.Context, m Model, req *Request) (*Reply, error) {
	var c Collector
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			return nil, err
		}
		c.Add(d)
	}
	if !c.Finished() {
		return nil, &Error{Kind: Interrupted, Message: "stream ended without a finish"}
	}
	return c.Reply(), nil
}
