package awaken

import (
	"context"

	"github.com/awaken-go/awaken/llm"
)

// Border is a place where something passes into a run or out of it.
type Border string

const (
	// InputBorder is where messages come in, before they are stored: those of a request,
	// and those that are sent to a run that is going on.
	InputBorder Border = "input"
	// OutputBorder is where the model's answers come out, before they are shown or
	// stored. An agent with a guard there does not stream: an answer is shown when all of
	// it has passed.
	OutputBorder Border = "output"
	// ResultBorder is where the results of tools come in, before hooks, the model or a
	// client see them. What a tool shows while it runs does not pass here.
	ResultBorder Border = "tool_result"
)

// Guard looks at what passes a border; see [Registrar.Guard]. It may change the passage.
// It is pure, and asked again after a restart. Its verdict lets the passage through
// ([Allow]), ends the run ([Block]; what was to pass is dropped), or puts it to a person
// ([SuspendCall]), for whom the run waits. Approved, it passes; a decision that has
// arguments, {"text": …}, lets that text of a message pass instead. Rejected, a message
// ends the run as if it had been blocked, and of a result the model is told that it was
// withheld. An error ends the run.
type Guard func(ctx context.Context, h *HookCall, p *Passage) (Verdict, error)

// Passage is what passes a border. A guard changes it by putting something else in its
// place: Message and what it points to may be shared.
type Passage struct {
	Border  Border
	Message *llm.Message // of the user, or the model's answer
	Result  *ToolResult  // of HookCall.Tool
}
