package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/trace"
)

// Difference is the first place where a replay is not as the record.
type Difference struct {
	RunID string `json:"run_id"`
	Event int    `json:"event,omitempty"` // its number among the events of the run, from 0
	Where string `json:"where"`           // an event, a message, a call
	Want  string `json:"want"`            // the record
	Got   string `json:"got"`             // the replay

	timeless [2]string // Want and Got without times, if they have any
}

// String shows the place and a little of what is around it.
func (d *Difference) String() string {
	want, got := around(d.Want, d.Got)
	if a, b := d.timeless[0], d.timeless[1]; a != b { // times are not what parted them
		want, got = around(a, b)
	}
	return fmt.Sprintf("run %s, %s: the record has %s, the replay %s", d.RunID, d.Where, want, got)
}

// around returns two texts without most of what they have in common.
func around(a, b string) (string, string) {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	cut := func(s string) string {
		if s == "" {
			return "nothing"
		}
		from, dots := max(0, n-80), ""
		if from > 0 {
			dots = "…"
		}
		s = strings.ToValidUTF8(s[from:], "")
		if len(s) > 400 {
			s = strings.ToValidUTF8(s[:400], "") + "…"
		}
		return dots + s
	}
	return cut(a), cut(b)
}

var revision = regexp.MustCompile(`"revision":\d+`)

var drawn = regexp.MustCompile(`drawn-\d{8}`)

// renamed returns a text with the ids of the record instead of those that the runtime drew. Where it has one that is not known yet, the
// record's text says what it stands for. T is the type of what the texts are the JSON of. It requires the lock.
func (s *stage) renamed(got, want string, t reflect.Type) string {
	got = s.rename(got)
	if !strings.Contains(got, "drawn-") {
		return got
	}
	var pattern strings.Builder
	var ids []string
	last, masked := 0, s.timeless(got, t)
	for _, at := range drawn.FindAllStringIndex(masked, -1) {
		pattern.WriteString(regexp.QuoteMeta(masked[last:at[0]]) + `([^"]*?)`)
		ids = append(ids, masked[at[0]:at[1]])
		last = at[1]
	}
	pattern.WriteString(regexp.QuoteMeta(masked[last:]))
	re, err := regexp.Compile("(?s)^" + pattern.String() + "$")
	if err != nil {
		return got
	}
	m := re.FindStringSubmatch(s.timeless(want, t))
	if m == nil {
		return got
	}
	for i, id := range ids {
		if was, ok := s.names[id]; ok && was != m[i+1] {
			return got
		}
		s.names[id] = m[i+1]
	}
	return s.rename(got)
}

func (s *stage) rename(text string) string {
	return drawn.ReplaceAllStringFunc(text, func(id string) string {
		if name, ok := s.names[id]; ok {
			return name
		}
		return id
	})
}

// advance compares an event with the next one of the record. It returns the run and the number of the event in the record, or -1 if it has none, and no
// run if the event is not one of the record's.
func (s *stage) advance(e *awaken.Entry) (p *part, i int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.moved.Broadcast()
	p = s.find(e)
	ev := e.Event
	if got, ok := ev.(*awaken.InferenceComplete); ok && p != nil {
		ev = p.sameRequest(s, got, p.recordedRequest())
	}
	data, err := awaken.AppendEvent(nil, ev)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case p == nil && e.RunID == "":
		s.depart(&Difference{RunID: s.order[0].rec.Run.RunID, Where: "before it starts", Got: string(data)})
		return nil, 0, nil
	case p == nil:
		s.depart(&Difference{RunID: e.RunID, Where: "a run that the record does not have", Got: string(data)})
		return nil, 0, nil
	case !p.followed:
		return p, p.place(e.Event), nil
	case p.pos >= len(p.lines):
		s.depart(&Difference{RunID: e.RunID, Event: p.pos, Where: fmt.Sprintf("event %d", p.pos), Got: string(data)})
		return nil, 0, nil
	}
	i = p.pos
	if s.diff == nil {
		want := p.lines[i]
		t := reflect.TypeOf(ev)
		got := s.renamed(string(data), want, t)
		if got != want {
			s.inexact = true
			if p.cut.at >= 0 && i > p.cut.at { // how far its hooks had come is not recorded
				got, want = revision.ReplaceAllString(got, `"revision":0`), revision.ReplaceAllString(want, `"revision":0`)
			}
			if a, b := s.timeless(want, reflect.TypeOf(p.events[i].Event)), s.timeless(got, t); a != b {
				s.depart(&Difference{RunID: e.RunID, Event: i, Where: fmt.Sprintf("event %d", i), Want: want, Got: got, timeless: [2]string{a, b}})
			}
		}
		s.compared++
	}
	p.pos++
	s.clock = max(s.clock, p.events[i].Time)
	p.count(e.Event)
	return p, i, nil
}

// place returns the event of the record in which a run that is not followed says the same as in e, or -1: answers and outcomes are told from each
// other, and nothing else.
func (p *part) place(e awaken.Event) int {
	defer p.count(e)
	var list []outcome
	n := 0
	switch ev := e.(type) {
	case *awaken.StepStart:
		p.asked = ev.MessageID
	case *awaken.InferenceComplete:
		return p.answerAt(p.asked)
	case *awaken.ToolCallDone:
		list, n = p.outcomes[ev.ID], p.done[ev.ID]
	case *awaken.ToolCallResumed:
		list, n = p.outcomes[ev.TargetID], p.done[ev.TargetID]
	}
	if n < len(list) {
		return list[n].at
	}
	return -1
}

// count counts answers, and the outcomes of calls.
func (p *part) count(e awaken.Event) {
	switch ev := e.(type) {
	case *awaken.RunStart:
		p.starts++
	case *awaken.ToolCallDone:
		p.done[ev.ID]++
	case *awaken.ToolCallResumed:
		p.done[ev.TargetID]++
	case *awaken.InferenceComplete:
		if ev.FinishReason != "" {
			p.answered++
		}
	}
}

// find returns the run of an event, or nil. A run that the runtime starts by itself, because a message arrived, has an id that it
// drew: it is the next one that the record has on the thread. It requires the lock.
func (s *stage) find(e *awaken.Entry) *part {
	if p := s.parts[e.RunID]; p != nil {
		return p
	}
	start, ok := e.Event.(*awaken.RunStart)
	if !ok || !drawn.MatchString(e.RunID) {
		return nil
	}
	for _, p := range s.order {
		if p.rec.Run.ThreadID == start.ThreadID && p.rec.Run.Origin == "internal" && p.pos == 0 && p.alias == "" {
			p.alias, s.parts[e.RunID], s.names[e.RunID] = e.RunID, p, p.rec.Run.RunID
			return p
		}
	}
	return nil
}

// conclude compares what the runs left behind.
func (s *stage) conclude(ctx context.Context, store Store) (*Result, error) {
	for _, p := range s.order {
		if err := s.compareLeft(ctx, store, p); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Result{Difference: s.diff, Exact: s.diff == nil && !s.inexact, Events: s.compared, Runs: len(s.order), NotCompared: s.uncompared}, nil
}

// compareLeft compares the messages and calls of a run with the record's.
func (s *stage) compareLeft(ctx context.Context, store Store, p *part) error {
	got, err := (&trace.Recorder{Source: store, Alone: true}).Record(ctx, cmp.Or(p.alias, p.rec.Run.RunID))
	if err != nil {
		s.part(p, "the run", p.rec.Run.RunID, err.Error())
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.diff != nil {
		return nil
	}
	for i := range max(len(p.rec.Messages), len(got.Messages)) {
		var want, have string
		if i < len(p.rec.Messages) {
			want = content(p.rec.Messages[i].Message)
		}
		if i < len(got.Messages) {
			have = content(got.Messages[i].Message)
		}
		if s.renamed(have, want, reflect.TypeFor[llm.Message]()) != want {
			s.depart(&Difference{RunID: p.rec.Run.RunID, Where: fmt.Sprintf("message %d", i), Want: want, Got: have})
			return nil
		}
	}
	for i := range max(len(p.rec.Calls), len(got.Calls)) {
		var want, have string
		if i < len(p.rec.Calls) {
			want = made(p.rec.Calls[i])
		}
		if i < len(got.Calls) {
			have = made(got.Calls[i])
		}
		t := reflect.TypeFor[awaken.CallState]()
		have = s.renamed(have, want, t)
		if a, b := s.timeless(want, t), s.timeless(have, t); a != b {
			s.depart(&Difference{RunID: p.rec.Run.RunID, Where: fmt.Sprintf("call %d", i), Want: want, Got: have, timeless: [2]string{a, b}})
			return nil
		}
	}
	want, have := became(p.rec.Run, p.followed), became(got.Run, p.followed)
	if have = s.renamed(have, want, reflect.TypeFor[awaken.Run]()); have != want {
		s.depart(&Difference{RunID: p.rec.Run.RunID, Where: "the record of the run", Want: want, Got: have})
	}
	return nil
}

// became returns the compared part of a run's record: how far it has come, and what it has spent. The rest is the
// request, or in its events. When an error says to come back is not compared: the model of a replay has its own answer to that. The costs of a run
// that is not followed are not compared either: it is charged for the requests that were lost with their owners. If it was cancelled, how far it had
// come is not recorded: its last owner may have done nothing but end it.
func became(r *awaken.Run, followed bool) string {
	payload := r.ErrorPayload
	if payload != nil {
		payload = &awaken.Error{Message: payload.Message, Code: payload.Code}
	}
	out := awaken.Run{AgentID: r.AgentID, FirstAgentID: r.FirstAgentID, OutputRepairs: r.OutputRepairs, Status: r.Status, StatusReason: r.StatusReason,
		Termination: r.Termination, FinalOutput: r.FinalOutput, StructuredOutput: r.StructuredOutput, ErrorPayload: payload, FinishReason: r.FinishReason,
		Diagnostics: r.Diagnostics, Steps: r.Steps, Usage: r.Usage, InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, ChildUsage: r.ChildUsage}
	switch {
	case followed:
		out.CostUSD, out.ChildCostUSD = r.CostUSD, r.ChildCostUSD
	case r.Termination.Type == awaken.Cancelled:
		out = awaken.Run{AgentID: r.AgentID, FirstAgentID: r.FirstAgentID, Status: r.Status, StatusReason: r.StatusReason, Termination: r.Termination}
	}
	data, err := json.Marshal(&out)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// content returns the compared part of a message.
func content(m *llm.Message) string {
	if m == nil {
		return ""
	}
	c := *m
	c.Metadata = nil
	data, err := json.Marshal(&c)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// made returns the compared part of a call.
func made(c *awaken.CallState) string {
	data, err := json.Marshal(&awaken.CallState{CallID: c.CallID, ToolName: c.ToolName, Arguments: c.Arguments, Status: c.Status, Step: c.Step, Index: c.Index, Key: c.Key,
		Effect: c.Effect, Child: c.Child, Result: c.Result})
	if err != nil {
		return err.Error()
	}
	return string(data)
}
