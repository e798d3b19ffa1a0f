package config_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/store/memory"
)

// paths returns where the problems of an error are, with their codes and what they suggest.
func paths(t *testing.T, err error) []string {
	t.Helper()
	e, ok := errors.AsType[*config.InvalidError](err)
	if !ok || !errors.Is(err, awaken.ErrInvalid) {
		t.Fatalf("error is %v, want an InvalidError", err)
	}
	var out []string
	for _, p := range e.Problems {
		if p.Message == "" || p.Severity != awaken.SeverityError {
			t.Errorf("problem is %+v, want a message and a severity", p)
		}
		line := p.Path + " " + p.Code
		if p.Suggestion != "" {
			line += " -> " + p.Suggestion
		}
		out = append(out, line)
	}
	return out
}

// A refused document has all its mistakes at once, each at its field, whatever the stage that finds them. The text of
// the error is that of the first stage.
func TestProblems_AllAtOnce(t *testing.T) {
	r := newRig(t, memory.NewDB().Config(), nil)
	r.basics()
	for name, c := range map[string]struct {
		doc, says string
		want      []string
	}{
		"agents/a": {`{"id":"a","model_id":"sonet","system_promt":"x","max_rounds":"many","context_policy":{"max_output_token":3},"allowed_tools":["",7],"delegates":["a"]}`,
			"", []string{"/system_promt unknown_field -> system_prompt", "/allowed_tools/1 wrong_type", "/context_policy/max_output_token unknown_field -> max_output_tokens", "/max_rounds wrong_type",
				"/delegates invalid_value", "/model_id agent_missing_model"}},
		"agents/b": {`{"id":"b","model":"m","tool_execution_mode":"fast","plugin_ids":["none"]}`, `unknown field "model"`,
			[]string{"/model unknown_field -> model_id", "/tool_execution_mode invalid_value", "/model_id agent_missing_model", "/plugin_ids/0 agent_missing_plugin"}},
		"agents/c":  {`{"id":"c","model_id":"m","budget":{"run_usd":-1},"max_rounds":-1}`, "max_rounds is -1", []string{"/max_rounds invalid_value", "/budget/run_usd invalid_value"}},
		"models/m2": {`{"id":"m2","provider_id":"nope","upstream_model":"u","context_window":-1}`, "context_window is -1", []string{"/context_window invalid_value", "/provider_id model_missing_provider"}},
		"model-pools/p": {`{"id":"p","members":[{"model_id":"m"},{"model_id":"nope","role":"odd"}],"extra":1}`, `unknown field "extra"`,
			[]string{"/extra unknown_field", "/members/1/role invalid_value"}},
		"providers/x":   {`{"id":"x","adaptor":"a","timeout_secs":"long"}`, `did you mean "adapter"`, []string{"/adaptor unknown_field -> adapter", "/adapter missing_field", "/timeout_secs wrong_type"}},
		"mcp-servers/s": {`{"id":"s","transport":"carrier","timeout_secs":-1}`, "transport is", []string{"/transport invalid_value", "/timeout_secs invalid_value"}},
		"skills/k":      {`{"id":"k","name":"","description":"d","context":"odd"}`, "", []string{"/name missing_field", "/instructions_md missing_field", "/context invalid_value"}},
		"agents/d":      {`{"id":"d","model_id":"m","model_id":"n"}`, "appears twice", []string{"/model_id duplicate_field"}},
		"agents/e":      {`{"model_id":"m"}`, "missing 'id'", []string{"/id missing_field"}},
		"agents/f":      {`[1]`, "want an object", []string{" wrong_type"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Validate(t.Context(), key(name), []byte(c.doc))
			got := paths(t, err)
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %q, want %q in it", err, c.says)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%v\n(-want +got):\n%s", err, diff)
			}
			_, put := r.Put(t.Context(), key(name), []byte(c.doc), false, config.Condition{}, config.Actor{})
			if diff := cmp.Diff(got, paths(t, put)); diff != "" || put.Error() != err.Error() {
				t.Errorf("a write says %v, and differs (-validate +put):\n%s", put, diff)
			}
		})
	}
}

// A document with very many mistakes is answered with the first of them, and that there are more: neither the time nor the answer grows
// with the square of their number.
func TestProblems_AreLimited(t *testing.T) {
	const many = 100_000
	r := newRig(t, memory.NewDB().Config(), nil)
	r.basics()
	var unknown strings.Builder
	for i := range many {
		fmt.Fprintf(&unknown, `"unknown_field_%d":1,`, i)
	}
	_, err := r.Validate(t.Context(), key("agents/a"), []byte(`{`+unknown.String()+`"id":"a","model_id":"m"}`))
	list := config.ProblemsOf(err)
	if len(list) != 101 {
		t.Fatalf("%d problems are listed, want 100 and that there are more", len(list))
	}
	if last := list[100]; last.Code != "too_many_problems" || !strings.Contains(last.Message, "100") || last.Path != "" {
		t.Errorf("the last problem is %+v", last)
	}
}

// No problem repeats a secret, whatever is wrong around it or with it.
func TestProblems_HaveNoSecrets(t *testing.T) {
	const planted = "planted-secret-7f3a"
	r := newRig(t, memory.NewDB().Config(), nil)
	r.basics()
	for name, doc := range map[string]string{
		"providers/x":   `{"id":"x","adapter":"a","api_key":["` + planted + `"],"adapter_options":{"headers":["` + planted + `"],"credentials_kind":"odd"},"timeout_secs":-1}`,
		"providers/y":   `{"id":"y","adapter":"a","api_key":"` + planted + `","base_url":"https://u:` + planted + `@h","extra":1}`,
		"mcp-servers/s": `{"id":"s","transport":"odd","env":{"A=B":"` + planted + `","C":{"deep":"` + planted + `"}}}`,
		"a2a-servers/p": `{"id":"p","base_url":"https://h/?token=` + planted + `","auth":{"type":"odd","token":"` + planted + `"},"timeout_ms":-1}`,
		"agents/a":      `{"id":"a","model_id":"none","endpoint":{"base_url":"https://h?api_key=` + planted + `","auth":{"type":"bearer","token":7,"client_secret":"` + planted + `"}},"sections":{"x":{"api_key":{"$secret":"` + planted + `"}}}}`,
	} {
		_, err := r.Validate(t.Context(), key(name), []byte(doc))
		e, ok := errors.AsType[*config.InvalidError](err)
		if !ok || len(e.Problems) == 0 {
			t.Errorf("%s: error is %v, want problems", name, err)
			continue
		}
		for _, p := range e.Problems {
			if strings.Contains(p.Path+p.Message+p.Suggestion, planted) {
				t.Errorf("%s: %+v has the secret", name, p)
			}
		}
	}
}

// The paths of problems are those of the document, also if the mistake is in an entry of a list or in a section.
func TestProblems_OfSections(t *testing.T) {
	r := newRig(t, memory.NewDB().Config(), func(o *config.Options) { o.Code.Plugins = append(o.Code.Plugins, permission.New(permission.Config{})) })
	r.basics()
	_, err := r.Validate(t.Context(), key("agents/a"), []byte(`{"id":"a","model_id":"mm","plugin_ids":["permission"],"sections":{"permission":{"default_behaviour":"ask","rules":[{"tool":"x","behavior":"alow"}]}}}`))
	want := []string{"/model_id agent_missing_model -> m", "/sections/permission/default_behaviour unknown_field", "/sections/permission/rules/0/behavior invalid_section"}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(paths(t, err)))); diff != "" { // the violations of a section have no order
		t.Errorf("%v\n(-want +got):\n%s", err, diff)
	}
	_, err = r.Validate(t.Context(), key("agents/a"), []byte(`{"id":"a","model_id":"m","plugin_ids":["permission"],"sections":{"permission":{"rules":[{"tool":"x","behavior":"allow"},{"tool":"Bash(","behavior":"deny"},{"tool":"Edit(","behavior":"deny"}]}}}`))
	want = []string{"/sections/permission/rules/1/tool invalid_section", "/sections/permission/rules/2/tool invalid_section"}
	if diff := cmp.Diff(want, paths(t, err)); diff != "" {
		t.Errorf("%v\n(-want +got):\n%s", err, diff)
	}
	v, err := r.Validate(t.Context(), key("agents/a"), []byte(`{"id":"a","model_id":"m","sections":{"permision":{}}}`))
	if err != nil || len(v.Problems) != 1 || v.Problems[0].Severity != awaken.Warning || v.Problems[0].Code != "unclaimed_section" || v.Problems[0].Path != "/sections" {
		t.Errorf("%+v, %v; want a warning about the section", v, err)
	}
}
