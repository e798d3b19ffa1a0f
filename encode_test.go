package awaken_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// everyEvent holds one event of each type.
func everyEvent() []awaken.Event {
	return []awaken.Event{&awaken.RunStart{}, &awaken.RunFinish{}, &awaken.TextDelta{}, &awaken.ReasoningDelta{}, &awaken.ReasoningEncryptedValue{},
		&awaken.ToolCallStart{}, &awaken.ToolCallDelta{}, &awaken.ToolCallReady{}, &awaken.ToolCallDone{}, &awaken.ToolCallStreamDelta{}, &awaken.ToolCallResumed{},
		&awaken.ToolCallCancel{}, &awaken.StreamReset{}, &awaken.ActivitySnapshot{}, &awaken.ActivityDelta{}, &awaken.StepStart{}, &awaken.StepEnd{},
		&awaken.InferenceComplete{}, &awaken.StateSnapshot{}, &awaken.StateDelta{}, &awaken.MessagesSnapshot{}, &awaken.Error{}}
}

// byReflection encodes an event with encoding/json alone.
func byReflection(ev awaken.Event) ([]byte, error) {
	body, err := json.Marshal(ev)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(body)+len(ev.Type())+18)
	out = append(append(append(out, `{"event_type":"`...), ev.Type()...), '"')
	if len(body) > 2 {
		out = append(out, ',')
	}
	return append(out, body[1:]...), nil
}

// runByReflection encodes the fields of a run with encoding/json, with times in seconds, and adds those in milliseconds.
func runByReflection(run awaken.Run) ([]byte, error) {
	type plain awaken.Run
	r := plain(run)
	for _, at := range []*int64{&r.CreatedAt, &r.StartedAt, &r.FinishedAt, &r.UpdatedAt} {
		*at /= 1000
	}
	out, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	exact, err := json.Marshal(struct {
		Created  int64 `json:"created_at_ms,omitempty"`
		Started  int64 `json:"started_at_ms,omitempty"`
		Finished int64 `json:"finished_at_ms,omitempty"`
		Updated  int64 `json:"updated_at_ms,omitempty"`
	}{run.CreatedAt, run.StartedAt, run.FinishedAt, run.UpdatedAt})
	if string(exact) == "{}" {
		return out, err
	}
	return append(append(out[:len(out)-1], ','), exact[1:]...), err
}

// filler fills values with a text and some JSON from the fuzzer.
type filler struct {
	*rand.Rand
	text string
	raw  json.RawMessage
	full bool // leave nothing empty
	deep int  // how deep the value is that is filled
}

// fill sets every field of v, so that a field that an encoder leaves out is found.
func (f filler) fill(v reflect.Value) {
	f.deep++
	switch p := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*p = []json.RawMessage{json.RawMessage(`{"a" : [1e5,"<&>` + "\u2028" + `"]}`), f.raw, json.RawMessage("null"), {}, nil}[f.choose(5)]
		return
	case *llm.BlockType:
		*p = []llm.BlockType{llm.TextBlock, llm.ThinkingBlock, llm.ImageBlock, llm.DocumentBlock, llm.ToolUseBlock}[f.IntN(5)]
		return
	case *awaken.TerminationType:
		*p = []awaken.TerminationType{awaken.Stopped, awaken.Blocked, awaken.Failed, awaken.NaturalEnd, awaken.TerminationType(f.text)}[f.IntN(5)]
		return
	case *state.Snapshot:
		*p = f.snapshot()
		return
	case *map[string]any:
		*p = []map[string]any{{"n": 1.5, f.text: f.text, "list": []int{1}}, {}, nil}[f.choose(3)]
		return
	case *map[string]json.RawMessage:
		*p = []map[string]json.RawMessage{{"b": f.raw, "a": json.RawMessage("[1, 2]")}, {}, nil}[f.choose(3)]
		return
	case *llm.Effort:
		p.Level = "low"
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"x", f.text, ""}[f.choose(3)])
	case reflect.Bool:
		v.SetBool(f.choose(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{f.Int64() + 1, -7, 0}[f.choose(3)])
	case reflect.Float64:
		v.SetFloat([]float64{f.NormFloat64(), 1e-9, 1e30, 0}[f.choose(4)])
	case reflect.Pointer:
		if f.deep < 9 && f.choose(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Slice:
		if n := f.choose(4); n < 3 && f.deep < 9 {
			v.Set(reflect.MakeSlice(v.Type(), 2-n%3, 2))
		}
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i))
			}
		}
	}
}

// choose returns a number below n. If nothing may be empty, it is one of the first two of three
// or more.
func (f filler) choose(n int) int {
	if f.full {
		return f.IntN(max(1, min(n-1, 2)))
	}
	return f.IntN(n)
}

func (f filler) snapshot() state.Snapshot {
	list := state.NewValue[[]string]("test.<list>", state.Options{})
	schema, err := state.NewSchema(builtin.ToolCallStates, builtin.RunLifecycle, list, builtin.ActiveAgent, builtin.PendingWork)
	if err != nil {
		panic(err)
	}
	s := state.NewStore(schema)
	var b state.Batch
	var life builtin.Lifecycle
	f.fill(reflect.ValueOf(&life).Elem())
	builtin.RunLifecycle.Update(&b, life)
	builtin.ToolCallStates.Update(&b, f.calls())
	builtin.ActiveAgent.Update(&b, f.text)
	builtin.PendingWork.Update(&b, true)
	list.Update(&b, []string{f.text})
	if err := s.Apply(&b); err != nil {
		panic(err)
	}
	return s.Snapshot()
}

func (f filler) calls() builtin.Calls {
	calls := make(builtin.Calls, f.IntN(20))
	for i := range calls {
		calls[i] = new(awaken.CallState)
		if i < 3 {
			f.fill(reflect.ValueOf(calls[i]).Elem())
		}
		calls[i].CallID = fmt.Sprint(f.text, f.IntN(20)) // some twice
	}
	return calls
}

// same checks that an encoder appends exactly what encoding/json returns.
func same(t *testing.T, v any, appendTo func([]byte) ([]byte, error), want []byte, wantErr error) {
	t.Helper()
	got, err := appendTo([]byte("kept"))
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%T: %v, want %v", v, err, wantErr)
	}
	if string(got) != "kept"+string(want) {
		t.Fatalf("%T is encoded as\n%s, want\nkept%s", v, got, want)
	}
}

func FuzzEncoders_EqualEncodingJSON(f *testing.F) {
	for i, s := range []string{"", "<b>&amp;</b>", "a\x00\x1f\n\"\\\x7f", "Grüße 世界 🙂", "\u2028\u2029", "\xff\xe2\x80", "\ufffd"} {
		f.Add(uint64(i), s, []byte(`[123456789012345678901234567890, {"k" : "`+s+`"}]`), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, text string, raw []byte, full bool) {
		fill := filler{rand.New(rand.NewPCG(seed, 1)), text, raw, full, 0}
		for range 4 {
			for _, ev := range everyEvent() {
				fill.fill(reflect.ValueOf(ev).Elem())
				want, wantErr := byReflection(ev)
				same(t, ev, func(buf []byte) ([]byte, error) { return awaken.AppendEvent(buf, ev) }, want, wantErr)

				e := awaken.Entry{Cursor: awaken.Cursor{Epoch: seed, Seq: seed / 3}, RunID: text, Time: -int64(seed), Event: ev}
				for i := range fill.IntN(3) {
					e.Chunks = append(e.Chunks, awaken.Chunk{Offset: uint32(i), Len: fill.Uint32()})
				}
				wire := struct {
					Epoch  uint64          `json:"epoch"`
					Seq    uint64          `json:"seq"`
					RunID  string          `json:"run_id,omitempty"`
					Time   int64           `json:"time"`
					Event  json.RawMessage `json:"event"`
					Chunks [][2]uint32     `json:"chunks,omitempty"`
				}{e.Epoch, e.Seq, e.RunID, e.Time, want, nil}
				for _, c := range e.Chunks {
					wire.Chunks = append(wire.Chunks, [2]uint32{c.Offset, c.Len})
				}
				if wantErr == nil {
					want, wantErr = json.Marshal(wire)
				}
				same(t, e, e.AppendJSON, want, wantErr)
			}
			var run awaken.Run
			fill.fill(reflect.ValueOf(&run).Elem())
			want, err := runByReflection(run)
			same(t, run, run.AppendJSON, want, err)

			calls := fill.calls()
			for _, c := range calls {
				want, err := json.Marshal(c)
				same(t, c, c.AppendJSON, want, err)
			}
			want, err = json.Marshal(calls)
			same(t, calls, func(buf []byte) ([]byte, error) { return stateJSON(buf, builtin.ToolCallStates, calls) }, want, err)
			var life builtin.Lifecycle
			fill.fill(reflect.ValueOf(&life).Elem())
			want, err = json.Marshal(life)
			same(t, life, func(buf []byte) ([]byte, error) { return stateJSON(buf, builtin.RunLifecycle, life) }, want, err)
		}
	})
}

// stateJSON appends the JSON of a key's value in a snapshot.
func stateJSON[V any](buf []byte, key *state.Key[V, V], v V) ([]byte, error) {
	schema, err := state.NewSchema(key)
	if err != nil {
		return nil, err
	}
	s := state.NewStore(schema)
	var b state.Batch
	key.Update(&b, v)
	if err := s.Apply(&b); err != nil {
		return nil, err
	}
	data, err := s.Snapshot().AppendJSON(nil)
	if err != nil {
		return buf, err
	}
	data = data[len(fmt.Sprintf(`{"revision":1,"extensions":{%q:`, key.Name())):]
	return append(buf, data[:len(data)-2]...), nil
}

func TestEncoders_AreTestedWithEveryEvent(t *testing.T) {
	tried := map[string]bool{}
	for _, ev := range everyEvent() {
		tried[ev.Type()] = true
		if _, err := awaken.UnmarshalEvent(fmt.Appendf(nil, `{"event_type":%q,"of_a_later_version":1}`, ev.Type())); err != nil && !strings.Contains(err.Error(), `"termination" is missing`) {
			t.Errorf("%s is not a type: %v", ev.Type(), err)
		}
	}
	if len(tried) != 22 {
		t.Errorf("%d types of events are tried, want 22", len(tried))
	}
}

// often holds the events of an ordinary run.
func often() []awaken.Event {
	id := "0198f0c2-6d3b-7e9c-8a51-0242ac120002"
	who := &awaken.RunInfo{ThreadID: id, RunID: id, AgentID: "default", Origin: "user"}
	result := &awaken.ToolResult{ToolName: "add", Status: awaken.ToolSuccess, Data: json.RawMessage(`{"sum":3}`)}
	schema, err := state.NewSchema(builtin.RunLifecycle, builtin.ToolCallStates)
	if err != nil {
		panic(err)
	}
	s := state.NewStore(schema)
	var b state.Batch
	builtin.RunLifecycle.Update(&b, builtin.Lifecycle{RunID: id, Status: awaken.RunRunning, UpdatedAt: 1755900000000, StepCount: 3})
	builtin.ToolCallStates.Update(&b, builtin.Calls{{CallID: "call_1", ToolName: "add", Arguments: json.RawMessage(`{"a":1,"b":2}`), Status: awaken.CallSucceeded,
		UpdatedAt: 1755900000000, RunID: id, Step: 3, Key: id + "/3/0", Effect: awaken.ReadOnly, StartedAt: 1755900000000, Result: result}})
	if err := s.Apply(&b); err != nil {
		panic(err)
	}
	return []awaken.Event{
		&awaken.RunStart{ThreadID: id, RunID: id, Identity: who},
		&awaken.StepStart{MessageID: id},
		&awaken.ReasoningDelta{Delta: "The sum is asked for."},
		&awaken.TextDelta{Delta: "Let me see, that is a long sentence, <b>as it were</b>."},
		&awaken.ToolCallStart{ID: "call_1", Name: "add"},
		&awaken.ToolCallDelta{ID: "call_1", ArgsDelta: `{"a":1,"b":2}`},
		&awaken.ToolCallReady{ID: "call_1", Name: "add", Arguments: json.RawMessage(`{"a":1,"b":2}`)},
		&awaken.InferenceComplete{Model: "gpt", Usage: &llm.Usage{PromptTokens: 1234, CompletionTokens: 56, TotalTokens: 1290}, DurationMS: 812},
		&awaken.ToolCallDone{ID: "call_1", MessageID: id, Result: result, Outcome: awaken.CallSucceeded},
		&awaken.StateSnapshot{Snapshot: s.Snapshot()},
		&awaken.StepEnd{},
		&awaken.RunFinish{ThreadID: id, RunID: id, Identity: who, Result: &awaken.RunOutput{Response: "It is 3.", Status: awaken.RunDone}, Termination: awaken.Termination{Type: awaken.NaturalEnd}},
	}
}

func TestAppendEvent_AllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 4096)
	for _, ev := range often() {
		if n := testing.AllocsPerRun(100, func() {
			if _, err := awaken.AppendEvent(buf, ev); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations, want none", ev.Type(), n)
		}
	}
}

func BenchmarkEvent(b *testing.B) {
	for _, ev := range often() {
		b.Run(ev.Type()+"/reflection", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := byReflection(ev); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(ev.Type()+"/append", func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 0, 4096)
			for b.Loop() {
				if _, err := awaken.AppendEvent(buf, ev); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRunRecord(b *testing.B) {
	id := "0198f0c2-6d3b-7e9c-8a51-0242ac120002"
	run := &awaken.Run{RunID: id, ThreadID: id, AgentID: "default", ResolutionID: "r1", Origin: "user", Activated: true, Status: awaken.RunRunning,
		Input: llm.Interval{FromSeq: 1, ToSeq: 1}, Output: llm.Interval{FromSeq: 2, ToSeq: 9}, CreatedAt: 1755900000123, StartedAt: 1755900000124, UpdatedAt: 1755900001000,
		Steps: 4, InputTokens: 1234, OutputTokens: 56, Usage: llm.Usage{PromptTokens: 1234, CompletionTokens: 56}, CostUSD: 0.0123}
	b.Run("reflection", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(run); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, 4096)
		for b.Loop() {
			if _, err := run.AppendJSON(buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}
