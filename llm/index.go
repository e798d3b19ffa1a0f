package llm

import "sync"

// Index remembers what is known about the messages of a conversation that only grows, so that a
// turn need not read them all again: which calls they have, and their digest. It reads a message when
// it is first asked about it. All [Messages] of a conversation share its Index. The zero Index is
// empty. An Index is safe for concurrent use.
type Index struct {
	mu     sync.Mutex
	msgs   []*Message     // the longest list that it was asked about
	calls  map[string]int // by id, the first of the messages that has the call
	read   int            // messages whose calls it has
	digest digester       // of the first messages
	summed int            // how many they are
}

// knows reports whether msgs belong to the conversation, and have not parted from it. Requires ix.mu.
func (ix *Index) knows(msgs []*Message) bool {
	if n := min(len(msgs), len(ix.msgs)); n > 0 && msgs[n-1] != ix.msgs[n-1] {
		return false
	}
	if len(msgs) > len(ix.msgs) {
		ix.msgs = msgs
	}
	return true
}

// hasCall reports whether one of msgs has a call with that id, and whether that is known.
func (ix *Index) hasCall(msgs []*Message, id string) (has, known bool) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if !ix.knows(msgs) {
		return false, false
	}
	if ix.calls == nil {
		ix.calls = map[string]int{}
	}
	for ; ix.read < len(msgs); ix.read++ {
		for i := range msgs[ix.read].ToolCalls {
			if _, ok := ix.calls[msgs[ix.read].ToolCalls[i].ID]; !ok {
				ix.calls[msgs[ix.read].ToolCalls[i].ID] = ix.read
			}
		}
	}
	at, ok := ix.calls[id]
	return ok && at < len(msgs), true
}

// digestOf returns a digester that has digested msgs, and whether that is known.
func (ix *Index) digestOf(msgs []*Message) (d digester, known bool) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if !ix.knows(msgs) || ix.summed > len(msgs) {
		return d, false
	}
	for ; ix.summed < len(msgs); ix.summed++ {
		ix.digest.message(msgs[ix.summed])
	}
	return ix.digest, true
}
