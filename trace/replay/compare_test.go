package replay

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// plain is a stage of a version without plugins.
func plain(t testing.TB) *stage {
	reg, err := registry.New(registry.Config{Builtin: builtin.For, Agents: []*awaken.AgentSpec{{ID: "a", ModelID: "m"}},
		Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}}, Providers: map[string]llm.Model{"p": llmtest.NewScript()}})
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(&Player{})
	s.version = &single{reg: reg}
	return s
}

// Two records of a call that differ only in their times are equal, whatever became of the call.
func TestTimeless_HasNoTimesOfCalls(t *testing.T) {
	call := func(ms int64) string {
		data, err := json.Marshal(&awaken.CallState{CallID: "c1", ToolName: "pay", StartedAt: ms, UpdatedAt: ms,
			Doubt: &awaken.Doubt{Since: ms, Origin: awaken.DoubtIntent}})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	s, typ := plain(t), reflect.TypeFor[awaken.CallState]()
	if a, b := s.timeless(call(1), typ), s.timeless(call(2), typ); a != b {
		t.Errorf("records with other times differ:\n%s\n%s", a, b)
	}
	if a, b := s.timeless(call(1), typ), call(1); a == b {
		t.Error("the record has no times, so that shows nothing")
	}
}

// Fields of a model, a tool, a client or a plugin may have the names of times; a change of one is a difference.
func TestTimeless_KeepsForeignFields(t *testing.T) {
	s := plain(t)
	s.keys["p.own"], s.keys["p.times"] = shapeOf(reflect.TypeFor[map[string]int]()), shapeOf(reflect.TypeFor[[]struct {
		At int64 `json:"at" time:"ms"`
		On int64 `json:"on"`
	}]())
	for _, c := range []struct {
		of       any
		in, want string
	}{
		{awaken.ToolCallReady{}, `{"event_type":"tool_call_ready","id":"c","name":"at","arguments":{"at":5,"in":[{"since":1}]}}`, ""},
		{awaken.ToolCallDone{}, `{"id":"c","result":{"tool_name":"t","status":"success","data":[{"created_at":7}],"metadata":{"at":1}},"arguments":{"at":5}}`, ""},
		{awaken.InferenceComplete{}, `{"model":"m","duration_ms":812,"usage":{"at":3}}`, `{"model":"m","duration_ms":0,"usage":{"at":3}}`},
		{awaken.CallState{}, `{"arguments":{"at":5,"s":"}\\\"]"},"updated_at":5}`, `{"arguments":{"at":5,"s":"}\\\"]"},"updated_at":0}`},
		{awaken.CallState{}, `{"arguments":"text","updated_at":5,"text":"\"updated_at\":5"}`, `{"arguments":"text","updated_at":0,"text":"\"updated_at\":5"}`},
		{awaken.StateSnapshot{}, `{"snapshot":{"revision":3,"extensions":{"p.own":{"at":5},"p.times":[{"at":5,"on":5},{"at":6,"on":6}],"p.none":{"at":5}}}}`,
			`{"snapshot":{"revision":3,"extensions":{"p.own":{"at":5},"p.times":[{"at":0,"on":5},{"at":0,"on":6}],"p.none":{"at":5}}}}`},
		{awaken.StateSnapshot{}, `{"snapshot":{"extensions":{"__runtime.tool_call_states":{"calls":{"at":{"call_id":"at","updated_at":5,"arguments":{"at":5}}}}}}}`,
			`{"snapshot":{"extensions":{"__runtime.tool_call_states":{"calls":{"at":{"call_id":"at","updated_at":0,"arguments":{"at":5}}}}}}}`},
		{awaken.StateDelta{}, `{"delta":[{"op":"add","path":"/extensions/p.times","value":[{"at":5}]},{"op":"add","path":"/extensions/p.own","value":{"at":5}}]}`,
			`{"delta":[{"op":"add","path":"/extensions/p.times","value":[{"at":0}]},{"op":"add","path":"/extensions/p.own","value":{"at":5}}]}`},
		{awaken.CallState{}, `{"updated_at":5,"arguments":{"at":5`, `{"updated_at":0,"arguments":{"at":5`},
		{awaken.CallState{}, `}"updated_at`, ""},
		{awaken.CallState{}, `null`, ""},
	} {
		want := c.want
		if want == "" {
			want = c.in
		}
		if got := s.timeless(c.in, reflect.TypeOf(c.of)); got != want {
			t.Errorf("%T: timeless(%s) is %s, want %s", c.of, c.in, got, want)
		}
	}
}

// numbers are the fields of events and of the runtime's state that could hold a time by their type, and hold none.
var numbers = map[string]bool{"awaken.Error.RetryAfterMS": true, "awaken.ScheduledAction.ID": true, "builtin.StopCounts.InputTokens": true,
	"builtin.actionQueue.NextID": true, "builtin.throttleEntry.ContentHash": true,
	"builtin.StopCounts.OutputTokens": true, "llm.Source.Size": true, "llm.Usage.CacheCreationTokens": true, "llm.Usage.CacheReadTokens": true,
	"llm.Usage.CompletionTokens": true, "llm.Usage.PromptTokens": true, "llm.Usage.ThinkingTokens": true, "llm.Usage.TotalTokens": true}

// Every field of an event or of the runtime's state that may hold a time has the tag time, or is known to hold none. So a new one is put into
// one of the classes.
func TestTimes_AreMarked(t *testing.T) {
	types := map[string]reflect.Type{"CallState": reflect.TypeFor[awaken.CallState]()}
	files, err := filepath.Glob("../../testdata/vocabulary/event/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("the vocabulary has %d examples of events, %v", len(files), err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		ev, err := awaken.UnmarshalEvent(data)
		if err != nil {
			t.Fatal(err)
		}
		types[ev.Type()] = reflect.TypeOf(ev)
	}
	keys, _ := builtin.For(&awaken.AgentSpec{ContextPolicy: &awaken.ContextPolicy{}, Endpoint: &awaken.RemoteEndpoint{}})
	schema, err := state.NewSchema(keys...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range schema.Names() {
		types[name] = schema.Type(name)
	}
	times := 0
	for name, typ := range types {
		unmarked, marked := unmarked(typ, map[reflect.Type]bool{})
		for _, field := range unmarked {
			t.Errorf("%s: %s has no tag time", name, field)
		}
		times += marked
	}
	if times < 10 {
		t.Errorf("%d fields are times, want many", times)
	}
	type event struct {
		Result struct{ On int64 }
		List   []struct {
			For time.Duration `json:"for"`
		}
		Since time.Time
		At    int64 `time:"ms"`
		Text  json.RawMessage
	}
	got, marked := unmarked(reflect.TypeFor[*event](), map[reflect.Type]bool{})
	if want := []string{"On", "For", "Since"}; marked != 1 || len(got) != 3 || !slices.ContainsFunc(want, func(f string) bool { return strings.HasSuffix(got[0], "."+f) }) {
		t.Errorf("the fields without a tag are %q, want %q", got, want)
	}
}

// unmarked returns the fields of a type, and of the types below it, that may hold a time and do not say whether, and the number of times.
func unmarked(t reflect.Type, seen map[reflect.Type]bool) (out []string, times int) {
	if seen[t] || t == reflect.TypeFor[state.Snapshot]() {
		return nil, 0
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return unmarked(t.Elem(), seen)
	case reflect.Struct:
	default:
		return nil, 0
	}
	for f := range t.Fields() {
		if !f.IsExported() || f.Tag.Get("json") == "-" {
			continue
		}
		may := f.Type.Kind() == reflect.Int64 || f.Type.Kind() == reflect.Uint64 || f.Type == reflect.TypeFor[time.Time]()
		switch _, marked := f.Tag.Lookup("time"); {
		case may && !marked && numbers[t.String()+"."+f.Name]:
		case may && !marked:
			out = append(out, t.String()+"."+f.Name)
		case isTime(f):
			times++
		case !may:
			below, n := unmarked(f.Type, seen)
			out, times = append(out, below...), times+n
		}
	}
	return out, times
}

// FuzzTimeless looks for a text that cannot be read, and for one that changes when its times were taken out already.
func FuzzTimeless(f *testing.F) {
	f.Add(`{"updated_at":5,"arguments":{"at":5},"s":"\\"","doubt":{"since":2}}`)
	f.Add(`"at":}]{"data":`)
	f.Add(`{"steps":[{"started_at":1},[`)
	s := plain(f)
	f.Fuzz(func(t *testing.T, text string) {
		once := s.timeless(text, reflect.TypeFor[awaken.CallState]())
		if twice := s.timeless(once, reflect.TypeFor[awaken.CallState]()); twice != once {
			t.Errorf("%q becomes %q and then %q", text, once, twice)
		}
	})
}
