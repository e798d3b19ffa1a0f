package config

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
)

// fieldNames are the names of a spec's fields in JSON.
func fieldNames(v any) map[string]bool {
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v).Elem()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names[name] = true
		}
	}
	return names
}

func TestDecodeRecord(t *testing.T) {
	for _, tt := range []struct{ data, want string }{
		{`{"spec":{"id":"x"},"meta":{"source":{"kind":"builtin","binary_version":"1"},"hidden":true,"user_overrides":{"max_rounds":1},"created_at":1,"updated_at":2,"revision":3}}`,
			`{"spec":{"id":"x"},"meta":{"source":{"kind":"builtin","binary_version":"1"},"hidden":true,"user_overrides":{"max_rounds":1},"created_at":1,"updated_at":2,"revision":3}}`},
		{`{"id":"x","model_id":"m"}`, `{"spec":{"id":"x","model_id":"m"},"meta":{"source":{"kind":"user"},"hidden":false,"created_at":0,"updated_at":0,"revision":1}}`},
		{`{"spec":{"id":"x"}}`, `found one of spec and meta, want both`},
		{`{"spec":{"id":"x"},"meta":{"source":{"kind":"me"}}}`, `meta.source.kind is "me", want user or builtin`},
		{`{"spec":{"id":"x"},"meta":{"source":{"kind":"user"},"reversion":1}}`, `unknown field "reversion", did you mean "revision"?`},
		{`[]`, `found a JSON array, want an object`},
	} {
		r, err := DecodeRecord([]byte(tt.data))
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %s", tt.data, err, tt.want)
			}
			continue
		}
		if got, _ := json.Marshal(r); string(got) != tt.want {
			t.Errorf("%s: got\n%s, want\n%s", tt.data, got, tt.want)
		}
	}
}

func TestValidateRecord(t *testing.T) {
	for _, tt := range []struct {
		key                  Key
		spec, patch, problem string
	}{
		{Key{Agents, "x"}, `{"id":"x"}`, `{"max_rounds":1}`, ``},
		{Key{Agents, "x"}, `{"id":"x"}`, `null`, ``},
		{Key{Agents, "x"}, `{"id":"x","endpoint":{"base_url":"https://h","auth":{"type":"bearer","token":{"$secret":"agents/x#/endpoint/auth/token"}}}}`, ``, ``},
		{Key{Agents, "x"}, `{"id":"y"}`, ``, `id is "y", want "x"`},
		{Key{Agents, "x"}, `{"id":"x","maxrounds":1}`, ``, `unknown field "maxrounds", did you mean "max_rounds"?`},
		{Key{Agents, "x"}, `{"id":"x"}`, `{"maxrounds":1}`, `overrides: unknown field "maxrounds", did you mean "max_rounds"?`},
		{Key{Agents, "x"}, `{"id":"x"}`, `{"delegates":["x"]}`, `with its overrides: delegates has the agent itself`},
		{Key{Models, "x"}, `{"id":"x","provider_id":"p","upstream_model":"m"}`, `{"id":"y"}`, `only builtin documents have overrides`},
		{Key{"others", "x"}, `{"id":"x"}`, ``, `namespace "others"`},
	} {
		err := ValidateRecord(tt.key, &Record{Spec: json.RawMessage(tt.spec), Meta: Meta{UserOverrides: json.RawMessage(tt.patch)}})
		if tt.problem == "" && err != nil || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
			t.Errorf("%s, %s: %v, want %s", tt.spec, tt.patch, err, tt.problem)
		}
	}
}

func TestVisible(t *testing.T) {
	docs, err := Visible(Agents, []Stored{
		{ID: "a", Record: Record{Spec: json.RawMessage(`{"id":"a","max_rounds":1}`), Meta: Meta{UserOverrides: json.RawMessage(`{"max_rounds":2}`)}}},
		{ID: "b", Record: Record{Spec: json.RawMessage(`{"id":"b"}`), Meta: Meta{Hidden: true}}},
		{ID: "c", Record: Record{Spec: json.RawMessage(`{"id":"c"}`)}},
	})
	if err != nil || len(docs) != 2 || string(docs[0].Spec) != `{"id":"a","max_rounds":2}` || docs[1].Key != (Key{Agents, "c"}) {
		t.Errorf("%s, %v", docs, err)
	}
}

func TestDecode(t *testing.T) {
	p, err := Decode[awaken.ProviderSpec](json.RawMessage(`{"id":"x","adapter":"openai","api_key":"k"}`))
	if err != nil || p.APIKey.Expose() != "k" || p.TimeoutSecs != 300 {
		t.Errorf("%+v, %v", p, err)
	}
	_, err = Decode[SkillSpec](json.RawMessage(`{"id":"X"}`))
	if !errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), `skills/X: id is "X"`) {
		t.Error(err)
	}
	if _, err = Decode[ToolSpec](json.RawMessage(`[`)); !errors.Is(err, awaken.ErrInvalid) {
		t.Error(err)
	}
}
