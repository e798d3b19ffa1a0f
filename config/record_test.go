package config

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
)

// fieldNames returns the JSON names of a spec's fields.
func fieldNames(v any) map[string]bool {
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v).Elem()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names[name] = true
		}
	}
	return names
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
		{Key{Agents, "x"}, `{"id":"x"}`, `{"delegates":["x"]}`, `after its overrides are applied: delegates lists the agent itself`},
		{Key{Models, "x"}, `{"id":"x","provider_id":"p","upstream_model":"m"}`, `{"id":"y"}`, `only builtin documents can be overridden`},
		{Key{"others", "x"}, `{"id":"x"}`, ``, `namespace "others"`},
	} {
		err := (&Record{Spec: json.RawMessage(tt.spec), Meta: Meta{UserOverrides: json.RawMessage(tt.patch)}}).validate(tt.key)
		if tt.problem == "" && err != nil || tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
			t.Errorf("%s, %s: %v, want %s", tt.spec, tt.patch, err, tt.problem)
		}
	}
}

func TestDecode(t *testing.T) {
	s, err := decode(Key{Providers, "x"}, json.RawMessage(`{"id":"x","adapter":"openai","api_key":"k"}`))
	if err != nil {
		t.Fatal(err)
	}
	if p := s.(*awaken.ProviderSpec); p.APIKey.Expose() != "k" || p.TimeoutSecs != 300 {
		t.Errorf("%+v", p)
	}
	_, err = decode(Key{Skills, "X"}, json.RawMessage(`{"id":"X"}`))
	if !errors.Is(err, awaken.ErrInvalid) || !strings.Contains(err.Error(), `skills/X: id is "X"`) {
		t.Error(err)
	}
	if _, err = decode(Key{Tools, "x"}, json.RawMessage(`[`)); !errors.Is(err, awaken.ErrInvalid) {
		t.Error(err)
	}
	if _, err = decode(Key{"others", "x"}, json.RawMessage(`{}`)); !errors.Is(err, awaken.ErrNotFound) {
		t.Error(err)
	}
}
