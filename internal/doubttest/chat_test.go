//go:build unix

package doubttest

import (
	"context"
	"encoding/json"
	"io"
)

// chat is a client of Chat Completions. Its first message begins a conversation, whose id only the server knows; it repeats the
// request after a lost connection. The protocol has no other message to a stored conversation and no way to cancel, so the
// client uses the native routes for them.
type chat struct {
	*client
	key, text string // of the first message; "" before it
	id        string // of the thread, once the server has said it
	whole     bool   // the answer to the first message has arrived
}

func (c *chat) other() talker { return native.talk(c.client, "", "") }

// first sends the first message, or repeats it.
func (c *chat) first(ctx context.Context) (string, error) {
	return c.complete(ctx, list{object{"role": "user", "content": c.text}}, c.key)
}

func (c *chat) complete(ctx context.Context, messages list, key string) (string, error) {
	data, err := json.Marshal(object{"model": "default", "stream": true, "messages": messages})
	if err != nil {
		return "", err
	}
	resp, err := c.open(ctx, "POST", "/openai/v1/chat/completions", data, map[string]string{"Idempotency-Key": key})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	c.id = resp.Header.Get("X-Thread-Id")
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

func (c *chat) say(ctx context.Context, thread, id, text string) (string, error) {
	if c.key == "" {
		c.key, c.text = id, text
		return c.first(ctx)
	}
	return c.other().say(ctx, thread, id, text)
}

func (c *chat) thread(ctx context.Context) (string, error) {
	_, err := c.again(ctx)
	return c.id, err
}

// again repeats the first message, unless its answer has arrived.
func (c *chat) again(ctx context.Context) (text string, err error) {
	if !c.whole {
		text, err = c.first(ctx)
		c.whole = err == nil
	}
	return text, err
}

func (c *chat) answer(ctx context.Context, k *ticket, yes bool) (string, error) {
	said, err := json.Marshal(object{"approved": yes, "reason": "no"})
	if err != nil {
		return "", err
	}
	id := "call_" + k.Run + "." + k.ID
	call := object{"id": id, "type": "function", "function": object{"name": "request_approval", "arguments": "{}"}}
	return c.complete(ctx, list{object{"role": "user", "content": c.text}, object{"role": "assistant", "tool_calls": list{call}},
		object{"role": "tool", "tool_call_id": id, "content": string(said)}}, c.key+"-answer")
}

func (c *chat) cancel(ctx context.Context, thread, run string) (string, error) {
	return c.other().cancel(ctx, thread, run)
}
