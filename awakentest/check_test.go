package awakentest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

// Shorthand for the events of a fictional run.
var (
	runStart  = &awaken.RunStart{RunID: "r"}
	stepStart = &awaken.StepStart{MessageID: "m"}
	text      = &awaken.TextDelta{Delta: "x"}
	complete  = &awaken.InferenceComplete{}
	snapshot  = &awaken.StateSnapshot{Snapshot: state.Snapshot{}}
	stepEnd   = &awaken.StepEnd{}
	done      = &awaken.RunFinish{RunID: "r", Termination: awaken.Termination{Type: awaken.NaturalEnd}}
	waits     = &awaken.RunFinish{RunID: "r", Termination: awaken.Termination{Type: awaken.Suspended}}

	callStart   = &awaken.ToolCallStart{ID: "c"}
	callDelta   = &awaken.ToolCallDelta{ID: "c"}
	callReady   = &awaken.ToolCallReady{ID: "c"}
	callCancel  = &awaken.ToolCallCancel{ID: "c"}
	callDone    = &awaken.ToolCallDone{ID: "c", MessageID: "m", Result: awaken.TextResult("x"), Outcome: awaken.CallSucceeded}
	callWaits   = &awaken.ToolCallDone{ID: "c", Result: &awaken.ToolResult{Status: awaken.ToolPending}, Outcome: awaken.CallSuspended}
	callResumed = &awaken.ToolCallResumed{TargetID: "c"}
	reset       = &awaken.StreamReset{}
	failed      = &awaken.Error{Message: "no"}
)

func numbered(events ...awaken.Event) []awaken.Entry {
	out := make([]awaken.Entry, len(events))
	for i, ev := range events {
		out[i] = awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: uint64(i) + 1}, RunID: "r", Event: ev}
	}
	return out
}

func seq(parts ...any) []awaken.Event {
	var out []awaken.Event
	for _, p := range parts {
		switch p := p.(type) {
		case awaken.Event:
			out = append(out, p)
		case []awaken.Event:
			out = append(out, p...)
		}
	}
	return out
}

func TestCheckEvents_AcceptsValidStreams(t *testing.T) {
	t.Parallel()
	end := seq(snapshot, done)
	for name, events := range map[string][]awaken.Event{
		"nothing":                   nil,
		"could not start":           {failed},
		"text":                      seq(runStart, stepStart, text, complete, snapshot, stepEnd, end),
		"no step":                   seq(runStart, end),
		"broken inference":          seq(runStart, stepStart, text, snapshot, stepEnd, end),
		"a call":                    seq(runStart, stepStart, callStart, callDelta, callReady, complete, callDone, snapshot, stepEnd, end),
		"a call withdrawn":          seq(runStart, stepStart, callStart, callDelta, callCancel, complete, snapshot, stepEnd, end),
		"reset, and again":          seq(runStart, stepStart, callStart, reset, callStart, callReady, complete, callDone, snapshot, stepEnd, end),
		"waits":                     seq(runStart, stepStart, callStart, callReady, complete, callWaits, snapshot, stepEnd, snapshot, waits),
		"waits, waits, is resumed":  seq(runStart, stepStart, callStart, callReady, complete, callWaits, snapshot, stepEnd, snapshot, waits, runStart, callWaits, snapshot, waits, runStart, callResumed, end),
		"resumed, the first unseen": seq(runStart, callResumed, stepStart, text, complete, snapshot, stepEnd, end),
		"could not start, then did": seq(failed, runStart, end),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found := problems(numbered(events...)); len(found) > 0 {
				t.Errorf("%q\nin %q", found, Types(numbered(events...)))
			}
		})
	}
}

func TestCheckEvents_FindsViolations(t *testing.T) {
	t.Parallel()
	end := seq(snapshot, done)
	asked := seq(runStart, stepStart, callStart, callReady, complete)
	for name, tt := range map[string]struct {
		events []awaken.Event
		want   string // part of some problem
	}{
		"before the run":          {seq(text, runStart, end), "no run is open"},
		"after the run":           {seq(runStart, end, text), "no run is open"},
		"no end":                  {seq(runStart), "has no run_finish"},
		"two ends":                {seq(runStart, end, end), "no run is open"},
		"two starts":              {seq(runStart, runStart, end), "is already open"},
		"continues after its end": {seq(runStart, end, runStart, end), "run r has ended"},
		"error in a run":          {seq(runStart, failed, end), "it has started"},
		"step in a step":          {seq(runStart, stepStart, stepStart, snapshot, stepEnd, end), "a step is already open"},
		"step not closed":         {seq(runStart, stepStart, end), "a step is open"},
		"step not opened":         {seq(runStart, snapshot, stepEnd, end), "no step is open"},
		"step_end, no snapshot":   {seq(runStart, stepStart, stepEnd, end), "want state_snapshot"},
		"run_finish, no snapshot": {seq(runStart, done), "want state_snapshot"},
		"text outside a step":     {seq(runStart, text, end), "no step is open"},
		"text after complete":     {seq(runStart, stepStart, complete, text, snapshot, stepEnd, end), "after the step's inference_complete"},
		"complete twice":          {seq(runStart, stepStart, complete, complete, snapshot, stepEnd, end), "after the step's inference_complete"},
		"ready, not started":      {seq(runStart, stepStart, callReady, complete, callDone, snapshot, stepEnd, end), "call c is unknown"},
		"ready after complete":    {seq(runStart, stepStart, callStart, complete, callReady, callDone, snapshot, stepEnd, end), "after the step's inference_complete"},
		"started, left open":      {seq(runStart, stepStart, callStart, complete, snapshot, stepEnd, end), "neither ready nor cancelled"},
		"delta after ready":       {seq(runStart, stepStart, callStart, callReady, callDelta, complete, callDone, snapshot, stepEnd, end), "call c is ready"},
		"done before complete":    {seq(runStart, stepStart, callStart, callReady, callDone, complete, snapshot, stepEnd, end), "after the step's inference_complete"},
		"done, not ready":         {seq(runStart, stepStart, complete, callDone, snapshot, stepEnd, end), "call c is unknown"},
		"done twice":              {seq(asked, callDone, callDone, snapshot, stepEnd, end), "call c is over"},
		"done after cancel":       {seq(runStart, stepStart, callStart, callCancel, complete, callDone, snapshot, stepEnd, end), "call c is withdrawn"},
		"ready after cancel":      {seq(runStart, stepStart, callStart, callCancel, callReady, complete, snapshot, stepEnd, end), "call c is withdrawn"},
		"ready after reset":       {seq(runStart, stepStart, callStart, reset, callReady, complete, snapshot, stepEnd, end), "call c is withdrawn"},
		"waits, then done":        {seq(asked, callWaits, callDone, snapshot, stepEnd, end), "tool_call_resumed"},
		"resumed, did not wait":   {seq(asked, callResumed, snapshot, stepEnd, end), "was not suspended"},
		"resumed twice":           {seq(asked, callWaits, callResumed, callResumed, snapshot, stepEnd, end), "call c is over"},
		"no result":               {seq(asked, snapshot, stepEnd, end), "has no result"},
		"result does not fit": {seq(asked, &awaken.ToolCallDone{ID: "c", MessageID: "m", Result: awaken.TextResult("x"), Outcome: awaken.CallSuspended},
			snapshot, stepEnd, snapshot, waits), "but its result is success"},
		"no message": {seq(asked, &awaken.ToolCallDone{ID: "c", Result: awaken.TextResult("x"), Outcome: awaken.CallSucceeded},
			snapshot, stepEnd, end), `its message is ""`},
		"another run's finish": {seq(runStart, snapshot, &awaken.RunFinish{RunID: "other", Termination: awaken.Termination{Type: awaken.NaturalEnd}}), `finishes run "other"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := problems(numbered(tt.events...))
			if !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, tt.want) }) {
				t.Errorf("found %q, want one with %q", found, tt.want)
			}
		})
	}
}

func TestCheckEvents_FindsWrongNumbers(t *testing.T) {
	t.Parallel()
	good := numbered(runStart, stepStart, text, complete, snapshot, stepEnd, snapshot, done)
	for name, change := range map[string]func([]awaken.Entry){
		"a gap":     func(e []awaken.Entry) { e[3].Seq++ },
		"twice":     func(e []awaken.Entry) { e[3].Seq-- },
		"backwards": func(e []awaken.Entry) { e[0].Seq = 100 },
		"run":       func(e []awaken.Entry) { e[2].RunID = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := slices.Clone(good)
			change(bad)
			if len(problems(bad)) == 0 {
				t.Error("found nothing")
			}
		})
	}
}

// spy is a TB that records failures.
type spy struct{ errors []string }

func (s *spy) Helper()                   {}
func (s *spy) Error(args ...any)         { s.errors = append(s.errors, fmt.Sprint(args...)) }
func (s *spy) Errorf(f string, a ...any) { s.errors = append(s.errors, fmt.Sprintf(f, a...)) }
func (s *spy) Fatal(args ...any)         { s.Error(args...) }
func (s *spy) Context() context.Context  { return context.Background() }
func (s *spy) Output() io.Writer         { return io.Discard }

var _ TB = (*testing.T)(nil)

type logOf []awaken.Entry

func (l logOf) Entries(_ context.Context, _ string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	var out []awaken.Entry
	for _, e := range l {
		if e.Last() > q.After {
			out = append(out, e)
		}
	}
	return out, nil
}

func TestCheckLog_ComparesTheLogWithTheStream(t *testing.T) {
	t.Parallel()
	args := func(id, s string) awaken.Event { return &awaken.ToolCallDelta{ID: id, ArgsDelta: s} }
	streamed := numbered(runStart, stepStart, &awaken.TextDelta{Delta: "Hel"}, args("a", "1"), &awaken.TextDelta{Delta: "lo"}, args("b", "2"), args("a", "3"), complete)
	coalesced := func() []awaken.Entry {
		s := slices.Clone(streamed[:4])
		s = append(s, streamed[5], streamed[7])
		s[2].Event, s[2].Chunks = &awaken.TextDelta{Delta: "Hello"}, []awaken.Chunk{{Offset: 0, Len: 3}, {Offset: 2, Len: 2}}
		s[3].Event, s[3].Chunks = args("a", "13"), []awaken.Chunk{{Offset: 0, Len: 1}, {Offset: 3, Len: 1}}
		return s
	}
	for name, tt := range map[string]struct {
		change func([]awaken.Entry) []awaken.Entry
		want   string
	}{
		"equal":          {func(s []awaken.Entry) []awaken.Entry { return s }, ""},
		"an earlier log": {func(s []awaken.Entry) []awaken.Entry { return s }, ""},
		"one less":       {func(s []awaken.Entry) []awaken.Entry { return s[:5] }, "was streamed but is not stored"},
		"one more": {func(s []awaken.Entry) []awaken.Entry {
			return append(s, awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: 9}, RunID: "r", Event: stepEnd})
		}, "is stored but was not streamed"},
		"other text": {func(s []awaken.Entry) []awaken.Entry { s[2].Event = &awaken.TextDelta{Delta: "Hullo"}; return s }, "differs at event 2"},
		"cut elsewhere": {func(s []awaken.Entry) []awaken.Entry {
			s[2].Chunks = []awaken.Chunk{{Len: 2}, {Offset: 2, Len: 3}}
			return s
		}, "differs at event 2"},
		"chunks too long":    {func(s []awaken.Entry) []awaken.Entry { s[2].Chunks[1].Len = 9; return s }, "longer than its text"},
		"text without chunk": {func(s []awaken.Entry) []awaken.Entry { s[2].Chunks[1].Len = 1; return s }, "in no chunk"},
		"begins late":        {func(s []awaken.Entry) []awaken.Entry { s[2].Chunks[0].Offset = 1; return s }, "has offset 1, want 0"},
		"chunks of an event": {func(s []awaken.Entry) []awaken.Entry {
			s[0].Chunks = []awaken.Chunk{{Len: 1}, {Offset: 1, Len: 1}}
			return s
		}, "has chunks, but its event is a run_start"},
		"other epoch": {func(s []awaken.Entry) []awaken.Entry { s[5].Epoch = 2; return s }, "differs at event 7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &spy{}
			live := streamed
			if name == "an earlier log" {
				live = streamed[2:]
			}
			CheckLog(s, logOf(tt.change(coalesced())), "t", live)
			got := strings.Join(s.errors, "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWantOrder_FailsUnlessTheTypesOccurInOrder(t *testing.T) {
	t.Parallel()
	entries := numbered(runStart, stepStart, text, complete)
	for _, tt := range []struct {
		types []string
		ok    bool
	}{
		{nil, true},
		{[]string{"run_start", "inference_complete"}, true},
		{[]string{"text_delta", "step_start"}, false},
		{[]string{"text_delta", "text_delta"}, false},
		{[]string{"run_finish"}, false},
	} {
		s := &spy{}
		if WantOrder(s, entries, tt.types...); (len(s.errors) == 0) != tt.ok {
			t.Errorf("WantOrder(%q) found %q", tt.types, s.errors)
		}
	}
}

func TestText_OmitsWithdrawnText(t *testing.T) {
	t.Parallel()
	say := func(s string) awaken.Event { return &awaken.TextDelta{Delta: s} }
	entries := numbered(runStart, stepStart, say("a"), say("b"), stepEnd, stepStart, say("c"), reset, say("d"))
	if got := Text(entries); got != "abd" {
		t.Errorf("got %q, want abd", got)
	}
}
