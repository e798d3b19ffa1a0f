package awaken

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/awaken-go/awaken/llm"
)

// All texts about the outcome of a call are made here, from its record: results
// for the model, questions to people, and what protocols, exports and traces repeat of them. None
// says that a call was made or not made unless its record says so; see [CallState.Outcome].

// unknownText says that a call is in doubt.
const unknownText = "whether it took effect is not known"

// unknown returns the clause about a call in doubt.
func (s *CallState) unknown() string {
	text := "it had begun, and " + unknownText
	switch d := s.Doubt; {
	case d == nil:
	case d.Step != "":
		text += fmt.Sprintf("; it was at its step %q", d.Step)
	case d.Origin == DoubtChild:
		text = "an agent that it started has a call of which " + unknownText
	case d.Origin == DoubtRestored:
		text = "its record is from a backup of " + clock(d.Since) + ", and " + unknownText + " since then"
	}
	return text
}

// clock formats a time in Unix ms.
func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// DoubtResult returns the result that tells the model that the call is in doubt and was not repeated.
func (s *CallState) DoubtResult() *ToolResult {
	if s.Doubt == nil || s.Doubt.Origin != DoubtIntent {
		return s.doubtful(fmt.Sprintf("the call of tool %q is in doubt: %s, and it was not repeated", s.ToolName, s.unknown()))
	}
	text := fmt.Sprintf("the call of tool %q was cut off after it had begun; %s, and it was not repeated", s.ToolName, unknownText)
	if s.Doubt.Step != "" {
		text += fmt.Sprintf("; it was at its step %q", s.Doubt.Step)
	}
	return s.doubtful(text)
}

// LogLine returns a line for logs about a call that has ended with the outcome.
func (o Outcome) LogLine(tool string) string {
	if o == OutcomeInDoubt {
		return fmt.Sprintf("tool %s is in doubt: %s", tool, unknownText)
	}
	return fmt.Sprintf("tool %s has ended: %s", tool, o)
}

func (s *CallState) doubtful(text string) *ToolResult {
	r := InDoubtResult(text)
	r.ToolName = s.ToolName
	return r
}

// DoubtQuestion returns a question to a person about a call in doubt, or a step of it. What says what
// happened, as a sentence, and again asks whether to repeat it.
func DoubtQuestion(what, again string) string { return what + " It may have taken effect. " + again }

// RefusalResult returns the result of a call that a person did not approve, or that was not decided in
// time.
func (s *CallState) RefusalResult(reason string) *ToolResult {
	if reason != "" {
		reason = ": " + reason
	}
	var r *ToolResult
	switch {
	case s.HeldResult != nil:
		r = ErrorResult("", fmt.Sprintf("The call of tool %q was made, but its result was withheld%s.", s.ToolName, reason))
	case s.Doubt.Open():
		r = ErrorResult("", fmt.Sprintf("Making the call of tool %q again was refused%s. The call is in doubt: %s. It was not repeated.",
			s.ToolName, reason, s.unknown()))
		r.MarkInDoubt()
	case s.Begun() && s.Effect == ReadOnly: // such as one that the client makes: what that has done is not known here
		r = ErrorResult("", fmt.Sprintf("The call of tool %q was refused%s.", s.ToolName, reason))
	case s.Begun():
		r = ErrorResult("", fmt.Sprintf("The call of tool %q was refused%s. It had begun, and was not continued.", s.ToolName, reason))
	default:
		r = ErrorResult("", fmt.Sprintf("The call of tool %q was refused%s. It was not made.", s.ToolName, reason))
	}
	r.ToolName = s.ToolName
	meta := map[string]any{"rejected": true}
	if r.InDoubt() {
		meta[inDoubtKey] = true
	}
	r.Metadata = meta
	return r
}

// InterruptionResult returns the result of a call that was open when its run ended. Why says how.
func (s *CallState) InterruptionResult(why string) *ToolResult {
	how, unmade := abandoned, ""
	if !s.Begun() {
		how, unmade = notMade, "the call was not made, "
	}
	r := ErrorResult("", fmt.Sprintf("[Tool execution was interrupted] %sthe run ended: %s", unmade, why))
	r.Replaces = &Replacement{Interrupted: how}
	if s.Doubt.Open() {
		r.Message += "; " + s.unknown()
		r.MarkInDoubt()
	}
	r.ToolName = s.ToolName
	return r
}

// NotMadeResult returns the result of a call in doubt that a person has settled as not made.
func (s *CallState) NotMadeResult(reason string) *ToolResult {
	if reason != "" {
		reason = ": " + reason
	}
	text := fmt.Sprintf("The call of tool %q was cut off, and did not take effect, as a person has found out%s. It was not repeated.",
		s.ToolName, reason)
	r := ErrorResult("not_made", text)
	r.ToolName = s.ToolName
	return r
}

// MadeResult returns the result of a call in doubt that a person has settled as made. Without a
// result the model learns that the call took effect.
func (s *CallState) MadeResult(result json.RawMessage) *ToolResult {
	r := &ToolResult{ToolName: s.ToolName, Status: ToolSuccess, Data: result}
	if len(result) == 0 || string(result) == "null" {
		r.Data = json.RawMessage("null")
		r.Message = fmt.Sprintf("The call of tool %q was cut off, but took effect, as a person has found out. Its result is not known.",
			s.ToolName)
	}
	return r
}

// WithDoubt returns a result that does not end the call's doubt with the words that keep it: res is
// not the answer of the tool, or the error of a later attempt. Without a doubt it returns res.
func (s *CallState) WithDoubt(res *ToolResult) *ToolResult {
	if !s.Doubt.Open() || res.InDoubt() {
		return res
	}
	out := *res
	clause := "an earlier attempt of the call is in doubt: " + s.unknown()
	out.addClause(clause)
	out.MarkInDoubt()
	return &out
}

// addClause adds a clause to the text of the result. The result must not be in use yet.
func (r *ToolResult) addClause(clause string) {
	if len(r.Content) > 0 {
		r.Content = append(r.Content[:len(r.Content):len(r.Content)], llm.Text("("+clause+")"))
	}
	if r.Message == "" {
		r.Message = "(" + clause + ")"
	} else {
		r.Message += " (" + clause + ")"
	}
}

// UnansweredResult returns the result of a call that ended without an answer of its tool: the tool
// took too long, panicked, or was told to stop. Res has the error.
func (s *CallState) UnansweredResult(res *ToolResult) *ToolResult {
	out := *res
	out.Message = fmt.Sprintf("the call of tool %q had begun, and %s: %s", s.ToolName, unknownText, res.Message)
	out.MarkInDoubt()
	return &out
}

// ChildResult returns the result of a call whose child run has ended, with the calls of the child that
// are in doubt.
func (child *Run) ChildResult(res *ToolResult) *ToolResult {
	if child.InDoubt == 0 {
		return res
	}
	out := *res
	out.addClause(child.DoubtClause())
	out.MarkInDoubt()
	return &out
}

// DoubtClause says how many calls of the run are in doubt, or returns "".
func (child *Run) DoubtClause() string {
	switch child.InDoubt {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("agent %q has made a call of which %s", child.AgentID, unknownText)
	}
	return fmt.Sprintf("agent %q has made %d calls of which %s", child.AgentID, child.InDoubt, unknownText)
}

// DoubtNote returns the text for a model about a call in doubt that is no longer in its conversation,
// such as after a rewind.
func (s *CallState) DoubtNote() string {
	return fmt.Sprintf("<call-in-doubt tool=%q call_id=%q arguments=%q>"+
		"A call of tool %q that is no longer part of this conversation is in doubt: %s. It was not repeated.</call-in-doubt>",
		s.ToolName, s.CallID, string(s.Arguments), s.ToolName, s.unknown())
}

// SettlementNote returns the text for a model about a call that was settled after it was over.
func (d *Decided) SettlementNote() string {
	text := "did not take effect"
	if d.Outcome == OutcomeMade {
		text = "took effect"
		if len(d.Result) > 0 && string(d.Result) != "null" {
			text += ", with this result: " + string(d.Result)
		}
	}
	if d.Reason != "" {
		text += " (" + d.Reason + ")"
	}
	return fmt.Sprintf("<call-settled tool=%q call_id=%q outcome=%q>"+
		"The call of tool %q, which was in doubt, %s, as a person has found out.</call-settled>",
		d.ToolName, d.ToolCallID, d.Outcome, d.ToolName, text)
}
