package engine

import (
	"fmt"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// cutoffKey is the key of the context message. A plugin that adds one with this key says
// something else instead.
const cutoffKey = "knowledge_cutoff.context"

// cutoffContext tells a model the date and where its knowledge ends.
func cutoffContext(cutoff string, now time.Time) awaken.ContextMessage {
	return awaken.ContextMessage{Key: cutoffKey, Role: llm.System, Priority: -100, Content: []llm.Block{llm.Text(fmt.Sprintf(
		"Today is %s (UTC). Your knowledge ends at %s: you do not know what happened after that unless this conversation or a tool tells you.",
		now.UTC().Format(time.DateOnly), cutoff))}}
}
