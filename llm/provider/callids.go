package provider

import (
	"crypto/rand"
	"fmt"
)

// CallIDs makes the ids of one reply's tool calls unique: some servers repeat or omit them.
// The zero value is ready to use.
type CallIDs struct {
	used map[string]int // how often an id was taken
}

// Take returns id, or a new one if id is empty or was taken before.
func (c *CallIDs) Take(id string) string {
	if c.used == nil {
		c.used = map[string]int{}
	}
	if id == "" {
		id = "call_" + rand.Text()
	}
	out := id
	for c.used[out] > 0 {
		c.used[id]++
		out = fmt.Sprintf("%s_%d", id, c.used[id])
	}
	c.used[out] = 1
	return out
}
