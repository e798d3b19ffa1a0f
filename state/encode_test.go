package state_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/awaken-go/awaken/state"
)

// byReflection encodes a snapshot with encoding/json alone.
func byReflection(s state.Snapshot, values map[string]any) ([]byte, error) {
	return json.Marshal(struct {
		Revision   uint64         `json:"revision"`
		Extensions map[string]any `json:"extensions"`
	}{s.Revision(), values})
}

func FuzzSnapshot_IsEncodedAsByReflection(f *testing.F) {
	for i, s := range []string{"", "<b>&amp;</b>", "a\x00\x1f\n\"\\\x7f", "Grüße 世界 🙂", "\u2028\u2029", "\xff\xe2\x80"} {
		f.Add(s+"k", s, i-2, []byte(`[ 1e400, {"k" : "`+s+`"} ]`))
	}
	f.Fuzz(func(t *testing.T, name, text string, n int, raw []byte) {
		if name == "" || strings.HasPrefix(name, "test.") {
			return
		}
		z, a := state.NewValue[string](name, state.Options{}), state.NewValue[json.RawMessage]("test.raw", state.Options{})
		m, b := state.NewValue[map[string]int]("test.map", state.Options{}), state.NewValue[bool]("test.bool", state.Options{Derived: true})
		i, hidden := state.NewValue[int]("test.<int>", state.Options{}), state.NewValue[string]("test.hidden", state.Options{Transient: true})
		never := state.NewValue[string]("test.never", state.Options{})
		s := state.NewStore(newSchema(t, z, never, m, a, hidden, b, i))
		apply(t, s, func(w state.Writer) {
			z.Update(w, text)
			a.Update(w, raw)
			m.Update(w, map[string]int{text: n})
			b.Update(w, n > 0)
			i.Update(w, n)
			hidden.Update(w, text)
		})
		want, wantErr := byReflection(s.Snapshot(), map[string]any{name: text, "test.raw": json.RawMessage(raw), "test.map": map[string]int{text: n}, "test.bool": n > 0, "test.<int>": n})
		got, err := s.Snapshot().AppendJSON([]byte("kept"))
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%v, want %v", err, wantErr)
		}
		if string(got) != "kept"+string(want) {
			t.Fatalf("encoded as\n%s, want\nkept%s", got, want)
		}
		var back state.Snapshot
		if err == nil && utf8.ValidString(name) && json.Unmarshal(want, &back) == nil {
			if again, err := back.AppendJSON(nil); err != nil || string(again) != string(want) {
				t.Errorf("read and encoded again: %v\n%s, want\n%s", err, again, want)
			}
		}
	})
}

func TestSnapshot_WithoutASchemaIsEmpty(t *testing.T) {
	got, err := json.Marshal(state.Snapshot{})
	if want := `{"revision":0,"extensions":{}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestEncodedBy_EncodesSnapshotsAndChanges(t *testing.T) {
	key := state.NewValue[int]("test.n", state.Options{}).EncodedBy(func(buf []byte, n int) ([]byte, error) {
		switch n {
		case 1:
			return nil, errors.New("one is too few")
		case 2:
			panic("two is too many")
		}
		return append(buf, `"three"`...), nil
	})
	for n, want := range map[int]string{1: "one is too few", 2: "panic: two is too many", 3: `"three"`} {
		s := state.NewStore(newSchema(t, key))
		apply(t, s, func(w state.Writer) { key.Update(w, n) })
		got, err := s.Snapshot().AppendJSON([]byte("kept"))
		changes, changesErr := s.Changes()
		if n == 3 {
			if err != nil || string(got) != `kept{"revision":1,"extensions":{"test.n":"three"}}` || len(changes) != 1 || string(changes[0].Value) != want {
				t.Errorf("encoded as %s, %v, changes %v, %v", got, err, changes, changesErr)
			}
			continue
		}
		want = `encode state key "test.n": ` + want
		if err == nil || err.Error() != want || string(got) != "kept" || changesErr == nil || changesErr.Error() != want {
			t.Errorf("%d: %q, %v and %v, want %s", n, got, err, changesErr, want)
		}
	}
}
