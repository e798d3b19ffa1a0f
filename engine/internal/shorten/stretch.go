package shorten

import "github.com/awaken-go/awaken/llm"

// Stretch is a part of a conversation that can be replaced by a summary.
type Stretch struct {
	Messages []*llm.Message
	Begins   bool // it starts at the first message
	Tokens   int  // of all messages
	Fresh    int  // of messages that are not summaries
}

// Plan chooses what to summarise: the messages before the user's last one, or those
// after it, whichever is more. The user's last message
// and the last keep messages always stay. It returns nil if fewer than least tokens that are in no summary yet could be saved.
func Plan(msgs llm.Messages, keep, least int) *Stretch {
	lead := 0
	for lead < msgs.Len() && msgs.At(lead).Role == llm.System && !msgs.At(lead).IsSummary() {
		lead++
	}
	asked := msgs.Len()
	for i, m := range msgs.Backward() {
		if m.Role == llm.User && !m.IsInternal() {
			asked = i
			break
		}
	}
	end := msgs.Len() - keep
	best := stretch(msgs, lead, min(asked, end), least)
	if since := stretch(msgs, max(asked+1, lead), end, least); since != nil && (best == nil || since.Fresh > best.Fresh) {
		best = since
	}
	if best != nil {
		best.Begins = lead == 0 && best.Messages[0] == msgs.At(0)
	}
	return best
}

// stretch returns the longest part of the messages in [from, to) that can be summarised, or nil.
// It ends where no call waits for an answer.
func stretch(msgs llm.Messages, from, to, least int) *Stretch {
	open := map[string]bool{}
	var whole, p Stretch
	for i := from; i < to; i++ {
		m := msgs.At(i)
		n := m.Tokens()
		whole.Messages, whole.Tokens = append(whole.Messages, m), whole.Tokens+n
		if !m.IsSummary() {
			whole.Fresh += n
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		if m.Role == llm.ToolRole {
			delete(open, m.ToolCallID)
		}
		if len(open) == 0 && m.ID != "" && (i+1 == msgs.Len() || mayEndBefore(m, msgs.At(i+1))) {
			p = whole
		}
	}
	if len(p.Messages) < 2 || p.Fresh < least || p.Messages[0].ID == "" {
		return nil
	}
	return &p
}

// mayEndBefore reports whether a stretch may end between m and next. A message shown after an
// answer may precede it in the log, unless the model wrote it.
func mayEndBefore(m, next *llm.Message) bool {
	return next.Role == llm.Assistant || next.Role != llm.ToolRole && m.Role != llm.ToolRole
}
