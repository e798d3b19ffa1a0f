package replay

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
)

// remoteBackend stands for a backend of remote agents. Its agents answer what the record has, and make no connection.
type remoteBackend struct {
	stage *stage
	own   registry.RemoteBackend
}

// Agent implements [registry.RemoteBackend].
func (b remoteBackend) Agent(spec *awaken.AgentSpec) (registry.RemoteAgent, error) {
	agent, err := b.own.Agent(spec)
	if err != nil {
		return nil, err
	}
	return &remoteAgent{b.stage, agent, spec.ID}, nil
}

// remoteAgent stands for a remote agent.
type remoteAgent struct {
	stage *stage
	own   registry.RemoteAgent
	id    string
}

// Name implements [awaken.Plugin].
func (a *remoteAgent) Name() string { return a.own.Name() }

// Register registers what the agent declares. Its hooks would talk to the other program; what they noted is in the record.
func (a *remoteAgent) Register(r *awaken.Registrar) error {
	own := awaken.NewRegistrar(r.Agent, r.Lookup)
	if err := a.own.Register(own); err != nil {
		return err
	}
	made := own.Contributions()
	for _, s := range made.Sections {
		r.Section(s)
	}
	r.Key(made.Keys...)
	for _, t := range made.Tools {
		r.Tool(t)
	}
	if len(made.Hooks[awaken.PhaseRunEnd]) > 0 {
		r.On(awaken.PhaseRunEnd, a.runEnd)
	}
	return nil
}

// runEnd leaves the notes with which the run ended.
func (a *remoteAgent) runEnd(_ context.Context, h *awaken.HookCall) error {
	p := a.stage.of(h.Run.RunID)
	if p == nil || !p.followed {
		return nil
	}
	if end := p.notedBefore(len(p.events)); end.writes > builtin.RemoteWrites.Get(h) {
		builtin.WriteRemoteNotes(h, a.id, end.notes[a.id])
	}
	return nil
}

// Exchange implements [registry.RemoteAgent].
func (a *remoteAgent) Exchange(ctx context.Context, x *registry.Exchange) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		e := &exchange{stage: a.stage, part: a.stage.of(x.Run.RunID), x: x}
		if e.part != nil {
			e.at = e.part.begins(x.ID)
			e.note(a.id)
		}
		for again := true; again; {
			again = false
			for d, err := range a.stage.Stream(ctx, x.Request) {
				if err != nil && e.withdraws() {
					if again = e.more(); again {
						break
					}
					err = a.stage.endStream(ctx, e.part, &stream{turn: e.current().turn, last: true})
				}
				e.showUntil(said(d.Kind))
				if !yield(d, err) {
					return
				}
			}
		}
	}
}

// exchange is one exchange with a remote agent in the replay.
type exchange struct {
	stage *stage
	part  *part
	x     *registry.Exchange
	at    int // the event of the step that comes next
}

// note writes the notes that the step of the record left, as often as that did.
func (e *exchange) note(agentID string) {
	p := e.part
	if !p.followed || e.at < 0 {
		return
	}
	before, after := p.notedBefore(e.at), p.notedAfter(e.at)
	for range after.writes - before.writes {
		e.x.Keep(after.notes[agentID])
	}
}

// current returns the stream that ends now, or nil.
func (e *exchange) current() *stream {
	e.stage.mu.Lock()
	defer e.stage.mu.Unlock()
	if p := e.part; p != nil && 0 < p.spoke && p.spoke <= len(p.streams) {
		return &p.streams[p.spoke-1]
	}
	return nil
}

// withdraws takes back the stream that ends now, if the agent did, and reports whether it did.
func (e *exchange) withdraws() bool {
	st := e.current()
	if st == nil || !st.Withdrawn {
		return false
	}
	e.showUntil(func(ev awaken.Event) bool { _, reset := ev.(*awaken.StreamReset); return reset })
	e.x.Retract(st.Lost)
	return true
}

// more reports whether the exchange has another stream.
func (e *exchange) more() bool { return !e.current().last }

// showUntil shows the activities of the step up to the next event that stops reports, or up to the end of the answer.
func (e *exchange) showUntil(stops func(awaken.Event) bool) {
	p := e.part
	if p == nil || !p.followed || e.at < 0 {
		return
	}
	for ; e.at < len(p.events); e.at++ {
		switch ev := p.events[e.at].Event.(type) {
		case *awaken.ToolCallReady, *awaken.InferenceComplete, *awaken.StateSnapshot, *awaken.StepEnd, *awaken.RunFinish:
			return
		case *awaken.ActivitySnapshot:
			if ev.MessageID == e.x.ID {
				e.x.Show(ev.ActivityType, ev.Content)
			}
		default:
			if stops(ev) {
				e.at++
				return
			}
		}
	}
}

// said returns a function that reports whether an event shows a delta of a kind.
func said(kind llm.DeltaKind) func(awaken.Event) bool {
	return func(ev awaken.Event) bool {
		switch ev.(type) {
		case *awaken.TextDelta:
			return kind == llm.TextDelta
		case *awaken.ReasoningDelta:
			return kind == llm.ReasoningDelta
		case *awaken.ReasoningEncryptedValue:
			return kind == llm.OpaqueDelta
		case *awaken.ToolCallStart:
			return kind == llm.ToolCallStart
		case *awaken.ToolCallDelta:
			return kind == llm.ToolCallDelta
		}
		return false
	}
}

// noted is what the state shows of remote agents.
type noted struct {
	notes  map[string]json.RawMessage // by agent
	writes int
}

// notedBefore returns what the last snapshot of the state before an event shows.
func (p *past) notedBefore(i int) noted {
	for i--; i >= 0; i-- {
		if _, ok := p.events[i].Event.(*awaken.StateSnapshot); ok {
			return p.notedAt(i)
		}
	}
	return noted{}
}

// notedAfter returns what the next snapshot of the state shows.
func (p *past) notedAfter(i int) noted {
	for ; i < len(p.events); i++ {
		if _, ok := p.events[i].Event.(*awaken.StateSnapshot); ok {
			return p.notedAt(i)
		}
	}
	return noted{}
}

func (p *past) notedAt(i int) noted {
	var shown struct {
		Snapshot struct {
			Extensions struct {
				Notes  map[string]json.RawMessage `json:"__runtime.remote_backend"`
				Writes int                        `json:"__runtime.remote_writes"`
			} `json:"extensions"`
		} `json:"snapshot"`
	}
	if json.Unmarshal([]byte(p.lines[i]), &shown) != nil {
		return noted{}
	}
	return noted{shown.Snapshot.Extensions.Notes, shown.Snapshot.Extensions.Writes}
}

// remotes makes the remote agents of the registry answer from the record.
func (s *stage) remotes(reg *registry.Registry) map[string]registry.RemoteBackend {
	out := map[string]registry.RemoteBackend{}
	for _, kind := range reg.Backends() {
		out[kind] = remoteBackend{s, reg.Backend(kind)}
	}
	return out
}
