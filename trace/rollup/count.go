package rollup

import (
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
)

// tally collects the figures of runs.
type tally map[Key]*Figures

// add adds figures of a dimension's value, for the hour and the day of a time.
func (t tally) add(tenant string, by Dimension, value string, at int64, f *Figures) {
	value = clip(value)
	f.bound()
	for _, span := range []time.Duration{Hour, Day} {
		seconds := int64(span / time.Second)
		k := Key{Tenant: tenant, By: by, Value: value, Span: span, At: at - at%seconds}
		if t[k] == nil {
			t[k] = new(Figures)
		}
		t[k].Add(f)
	}
}

// maxValue is the maximum length of a value, in bytes: models may invent tool names of any length, but stores can index only short ones.
const maxValue = 256

// clip truncates a value that is too long.
func clip(value string) string {
	if len(value) <= maxValue {
		return value
	}
	return strings.ToValidUTF8(value[:maxValue], "")
}

// count adds a run that has ended. Its time is when it ended.
func (t tally) count(tenant string, run *awaken.Run, log *logFigures) {
	f := Figures{Count: 1, Usage: run.Usage, Cost: money.Dollars(run.CostUSD)}
	if run.Termination.Type == awaken.Failed {
		f.Errors = 1
	}
	if log.begun {
		f.timed(log.active)
	}
	at := run.FinishedAt / 1000
	for by, value := range map[Dimension]string{Total: "", Agent: run.AgentID, User: run.UserID, Version: run.ResolutionID} {
		t.add(tenant, by, value, at, &f)
	}
	for model, f := range log.models {
		t.add(tenant, Model, model, at, f)
	}
	for tool, f := range log.tools {
		t.add(tenant, Tool, tool, at, f)
	}
}

// logFigures holds the figures derived from the log of a run.
type logFigures struct {
	begun  bool
	since  int64 // when the activation began, Unix ms; 0 between activations
	active int64 // ms of the activations
	models map[string]*Figures
	tools  map[string]*Figures

	names  map[string]string // of tools, by call
	starts map[string]int64  // of calls, Unix ms
}

func newLogFigures() *logFigures {
	return &logFigures{models: map[string]*Figures{}, tools: map[string]*Figures{}, names: map[string]string{}, starts: map[string]int64{}}
}

// add processes the next entry of the run's log.
func (l *logFigures) add(e *awaken.Entry) {
	switch ev := e.Event.(type) {
	case *awaken.RunStart:
		l.begun, l.since = true, e.Time
	case *awaken.RunFinish:
		if l.since > 0 {
			l.active += max(0, e.Time-l.since)
		}
		l.since = 0
	case *awaken.InferenceComplete:
		f := Figures{Count: 1, Cost: money.Dollars(ev.CostUSD)}
		if ev.Usage != nil {
			f.Usage = *ev.Usage
		}
		if ev.FinishReason == "" {
			f.Errors = 1
		}
		f.timed(ev.DurationMS)
		sum(l.models, ev.Model, &f)
	case *awaken.ToolCallReady:
		l.names[ev.ID], l.starts[ev.ID] = ev.Name, e.Time
	case *awaken.ToolCallDone:
		l.done(ev.ID, ev.Outcome, e.Time)
	case *awaken.ToolCallResumed:
		l.done(ev.TargetID, ev.Outcome, e.Time)
	}
}

// done records the outcome of a call. The time that a call waits does not count.
func (l *logFigures) done(id string, outcome awaken.CallStatus, at int64) {
	start, known := l.starts[id]
	delete(l.starts, id)
	name := l.names[id]
	if name == "" || outcome == awaken.CallSuspended || outcome == "" {
		return
	}
	f := Figures{Count: 1}
	if outcome == awaken.CallFailed {
		f.Errors = 1
	}
	if known {
		f.timed(at - start)
	}
	sum(l.tools, name, &f)
}

// sum adds figures to the figures of a name.
func sum(m map[string]*Figures, name string, f *Figures) {
	if m[name] == nil {
		m[name] = new(Figures)
	}
	m[name].Add(f)
}
