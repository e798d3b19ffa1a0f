package awaken

import (
	"context"

	"github.com/awaken-go/awaken/llm"
)

// GuardPoint is a point at which content enters or leaves a run, and where guards inspect it.
type GuardPoint string

const (
	// InputPoint is where messages enter, before they are stored: those of a request, and
	// those sent to an active run.
	InputPoint GuardPoint = "input"
	// OutputPoint is where the model's answers leave, before they are shown or stored. An
	// agent with a guard here does not stream: an answer is shown after all of it has
	// passed.
	OutputPoint GuardPoint = "output"
	// ResultPoint is where tool results enter, before hooks, the model or a client see
	// them. The output that a tool streams while it runs does not pass here.
	ResultPoint GuardPoint = "tool_result"
)

// Guard inspects the content at a [GuardPoint] and may change it; see [Registrar.Guard]. It has
// no side effects, and the runtime calls it again after a restart. Its verdict lets the content
// pass ([Allow]), drops it and ends the run ([Block]), or asks a person ([SuspendCall]) while
// the run waits. The verdict [Answer] is for gates only: from a guard it is an error.
//
// If the person approves, the content passes; the arguments {"text": …} of the decision
// replace the text of a message. If the person rejects a message, the run ends as if it had
// been blocked. If the person rejects a tool result, the model is told that the result was
// withheld. An error from the guard ends the run.
type Guard func(ctx context.Context, h *HookCall, p *Passage) (Verdict, error)

// Passage is the content that a guard inspects. To change it, the guard replaces Message or
// Result; it must not modify what they point to, which may be shared.
type Passage struct {
	Point   GuardPoint
	Message *llm.Message // at InputPoint the user's message, at OutputPoint the model's answer; else nil
	Result  *ToolResult  // at ResultPoint the result of the call HookCall.Tool; else nil
}
