package awaken_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state/builtin"
)

// The files in testdata/vocabulary are examples of the JSON of every type that leaves a
// process: one folder per type, one file per example, written by hand from the reference. If
// the encoded JSON differs from the decoded, NAME.out.json holds it.

// wireType decodes and encodes one type.
type wireType struct {
	read  func(data []byte) (any, error)
	write func(v any) ([]byte, error)
	typ   reflect.Type // nil for an interface
}

func wire[T any]() wireType {
	return wireType{
		read: func(data []byte) (any, error) {
			v := new(T)
			err := json.Unmarshal(data, v)
			return v, err
		},
		write: json.Marshal,
		typ:   reflect.TypeFor[T](),
	}
}

var wireTypes = map[string]wireType{
	"agent_spec":         wire[awaken.AgentSpec](),
	"model_spec":         wire[awaken.ModelSpec](),
	"model_pool_spec":    wire[awaken.ModelPoolSpec](),
	"provider_spec":      wire[awaken.ProviderSpec](),
	"inference_override": wire[awaken.InferenceOverride](),
	"stop_condition":     wire[awaken.StopCondition](),
	"termination":        wire[awaken.Termination](),
	"run":                wire[awaken.Run](),
	"thread":             wire[awaken.Thread](),
	"message":            wire[llm.Message](),
	"message_record":     wire[awaken.MessageRecord](),
	"ticket":             wire[awaken.Ticket](),
	"decision":           wire[awaken.Decision](),
	"call_state":         wire[awaken.CallState](),
	"run_request":        wire[awaken.RunRequest](),
	"run_result":         wire[awaken.RunResult](),
	"tool_result":        wire[awaken.ToolResult](),
	"tool_spec":          wire[awaken.ToolSpec](),
	"context_message":    wire[awaken.ContextMessage](),
	"scheduled_action":   wire[awaken.ScheduledAction](),
	"failed_action":      wire[builtin.FailedAction](),
	"inbox_item":         wire[awaken.InboxItem](),
	"progress":           wire[awaken.Progress](),
	"diagnostic":         wire[awaken.Diagnostic](),
	"lifecycle":          wire[builtin.Lifecycle](),
	"event": {
		read:  func(data []byte) (any, error) { return awaken.UnmarshalEvent(data) },
		write: func(v any) ([]byte, error) { return awaken.AppendEvent(nil, v.(awaken.Event)) },
	},
}

// vocabulary calls fn for every example of a type.
func vocabulary(t *testing.T, kind string, fn func(t *testing.T, name string, doc, want []byte)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "vocabulary", kind, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("there are no examples of %s", kind)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if strings.HasSuffix(name, ".out") {
			continue
		}
		doc := mustRead(t, file)
		want := doc
		if _, err := os.Stat(strings.TrimSuffix(file, ".json") + ".out.json"); err == nil {
			want = mustRead(t, strings.TrimSuffix(file, ".json")+".out.json")
		}
		t.Run(name, func(t *testing.T) { fn(t, name, doc, want) })
	}
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// plain decodes JSON without losing digits.
func plainJSON(t testing.TB, data []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return v
}

func TestVocabulary_DecodesAndEncodesTheDocumentedJSON(t *testing.T) {
	t.Parallel()
	for kind, w := range wireTypes {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			vocabulary(t, kind, func(t *testing.T, _ string, doc, want []byte) {
				v, err := w.read(doc)
				if err != nil {
					t.Fatal(err)
				}
				once, err := w.write(v)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(plainJSON(t, want), plainJSON(t, once)); diff != "" {
					t.Errorf("read and written (-want +got):\n%s", diff)
				}
				again, err := w.read(once)
				if err != nil {
					t.Fatalf("cannot read what was written: %v\n%s", err, once)
				}
				twice, err := w.write(again)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(once, twice) {
					t.Errorf("it changes when it is read and written again:\n%s\n%s", once, twice)
				}
			})
		})
	}
}

func TestVocabulary_HasAnExampleOfEveryField(t *testing.T) {
	t.Parallel()
	anywhere := map[string]bool{}
	top := map[string]map[string]bool{}
	for kind := range wireTypes {
		top[kind] = map[string]bool{}
		vocabulary(t, kind, func(t *testing.T, _ string, doc, want []byte) {
			for _, data := range [][]byte{doc, want} {
				v := plainJSON(t, data)
				keys(v, anywhere)
				for k := range v.(map[string]any) {
					top[kind][k] = true
				}
			}
		})
	}
	for kind, w := range wireTypes {
		if w.typ == nil || selfWritten[w.typ] {
			continue
		}
		names, inner := fields(w.typ)
		if len(names) == 0 {
			t.Errorf("%s has no fields", kind)
		}
		for _, name := range names {
			if !top[kind][name] {
				t.Errorf("%s: field %s is in no example", kind, name)
			}
		}
		for done := map[reflect.Type]bool{}; len(inner) > 0; {
			next := inner[0]
			inner = inner[1:]
			if done[next] {
				continue
			}
			done[next] = true
			names, more := fields(next)
			inner = append(inner, more...)
			for _, name := range names {
				if !anywhere[name] {
					t.Errorf("%s: field %s of %s is in no example", kind, name, next)
				}
			}
		}
	}
}

// keys collects the names of all fields of a document.
func keys(v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, sub := range v {
			into[k] = true
			keys(sub, into)
		}
	case []any:
		for _, sub := range v {
			keys(sub, into)
		}
	}
}

// selfWritten are the types that are not encoded field by field.
var selfWritten = map[reflect.Type]bool{reflect.TypeFor[awaken.Termination](): true, reflect.TypeFor[awaken.StopCondition](): true,
	reflect.TypeFor[llm.Block](): true, reflect.TypeFor[llm.Effort](): true, reflect.TypeFor[awaken.Secret](): true}

// fields lists the JSON names of a type's fields, and the types of its fields that
// have fields of their own.
func fields(t reflect.Type) (names []string, inner []reflect.Type) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		ft := f.Type
		for ft.Kind() == reflect.Pointer || ft.Kind() == reflect.Slice || ft.Kind() == reflect.Map {
			ft = ft.Elem()
		}
		if f.Anonymous {
			n, in := fields(ft)
			names, inner = append(names, n...), append(inner, in...)
			continue
		}
		names = append(names, name)
		if ft.Kind() == reflect.Struct && strings.HasPrefix(ft.PkgPath(), "github.com/awaken-go/awaken") && !selfWritten[ft] {
			inner = append(inner, ft)
		}
	}
	return names, inner
}

func TestVocabulary_HasAnExampleOfEveryVariant(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][]string{
		"stop_condition": {"max_rounds", "timeout", "token_budget", "cost_budget", "consecutive_errors", "stop_on_tool", "content_match", "loop_detection"},
		"termination":    {"natural_end", "behavior_requested", "stopped", "cancelled", "blocked", "suspended", "error"},
		"event": {"run_start", "run_finish", "text_delta", "reasoning_delta", "reasoning_encrypted_value", "tool_call_start", "tool_call_delta", "tool_call_ready",
			"tool_call_done", "tool_call_stream_delta", "tool_call_resumed", "tool_call_cancel", "stream_reset", "activity_snapshot", "activity_delta", "step_start",
			"step_end", "inference_complete", "state_snapshot", "state_delta", "messages_snapshot", "error"},
		"run":         {"created", "running", "waiting", "done"},
		"tool_result": {"success", "pending", "error"},
	} {
		var have []string
		vocabulary(t, kind, func(t *testing.T, _ string, doc, _ []byte) {
			m, _ := plainJSON(t, doc).(map[string]any)
			for _, tag := range []string{"event_type", "type", "status"} {
				if s, ok := m[tag].(string); ok {
					have = append(have, s)
					break
				}
			}
		})
		for _, v := range want {
			if !slices.Contains(have, v) {
				t.Errorf("no example of the %s %q", kind, v)
			}
		}
	}
	// Every folder belongs to a type.
	dirs, err := fs.ReadDir(os.DirFS("testdata"), "vocabulary")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if _, ok := wireTypes[d.Name()]; !ok {
			t.Errorf("testdata/vocabulary/%s belongs to no type", d.Name())
		}
	}
}

// The type comes first for people who read a stream.
func TestMarshalEvent_PutsTheTypeFirst(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ev   awaken.Event
		want string
	}{
		{&awaken.StepEnd{}, `{"event_type":"step_end"}`},
		{&awaken.TextDelta{Delta: "a\"b<"}, `{"event_type":"text_delta","delta":"a\"b\u003c"}`},
		{&awaken.ToolCallDone{ID: "c", Result: &awaken.ToolResult{}, Outcome: awaken.CallSucceeded}, `{"event_type":"tool_call_done","id":"c","message_id":"","result":{"tool_name":"","status":"success","data":null},"outcome":"succeeded"}`},
	} {
		got, err := awaken.AppendEvent(nil, tt.ev)
		if err != nil || string(got) != tt.want {
			t.Errorf("got %s, %v\nwant %s", got, err, tt.want)
		}
	}
	if _, err := awaken.AppendEvent(nil, &awaken.ToolCallReady{Arguments: json.RawMessage("{")}); err == nil || !strings.Contains(err.Error(), "tool_call_ready") {
		t.Errorf("an event with invalid JSON inside: error is %v", err)
	}
}

func TestCursor_RoundTripsAsTextAndIsOrdered(t *testing.T) {
	t.Parallel()
	for _, c := range []awaken.Cursor{{}, {Epoch: 1, Seq: 2}, {Epoch: 9223372036854775807, Seq: 9223372036854775807}} {
		got, err := awaken.ParseCursor(c.String())
		if err != nil || got != c {
			t.Errorf("%s becomes %v, %v", c, got, err)
		}
	}
	if s := (awaken.Cursor{Epoch: 3, Seq: 41}).String(); s != "3-41" {
		t.Errorf("the text is %q", s)
	}
	for _, s := range []string{"", "1", "-", "1-", "-1", "1-2-3", "01-2", "1-02", "+1-2", "1 -2", "a-b", "1-18446744073709551616", "1-2 "} {
		_, err := awaken.ParseCursor(s)
		if err == nil || !strings.Contains(err.Error(), "cursor is") || !strings.Contains(err.Error(), "want epoch-seq") {
			t.Errorf("the error of %q is %v", s, err)
		}
	}
	order := []awaken.Cursor{{}, {Epoch: 2, Seq: 1}, {Epoch: 1, Seq: 2}, {Epoch: 2, Seq: 2}, {Epoch: 1, Seq: 3}}
	for i, a := range order {
		for j, b := range order {
			if got := a.Before(b); got != (i < j) {
				t.Errorf("%s is before %s: %v", a, b, got)
			}
		}
	}
}

func TestSecret_IsHiddenUnlessExposed(t *testing.T) {
	t.Parallel()
	var spec awaken.ProviderSpec
	if err := json.Unmarshal([]byte(`{"id":"p","adapter":"a","api_key":"s3cret"}`), &spec); err != nil {
		t.Fatal(err)
	}
	if spec.APIKey.Expose() != "s3cret" {
		t.Errorf("the key is %q", spec.APIKey.Expose())
	}
	for _, s := range []string{spec.APIKey.String(), spec.APIKey.GoString(), spec.APIKey.LogValue().String()} {
		if strings.Contains(s, "s3cret") {
			t.Errorf("%q contains the secret", s)
		}
	}
}
