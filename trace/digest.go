package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"

	"github.com/awaken-go/awaken/llm"
)

// Digests returns, by step, a digest of the inputs of the step's request: the version, the agent, the parameters of the run and the
// conversation before the step. Steps with equal digests made equal requests. Digests are computed from the log on demand, so runs pay
// nothing for them. Digests returns nil if the recording lacks the log before the run; see [Recorder].
func (rec *Recording) Digests() map[int]string {
	if first := rec.Run.Input.FromSeq; len(rec.Turns) == 0 || len(rec.Before) == 0 && first > 1 {
		return nil
	}
	h := sha256.New()
	overrides, _ := json.Marshal(rec.Run.Overrides) // numbers and texts
	fmt.Fprintf(h, "%q %q %s\n", rec.Run.ResolutionID, rec.Run.AgentID, overrides)
	for _, m := range rec.Before {
		addMessage(h, m)
	}
	for _, m := range rec.Input {
		addMessage(h, m)
	}
	out := map[int]string{}
	for _, r := range rec.Messages {
		if step, ok := rec.stepOf(r.Message); ok && out[step] == "" {
			out[step] = hex.EncodeToString(h.Sum(nil))
		}
		addMessage(h, r.Message)
	}
	for _, t := range rec.Turns { // without an answer
		if out[t.Step] == "" {
			out[t.Step] = hex.EncodeToString(h.Sum(nil))
		}
	}
	return out
}

// addMessage adds a message to the hash, without its IDs, which are random.
func addMessage(h hash.Hash, m *llm.Message) {
	content, err := json.Marshal(m.Content)
	if err != nil {
		content = []byte(err.Error())
	}
	fmt.Fprintf(h, "%s %s", m.Role, content)
	for _, c := range m.ToolCalls {
		fmt.Fprintf(h, " %q %s", c.Name, c.Arguments)
	}
	if md := m.Metadata; md != nil && md.Rewind != nil {
		fmt.Fprintf(h, " rewind %d", md.Rewind.FromSeq)
	} else if md != nil && md.Compaction != nil {
		fmt.Fprintf(h, " compaction %d %d", md.Compaction.FromSeq, md.Compaction.ToSeq)
	}
	h.Write([]byte{'\n'})
}
