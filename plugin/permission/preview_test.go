package permission_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/plugin/permission"
)

func TestPreviewOf(t *testing.T) {
	t.Parallel()
	tools := []string{"read", "rm", "shell"}
	rules := `{"default_behavior":"ask","rules":[{"tool":"rm","behavior":"deny"},{"tool":"shell(npm *)","behavior":"allow"},{"tool":"read","behavior":"allow"}]}`
	with := &awaken.AgentSpec{ID: "a", PluginIDs: []string{"permission"}, Sections: map[string]json.RawMessage{"permission": json.RawMessage(rules)}}
	for name, c := range map[string]struct {
		spec *awaken.AgentSpec
		want permission.Preview
	}{
		"without the plugin nothing is denied": {&awaken.AgentSpec{ID: "a", Sections: with.Sections},
			permission.Preview{DefaultBehavior: permission.Allow, Denied: []string{}, Effective: tools, Conditional: []permission.Conditional{}}},
		"unconditional denies are told from rules about arguments": {with,
			permission.Preview{Enabled: true, DefaultBehavior: permission.Ask, Denied: []string{"rm"}, Effective: []string{"read", "shell"},
				Conditional: []permission.Conditional{{Tool: "shell", Behavior: permission.Allow, Pattern: "shell(npm *)"}}}},
		"a default of deny denies what no rule names": {&awaken.AgentSpec{ID: "a", PluginIDs: []string{"permission"}, Sections: map[string]json.RawMessage{
			"permission": json.RawMessage(`{"default_behavior":"deny","rules":[{"tool":"read","behavior":"allow"}]}`)}},
			permission.Preview{Enabled: true, DefaultBehavior: permission.Deny, Denied: []string{"rm", "shell"}, Effective: []string{"read"}, Conditional: []permission.Conditional{}}},
	} {
		got, err := permission.PreviewOf(permission.New(permission.Config{}), c.spec, tools, nil)
		if err != nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	if _, err := permission.PreviewOf(permission.New(permission.Config{}), &awaken.AgentSpec{ID: "a", PluginIDs: []string{"permission"},
		Sections: map[string]json.RawMessage{"permission": json.RawMessage(`{"default_behavior":"maybe"}`)}}, tools, nil); err == nil {
		t.Error("a section that cannot be read has a preview")
	}
}
