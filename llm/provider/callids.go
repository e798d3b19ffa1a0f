package provider

import (
	"crypto/rand"
	"fmt"
)

// CallIDs makes the ids of one reply's tool calls unique: some servers repeat or omit them.
// The zero value is ready to use.
type CallIDs struct{ used map[string]bool }

// Take returns id, or a new one if id is empty or was taken before.
func (c *CallIDs) Take(id string) string {
	if c.used == nil {
		c.used = map[string]bool{}
	}
	if id == "" {
		id = "call_" + rand.Text()
	}
	out := id
	for n := 2; c.used[out]; n++ {
		out = fmt.Sprintf("%s_%d", id, n)
	}
	c.used[out] = true
	return out
}
