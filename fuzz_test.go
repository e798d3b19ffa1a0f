package awaken_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/awaken-go/awaken"
)

// Every decoder is fuzzed for the same promise: it never panics, and what it accepts survives a
// round trip. Every test run runs the corpus in testdata/fuzz.

// seeds adds the examples of a type to the corpus.
func seeds(f *testing.F, kind string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "vocabulary", kind, "*.json"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no examples of %s: %v", kind, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// survives checks that a value that can be decoded can be encoded, and that a second round trip
// does not change it. It returns the value, or nil.
func survives(t *testing.T, w wireType, data []byte) any {
	v, err := w.read(data)
	if err != nil {
		if err.Error() == "" {
			t.Errorf("%q is rejected with an empty error", data)
		}
		return nil
	}
	once, err := w.write(v)
	if err != nil {
		t.Fatalf("%q can be decoded but not encoded: %v", data, err)
	}
	again, err := w.read(once)
	if err != nil {
		t.Fatalf("%q is encoded as %s, which cannot be decoded: %v", data, once, err)
	}
	twice, err := w.write(again)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(once, twice) {
		t.Errorf("%q changes in a second round trip:\n%s\n%s", data, once, twice)
	}
	return v
}

func FuzzAgentSpec(f *testing.F) {
	seeds(f, "agent_spec")
	f.Fuzz(func(t *testing.T, data []byte) {
		if v := survives(t, wireTypes["agent_spec"], data); v != nil {
			spec := v.(*awaken.AgentSpec)
			first, second := spec.Validate(), spec.Validate()
			if (first == nil) != (second == nil) {
				t.Errorf("Validate says %v, then %v", first, second)
			}
		}
	})
}

func FuzzModelSpec(f *testing.F) {
	seeds(f, "model_spec")
	f.Fuzz(func(t *testing.T, data []byte) {
		if v := survives(t, wireTypes["model_spec"], data); v != nil {
			if err := v.(*awaken.ModelSpec).Validate(); err != nil && err.Error() == "" {
				t.Error("the error of Validate is empty")
			}
		}
	})
}

func FuzzEvent(f *testing.F) {
	seeds(f, "event")
	f.Fuzz(func(t *testing.T, data []byte) {
		if v := survives(t, wireTypes["event"], data); v != nil {
			out, err := awaken.AppendEvent(nil, v.(awaken.Event))
			var head struct {
				Type string `json:"event_type"`
			}
			if err != nil || json.Unmarshal(out, &head) != nil || head.Type != v.(awaken.Event).Type() {
				t.Errorf("the type of %s is lost: %v", out, err)
			}
		}
	})
}

func FuzzRunRequest(f *testing.F) {
	seeds(f, "run_request")
	f.Fuzz(func(t *testing.T, data []byte) { survives(t, wireTypes["run_request"], data) })
}

func FuzzDecision(f *testing.F) {
	seeds(f, "decision")
	f.Fuzz(func(t *testing.T, data []byte) { survives(t, wireTypes["decision"], data) })
}

func FuzzTermination(f *testing.F) {
	seeds(f, "termination")
	f.Fuzz(func(t *testing.T, data []byte) {
		if v := survives(t, wireTypes["termination"], data); v != nil && v.(*awaken.Termination).String() == "" {
			t.Errorf("the text of %q is empty", data)
		}
	})
}

func FuzzStopCondition(f *testing.F) {
	seeds(f, "stop_condition")
	f.Fuzz(func(t *testing.T, data []byte) {
		if v := survives(t, wireTypes["stop_condition"], data); v != nil {
			p, err := v.(*awaken.StopCondition).Policy()
			if err != nil {
				return
			}
			if d := p.Evaluate(&awaken.StopStats{}); d != nil && d.Code != p.ID() {
				t.Errorf("%q stops with the code %q", data, d.Code)
			}
		}
	})
}

func FuzzCursor(f *testing.F) {
	for _, s := range []string{"", "0-0", "1-2", "18446744073709551615-1", "01-2", "1-2-3", "-", "+1-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := awaken.ParseCursor(s)
		if err != nil {
			return
		}
		if c.String() != s {
			t.Errorf("%q is read as %s", s, c)
		}
	})
}
