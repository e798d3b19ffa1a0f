package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

// call is what a client is asked to do. Either Card or Interface says where the agent is.
type call struct {
	Card      string                `json:"card,omitempty"` // URL of the server whose card names the interfaces
	Binding   a2a.TransportProtocol `json:"binding,omitempty"`
	Interface *a2a.AgentInterface   `json:"interface,omitempty"`
	Method    string                `json:"method"` // of A2A, such as SendMessage, or Card
	Params    json.RawMessage       `json:"params,omitempty"`
}

// line is one line of the answer. A stream has one for each event.
type line struct {
	Result any    `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

// serveCall makes a call and writes each result, as the client decoded it, in a line of its own. A caller that closes its connection cancels
// the call.
func serveCall(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var c call
	if err == nil {
		err = json.Unmarshal(body, &c)
	}
	out := http.NewResponseController(w)
	enc := json.NewEncoder(w)
	send := func(result any) error {
		if err := enc.Encode(line{Result: result}); err != nil {
			return err
		}
		return out.Flush()
	}
	if err == nil {
		err = c.do(r.Context(), send)
	}
	if err != nil {
		_ = enc.Encode(line{Error: err.Error()})
	}
}

// do makes the call.
func (c *call) do(ctx context.Context, send func(result any) error) error {
	if c.Method == "Card" {
		return answer(send)(agentcard.NewResolver(nil).Resolve(ctx, c.Card))
	}
	client, err := c.connect(ctx)
	if err != nil {
		return err
	}
	switch c.Method {
	case "SendMessage":
		p, err := params[a2a.SendMessageRequest](c)
		if err != nil {
			return err
		}
		result, err := client.SendMessage(ctx, p)
		if err != nil {
			return err
		}
		return send(a2a.StreamResponse{Event: result})
	case "SendStreamingMessage":
		p, err := params[a2a.SendMessageRequest](c)
		if err != nil {
			return err
		}
		return stream(client.SendStreamingMessage(ctx, p), send)
	case "SubscribeToTask":
		p, err := params[a2a.SubscribeToTaskRequest](c)
		if err != nil {
			return err
		}
		return stream(client.SubscribeToTask(ctx, p), send)
	case "GetTask":
		p, err := params[a2a.GetTaskRequest](c)
		if err != nil {
			return err
		}
		return answer(send)(client.GetTask(ctx, p))
	case "CancelTask":
		p, err := params[a2a.CancelTaskRequest](c)
		if err != nil {
			return err
		}
		return answer(send)(client.CancelTask(ctx, p))
	case "ListTasks":
		p, err := params[a2a.ListTasksRequest](c)
		if err != nil {
			return err
		}
		return answer(send)(client.ListTasks(ctx, p))
	}
	return fmt.Errorf("method is %q, want one of A2A or Card", c.Method)
}

// connect returns a client of the agent.
func (c *call) connect(ctx context.Context) (*a2aclient.Client, error) {
	if c.Interface != nil {
		return a2aclient.NewFromEndpoints(ctx, []*a2a.AgentInterface{c.Interface})
	}
	card, err := agentcard.NewResolver(nil).Resolve(ctx, c.Card)
	if err != nil {
		return nil, err
	}
	return a2aclient.NewFromCard(ctx, card, a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{c.Binding}}))
}

// params decodes the parameters of a call.
func params[P any](c *call) (*P, error) {
	p := new(P)
	if err := json.Unmarshal(c.Params, p); err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	return p, nil
}

// answer sends what a method has returned.
func answer(send func(result any) error) func(result any, err error) error {
	return func(result any, err error) error {
		if err != nil {
			return err
		}
		return send(result)
	}
}

// stream sends the events of a stream, until one is an error.
func stream(events func(yield func(a2a.Event, error) bool), send func(result any) error) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		if err := send(a2a.StreamResponse{Event: e}); err != nil {
			return err
		}
	}
	return nil
}
