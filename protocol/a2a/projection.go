package a2a

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/awaken-go/awaken"
)

// responseID is the artifact that is the answer of a task, and outputID its structured output.
const (
	responseID = "response"
	outputID   = "output"
)

// sink gets the changes of a projection.
type sink interface {
	// status sets the status of the task.
	status(s *Status)
	// text appends to the answer, or replaces it.
	text(piece string, appends, last bool)
	// artifact sets an artifact other than the answer.
	artifact(a *Artifact)
}

// projection is a task as the entries of its run tell it. It gets them from the first on. The answer is the text of the
// latest step that has one: what an agent says before it calls a tool is replaced by what it says after.
type projection struct {
	out       sink
	taskID    string
	contextID string

	now       Status
	answer    []byte // text of the artifact response
	said      uint64 // seq of the entry that last changed the answer
	fresh     bool   // the next text replaces the answer
	resend    bool   // the client's answer may not be this one
	step      string // message id of the step
	complete  bool   // the model has finished the step
	artifacts []Artifact
}

// discard is a sink for those that only want the result.
type discard struct{}

func (discard) status(*Status)          {}
func (discard) text(string, bool, bool) {}
func (discard) artifact(*Artifact)      {}

func newProjection(out sink, taskID, contextID string) *projection {
	return &projection{out: out, taskID: taskID, contextID: contextID, now: Status{State: Submitted}, fresh: true}
}

// apply takes the next entry.
func (p *projection) apply(e *awaken.Entry) {
	switch ev := e.Event.(type) {
	case *awaken.RunStart:
		p.taskID, p.contextID = ev.RunID, ev.ThreadID
		p.set(Status{State: Working, Timestamp: timestamp(e.Time)})
	case *awaken.StepStart:
		if ev.MessageID == p.step && !p.complete {
			p.retract(e.Seq) // a new owner begins the step again
		}
		p.step, p.fresh, p.complete = ev.MessageID, true, false
	case *awaken.TextDelta:
		p.say(ev.Delta, e.Seq)
	case *awaken.ToolCallReady, *awaken.InferenceComplete:
		p.complete = true
	case *awaken.StreamReset:
		if ev.Cursor == "" {
			p.retract(e.Seq)
		} else {
			p.lose(ev.Cursor)
		}
	case *awaken.ActivitySnapshot:
		p.activity(ev)
	case *awaken.ActivityDelta:
		p.patch(ev)
	case *awaken.RunFinish:
		p.taskID, p.contextID = ev.RunID, ev.ThreadID
		p.finish(ev, e.Time)
	case *awaken.Error:
		p.set(Status{State: Failed, Timestamp: timestamp(e.Time), Message: agentMessage(ev.Message, p.taskID+":end", p.contextID, p.taskID)})
	}
}

// set sets the status, if the state changes.
func (p *projection) set(s Status) {
	if s.State == p.now.State {
		return
	}
	p.now = s
	p.out.status(&p.now)
}

// say adds to the answer.
func (p *projection) say(piece string, seq uint64) {
	if piece == "" {
		return
	}
	p.said = seq
	appends := !p.fresh
	if p.fresh {
		p.answer, p.fresh = p.answer[:0], false
	}
	if p.answer == nil {
		p.answer = make([]byte, 0, max(1<<10, len(piece)))
	}
	p.answer = append(p.answer, piece...)
	if p.resend {
		p.resend, appends, piece = false, false, string(p.answer)
	}
	p.out.text(piece, appends, false)
}

// retract takes back what the step has said.
func (p *projection) retract(seq uint64) {
	if p.fresh {
		return
	}
	p.answer, p.fresh, p.said = p.answer[:0], true, seq
	p.out.text("", false, false)
}

// lose takes back text after a cursor, which was lost with the owner of the run. The client needs the answer up to there
// again.
func (p *projection) lose(cursor string) {
	kept, err := awaken.ParseCursor(cursor)
	if len(p.answer) > 0 && (err != nil || p.said > kept.Seq) {
		p.out.text("", false, false)
	}
	p.resend = true
}

// activity shows an activity of a tool as an artifact. Progress is not an output.
func (p *projection) activity(ev *awaken.ActivitySnapshot) {
	if ev.ActivityType == awaken.ProgressActivity {
		return
	}
	a := Artifact{ArtifactID: ev.MessageID + ":" + ev.ActivityType, Name: ev.ActivityType, Parts: []Part{dataPart(ev.Content)}}
	if ev.Replace != nil && !*ev.Replace && p.find(a.ArtifactID) >= 0 {
		return
	}
	p.put(a)
}

func (p *projection) patch(ev *awaken.ActivityDelta) {
	i := p.find(ev.MessageID + ":" + ev.ActivityType)
	if i < 0 {
		return
	}
	a := p.artifacts[i]
	if data, ok := applyPatch(a.Parts[0].Data, ev.Patch); ok {
		a.Parts = []Part{dataPart(data)}
		p.put(a)
	}
}

func (p *projection) find(id string) int {
	return slices.IndexFunc(p.artifacts, func(a Artifact) bool { return a.ArtifactID == id })
}

// put adds or replaces an artifact.
func (p *projection) put(a Artifact) {
	if i := p.find(a.ArtifactID); i >= 0 {
		p.artifacts[i] = a
	} else {
		p.artifacts = append(p.artifacts, a)
	}
	p.out.artifact(&a)
}

// finish ends an activation.
func (p *projection) finish(ev *awaken.RunFinish, at int64) {
	var out awaken.RunOutput
	if ev.Result != nil {
		out = *ev.Result
	}
	if ev.Termination.Type == awaken.Suspended {
		s := Status{State: waitingState(out.Waiting), Timestamp: timestamp(at)}
		if s.State.Interrupted() {
			s.Message = questionMessage(out.Waiting, out.StatusReason, p.contextID, p.taskID)
		}
		p.set(s)
		return
	}
	state := endState(ev.Termination)
	switch {
	case state == Completed && out.Response != string(p.answer), p.resend && len(p.answer) > 0:
		if state == Completed {
			p.answer = append(p.answer[:0], out.Response...)
		}
		p.out.text(string(p.answer), false, true)
	case len(p.answer) > 0:
		p.out.text("", true, true)
	}
	if len(out.StructuredOutput) > 0 {
		p.put(Artifact{ArtifactID: outputID, Name: outputID, Parts: []Part{dataPart(out.StructuredOutput)}})
	}
	p.set(Status{State: state, Timestamp: timestamp(at), Message: endMessage(ev.Termination, p.contextID, p.taskID)})
}

// outputs returns the artifacts, the answer first.
func (p *projection) outputs() []Artifact {
	var out []Artifact
	if len(p.answer) > 0 {
		out = append(out, response(string(p.answer)))
	}
	return append(out, p.artifacts...)
}

// response returns the artifact of an answer.
func response(text string) Artifact {
	return Artifact{ArtifactID: responseID, Name: responseID, Parts: []Part{textPart(text)}}
}

// dataPart returns a part with JSON, which is null if it is empty or invalid.
func dataPart(raw json.RawMessage) Part {
	raw = bytes.TrimSpace(raw)
	if !json.Valid(raw) {
		raw = json.RawMessage("null")
	}
	return Part{Data: raw, MediaType: "application/json"}
}
