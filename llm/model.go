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
	// Errors are *Error. Stream must not modify or keep req.
	Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error]
}

// ModelFunc adapts a function to a Model.
type ModelFunc func(ctx context.Context, req *Request) iter.Seq2[Delta, error]

// Stream calls f.
func (f ModelFunc) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return f(ctx, req)
}

// Reply is a complete reply, collected from a stream.
type Reply struct {
	Message    *Message // of the assistant; has only tool calls with complete arguments
	Usage      Usage
	Finish     FinishReason
	Incomplete []string // names of tools whose call has truncated arguments
}

// Generate sends req to m and collects the reply. Its errors are *[Error].
func Generate(ctx context.Context, m Model, req *Request) (*Reply, error) {
	var c Collector
	c.Bound(req)
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			return nil, err
		}
		if err := c.Add(d); err != nil {
			return nil, err
		}
	}
	if !c.Finished() {
		return nil, &Error{Kind: Interrupted, Message: "stream ended without a finish"}
	}
	return c.Reply(), nil
}
