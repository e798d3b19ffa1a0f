package llm_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/llm"
)

// sameJSON compares raw JSON by its value: encoding may change its spelling.
var sameJSON = cmp.Comparer(func(a, b json.RawMessage) bool {
	return bytes.Equal(respell(a), respell(b))
})

func respell(raw json.RawMessage) []byte {
	if raw == nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return raw
	}
	data, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return data
}

// survives checks that a decoded value can be encoded, and decoded again to the same
// value.
func survives[T any](t *testing.T, data []byte) {
	var first, second T
	if json.Unmarshal(data, &first) != nil {
		return
	}
	encoded, err := json.Marshal(first)
	if err != nil {
		t.Fatalf("decoded %q but cannot encode it: %v", data, err)
	}
	if err := json.Unmarshal(encoded, &second); err != nil {
		t.Fatalf("cannot decode what was encoded: %v\n%s", err, encoded)
	}
	if diff := cmp.Diff(first, second, sameJSON); diff != "" {
		t.Errorf("%q changes when it is encoded (-before +after):\n%s", data, diff)
	}
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"role":"user","content":"Hi"}`))
	f.Add([]byte(`{"id":"m","role":"assistant","content":[{"type":"text","text":"a"}],"tool_calls":[{"id":"c","name":"n","arguments":{"a":1}}]}`))
	f.Add([]byte(`{"role":"tool","tool_call_id":"c","visibility":"internal","metadata":{"step_index":0,"compaction":{"from_seq":1,"to_seq":2}}}`))
	f.Fuzz(func(t *testing.T, data []byte) { survives[llm.Message](t, data) })
}

func FuzzBlock(f *testing.F) {
	f.Add([]byte(`{"type":"text","text":"a"}`))
	f.Add([]byte(`{"type":"document","source":{"type":"url","url":"u"},"title":"t"}`))
	f.Add([]byte(`{"type":"tool_result","tool_use_id":"c","content":[{"type":"thinking","thinking":"t"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) { survives[llm.Block](t, data) })
}

func FuzzEffort(f *testing.F) {
	f.Add([]byte(`"low"`))
	f.Add([]byte(`{"budget":1}`))
	f.Fuzz(func(t *testing.T, data []byte) { survives[llm.Effort](t, data) })
}
