package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/llm"
)

func TestPut_IsLiveForTheNextRun(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	r.wantAnswer("[sk-first-secret]one up 2 tools", "3")
	v := r.put("agents/a", `"model_id":"m","system_prompt":"two"`)
	if v.Meta.Revision != 2 || !v.Live || v.Meta.Source.Kind != config.User {
		t.Errorf("the view is %+v, want revision 2, live, of people", v)
	}
	r.wantAnswer("[sk-first-secret]two up 2 tools", "4")
	if got := r.made(); !slices.Equal(got, []string{"p sk-first-secret"}) {
		t.Errorf("providers were made %q, want one, once", got)
	}
	want := []string{"create providers/p", "create models/m", "create agents/a", "update agents/a"}
	if got := r.events(); !slices.Equal(got, want) {
		t.Errorf("the audit log has %q, want %q", got, want)
	}
}

func TestPut_OfTheSameDocumentMakesNoVersion(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	v := r.put("agents/a", `"model_id":"m","system_prompt":"one"`)
	head, err := r.Versions().Head(t.Context())
	if err != nil || head.Live != 3 || v.Meta.Revision != 2 || !v.Live {
		t.Errorf("head is %+v (%v) and the view %+v, want version 3 and revision 2", head, err, v)
	}
	r.put("providers/p", `"adapter":"x","api_key":"sk-first-secret"`)
	if head, _ := r.Versions().Head(t.Context()); head.Live != 3 {
		t.Errorf("head is %+v, want version 3: the secret is the same", head)
	}
}

func TestPut_RejectsWhatDoesNotCompileAndChangesNothing(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	for _, c := range []struct{ name, fields, says, code string }{
		{"agents/b", `"model_id":"nope"`, "nope", "agent_missing_model"},
		{"agents/b", `"model_id":"m","delegates":["nope"]`, "nope", "agent_missing_delegate"},
		{"agents/b", `"model_id":"m","plugin_ids":["nope"]`, "nope", "agent_missing_plugin"},
		{"agents/b", `"model_id":"m","active_hook_filter":["nope"]`, "nope", "agent_hook_filter_plugin_not_loaded"},
		{"models/n", `"provider_id":"nope","upstream_model":"u"`, "nope", "model_missing_provider"},
		{"model-pools/l", `"members":[{"model_id":"nope"}]`, "nope", "model_pool_missing_model"},
		{"agents/b", `"model_id":"m","max_rounds":-1`, "max_rounds", ""},
		{"agents/b", `"modelid":"m"`, "model_id", ""},
		{"providers/q", `"adapter":"broken","api_key":"sk-broken-secret"`, "cannot be made", "provider_failed"},
	} {
		k := key(c.name)
		for _, dry := range []bool{true, false} {
			var err error
			if dry {
				_, err = r.Validate(t.Context(), k, doc(k, c.fields))
			} else {
				_, err = r.Put(t.Context(), k, doc(k, c.fields), false, config.Condition{}, me)
			}
			wantErr(t, err, awaken.ErrInvalid, c.says)
			if broken, ok := errors.AsType[*awaken.ConfigError](err); c.code != "" && (!ok || broken.Problems[0].Code != c.code) {
				t.Errorf("%s %s: error is %v, want one with code %s", c.name, c.fields, err, c.code)
			}
			if strings.Contains(err.Error(), "sk-broken-secret") {
				t.Errorf("the error holds the secret: %v", err)
			}
		}
		if _, err := r.Get(t.Context(), k); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("%s: get says %v, want not found", c.name, err)
		}
	}
	if head, _ := r.Versions().Head(t.Context()); head.Last != 3 {
		t.Errorf("head is %+v, want version 3", head)
	}
	failed, err := r.Audit().List(t.Context(), config.AuditQuery{Action: "apply_failed"})
	if err != nil || len(failed) != 9 {
		t.Fatalf("the audit log has %d refusals (%v), want 9", len(failed), err)
	}
	for _, e := range failed {
		if e.Error == "" || e.Actor != "k1/tester" || strings.Contains(e.Error, "sk-broken") {
			t.Errorf("the refusal is %+v, want who and why, without secrets", e)
		}
	}
	r.wantAnswer("[sk-first-secret]one up 2 tools", "3")
}

func TestPut_Conditions(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	k := key("agents/a")
	d := doc(k, `"model_id":"m","system_prompt":"x"`)
	_, err := r.Put(t.Context(), k, d, false, config.Condition{Absent: true}, me)
	wantErr(t, err, config.ErrExists)
	_, err = r.Put(t.Context(), k, d, false, config.Condition{Revision: 7}, me)
	wantErr(t, err, config.ErrStale, "expected 7, found 1")
	_, err = r.Put(t.Context(), key("agents/none"), doc(key("agents/none"), `"model_id":"m"`), false, config.Condition{Revision: 1}, me)
	wantErr(t, err, config.ErrStale)
	if _, err = r.Put(t.Context(), k, d, false, config.Condition{Revision: 1}, me); err != nil {
		t.Error(err)
	}
	wantErr(t, r.Delete(t.Context(), k, false, config.Condition{Revision: 1}, me), config.ErrStale)
	if err := r.Delete(t.Context(), k, false, config.Condition{Revision: 2}, me); err != nil {
		t.Error(err)
	}
	wantErr(t, r.Delete(t.Context(), k, false, config.Condition{}, me), awaken.ErrNotFound)
	if got := r.events(); slices.Contains(got, "apply_failed agents/a") {
		t.Errorf("the audit log has %q, want no refusal: the clients could not know", got)
	}
}

func TestDelete_RefusesWhatOthersNeed(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	r.put("models/idle", `"provider_id":"p","upstream_model":"idle"`)
	err := r.Delete(t.Context(), key("providers/p"), true, config.Condition{}, me)
	dep, ok := errors.AsType[*config.DependencyError](err)
	if !ok || !slices.Equal(dep.UsedBy, []config.Key{key("models/m")}) {
		t.Fatalf("error is %v %+v, want one that names models/m", err, dep)
	}
	err = r.Delete(t.Context(), key("models/m"), false, config.Condition{}, me)
	if dep, ok = errors.AsType[*config.DependencyError](err); !ok || !slices.Equal(dep.UsedBy, []config.Key{key("agents/a")}) {
		t.Fatalf("error is %v %+v, want one that names agents/a", err, dep)
	}
	preview, err := r.RemovalPreview(t.Context(), "p")
	if err != nil || !slices.Equal(preview.ModelIDs, []string{"idle", "m"}) || !slices.Equal(preview.AgentIDs, []string{"a"}) || preview.CascadeUnusedModelsAllowed {
		t.Errorf("the preview is %+v (%v)", preview, err)
	}
	if err := r.Delete(t.Context(), key("agents/a"), false, config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	err = r.Delete(t.Context(), key("providers/p"), false, config.Condition{}, me)
	if _, ok := errors.AsType[*config.DependencyError](err); !ok {
		t.Fatalf("error is %v, want a DependencyError without force", err)
	}
	if err := r.Delete(t.Context(), key("providers/p"), true, config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"providers/p", "models/m", "models/idle"} {
		if _, err := r.Get(t.Context(), key(k)); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("%s is there: %v", k, err)
		}
	}
	if secrets, _ := r.o.Store.Secrets(t.Context()); len(secrets) != 0 {
		t.Errorf("%d secrets are left", len(secrets))
	}
}

func TestOpen_LoadsWhatWasPublished(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	for i := range 100 { // past a checkpoint
		r.put("agents/a", `"model_id":"m","system_prompt":"`+strings.Repeat("x", i)+`"`)
	}
	r.open()
	r.wantAnswer("[sk-first-secret]"+strings.Repeat("x", 99)+" up 2 tools", "103")
	if d := r.Diagnostics(); len(d) > 0 {
		t.Errorf("diagnostics are %v, want none", d)
	}
}

func TestOpen_SkipsAndReportsWhatDoesNotCompile(t *testing.T) {
	r := newRig(t, nil, func(o *config.Options) { o.Code.Plugins = []awaken.Plugin{plugin("special")} })
	r.basics()
	r.put("agents/b", `"model_id":"m","plugin_ids":["special"]`)
	r.o.Code.Plugins = nil
	other, err := config.NewVault(strings.Repeat("24", 32))
	if err != nil {
		t.Fatal(err)
	}
	r.o.Vault = other // the key is lost
	r.open()
	var codes []string
	for _, d := range r.Diagnostics() {
		codes = append(codes, d.Namespace+"/"+d.ID+" "+d.Code)
	}
	want := []string{"providers/p provider_failed", "agents/b agent_missing_plugin"}
	if !slices.Equal(codes, want) {
		t.Errorf("diagnostics are %q, want %q", codes, want)
	}
	// Other documents can still be written.
	r.put("providers/q", `"adapter":"x","api_key":"sk-second-secret"`)
	r.put("models/m2", `"provider_id":"q","upstream_model":"up2"`)
	r.put("agents/a", `"model_id":"m2","system_prompt":"one"`)
	r.wantAnswer("[sk-second-secret]one up2 2 tools", "7")
	// The broken document can be repaired.
	r.put("providers/p", `"adapter":"x","api_key":"sk-first-again"`)
	r.put("agents/a", `"model_id":"m","system_prompt":"one"`)
	r.wantAnswer("[sk-first-again]one up 2 tools", "9")
}

type llmModel = llm.Model

type plugin string

func (p plugin) Name() string                     { return string(p) }
func (p plugin) Register(*awaken.Registrar) error { return nil }
