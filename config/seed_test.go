package config_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
)

func documents(lines ...string) []config.Document {
	var out []config.Document
	for _, line := range lines {
		name, fields, _ := strings.Cut(line, " ")
		out = append(out, config.Document{Key: key(name), Spec: doc(key(name), fields)})
	}
	return out
}

func (r *rig) seed(version string, lines ...string) {
	r.t.Helper()
	if err := r.Seed(r.t.Context(), version, documents(lines...)); err != nil {
		r.t.Fatal(err)
	}
}

const (
	seedProvider = `providers/p "adapter":"x"`
	seedModel    = `models/m "provider_id":"p","upstream_model":"up"`
)

func (r *rig) override(name, patch string) *config.View {
	r.t.Helper()
	v, err := r.Override(r.t.Context(), key(name), json.RawMessage(patch), false, config.Condition{}, me)
	if err != nil {
		r.t.Fatalf("override %s: %v", name, err)
	}
	return v
}

func TestSeed_KeepsOverridesAndUserDocuments(t *testing.T) {
	r := newRig(t, nil, nil)
	r.seed("v1", seedProvider, seedModel, `agents/a "model_id":"m","system_prompt":"one","max_rounds":3`, `agents/old "model_id":"m"`, `agents/kept "model_id":"m"`, `agents/mine "model_id":"m"`)
	r.wantAnswer("[]one up 2 tools", "1")
	r.seed("v1", seedProvider, seedModel, `agents/a "model_id":"m","system_prompt":"one","max_rounds":3`, `agents/old "model_id":"m"`, `agents/kept "model_id":"m"`, `agents/mine "model_id":"m"`)
	if r.live() != 1 {
		t.Errorf("version %d is live, want 1: nothing is different", r.live())
	}
	r.override("agents/a", `{"system_prompt":"mine"}`)
	r.override("agents/kept", `{"system_prompt":"mine"}`)
	r.put("agents/mine", `"model_id":"m","system_prompt":"all mine"`)
	r.seed("v2", seedProvider, seedModel, `agents/a "model_id":"m","system_prompt":"changed","max_rounds":5`, `agents/mine "model_id":"m"`, `agents/new "model_id":"m"`)
	r.wantAnswer("[]mine up 2 tools", "5")
	if got := r.field("agents/a", "max_rounds"); got != "5" {
		t.Errorf("max_rounds is %s, want that of the new binary", got)
	}
	if got := r.field("agents/mine", "system_prompt"); got != "all mine" {
		t.Errorf("what people wrote is %q", got)
	}
	if ids := r.Registry().AgentIDs(); !slices.Equal(ids, []string{"a", "mine", "new"}) {
		t.Errorf("agents are %q", ids)
	}
	v, err := r.Get(t.Context(), key("agents/kept"))
	if err != nil || !v.Meta.Hidden || v.Live {
		t.Errorf("the orphan with overrides is %+v (%v), want it hidden", v, err)
	}
	r.seed("v3", seedProvider, seedModel, `agents/a "model_id":"m"`, `agents/kept "model_id":"m"`)
	if v, _ = r.Get(t.Context(), key("agents/kept")); v.Meta.Hidden || !v.Live || r.field("agents/kept", "system_prompt") != "mine" {
		t.Errorf("the orphan that is back is %+v, want it live with its overrides", v)
	}
	list, err := r.Audit().List(t.Context(), config.AuditQuery{Action: "seed_apply"})
	if err != nil || len(list) != 3 || list[0].Actor != "system:seed" || !strings.Contains(string(list[1].After), `"removed agents/old"`) {
		t.Errorf("the audit log has %d events (%v): %s", len(list), err, list[1].After)
	}
	r.seed("v4", seedProvider) // the model is needed by what people wrote
	if _, err := r.Get(t.Context(), key("models/m")); err != nil {
		t.Errorf("the model that an agent needs is gone: %v", err)
	}
}

func TestOverride_MergesAndClears(t *testing.T) {
	r := newRig(t, nil, nil)
	r.seed("v1", seedProvider, seedModel, `agents/a "model_id":"m","system_prompt":"one","max_rounds":3`)
	r.override("agents/a", `{"system_prompt":"two"}`)
	r.override("agents/a", `{"max_rounds":9}`)
	r.wantAnswer("[]two up 2 tools", "3")
	v, err := r.Override(t.Context(), key("agents/a"), json.RawMessage(`{"system_prompt":"dry"}`), true, config.Condition{}, me)
	if err != nil || !strings.Contains(string(v.Spec), "dry") || r.live() != 3 {
		t.Errorf("the dry run says %s (%v), version %d", v.Spec, err, r.live())
	}
	if v, err = r.ClearOverrides(t.Context(), key("agents/a"), "system_prompt", config.Condition{Revision: 3}, me); err != nil || r.field("agents/a", "max_rounds") != "9" {
		t.Fatal(v, err)
	}
	_, err = r.ClearOverrides(t.Context(), key("agents/a"), "", config.Condition{Revision: 3}, me)
	wantErr(t, err, config.ErrStale)
	if _, err = r.ClearOverrides(t.Context(), key("agents/a"), "", config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	r.wantAnswer("[]one up 2 tools", "5")
	_, err = r.Override(t.Context(), key("agents/a"), json.RawMessage(`{"model_id":"nope"}`), false, config.Condition{}, me)
	wantErr(t, err, awaken.ErrInvalid, "nope")
	_, err = r.Override(t.Context(), key("agents/none"), json.RawMessage(`{}`), false, config.Condition{}, me)
	wantErr(t, err, awaken.ErrNotFound)
	r.put("agents/user", `"model_id":"m"`)
	_, err = r.Override(t.Context(), key("agents/user"), json.RawMessage(`{"max_rounds":2}`), false, config.Condition{}, me)
	wantErr(t, err, config.ErrNotOverridable)
}

func TestPut_OnABuiltinDocumentFoldsItsOverrides(t *testing.T) {
	r := newRig(t, nil, nil)
	r.seed("v1", seedProvider, seedModel, `agents/a "model_id":"m","system_prompt":"one","max_rounds":3`)
	v := r.override("agents/a", `{"system_prompt":"two"}`)
	edited := bytes.Replace(v.Spec, []byte(`"max_rounds":3`), []byte(`"max_rounds":4`), 1)
	v, err := r.Put(t.Context(), key("agents/a"), edited, false, config.Condition{Revision: v.Meta.Revision}, me)
	if err != nil || v.Meta.Source.Kind != config.User || len(v.Meta.UserOverrides) > 0 {
		t.Fatalf("the view is %+v (%v)", v, err)
	}
	r.wantAnswer("[]two up 2 tools", "3")
	r.seed("v2", seedProvider, seedModel, `agents/a "model_id":"m","system_prompt":"three"`)
	r.wantAnswer("[]two up 2 tools", "3")
}

func TestTools_DescriptionsAreOverridden(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	k := key("tools/look")
	_, err := r.Put(t.Context(), k, doc(k, `"description":"x"`), false, config.Condition{}, me)
	wantErr(t, err, config.ErrReadOnly)
	if got := r.field("tools/look", "description"); got != "does look" {
		t.Errorf("the description is %q", got)
	}
	r.override("tools/look", `{"description":"looks well"}`)
	list, err := r.List(t.Context(), config.Tools, "", 0, 10)
	if err != nil || len(list) != 2 || !strings.Contains(string(list[0].Spec), "looks well") || list[1].Key.ID != "put" || !list[1].Live {
		t.Errorf("tools are %v (%v)", list, err)
	}
	if got := r.tools(); got != "look: looks well. put: does put." {
		t.Errorf("models are told %q", got)
	}
	if _, err := r.ClearOverrides(t.Context(), k, "", config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	if got := r.tools(); got != "look: does look. put: does put." {
		t.Errorf("models are told %q, want the tool's own words", got)
	}
	_, err = r.Override(t.Context(), key("tools/none"), json.RawMessage(`{"description":"x"}`), false, config.Condition{}, me)
	wantErr(t, err, awaken.ErrNotFound)
}

func TestApply_IsOnePublicationAndIdempotent(t *testing.T) {
	r := newRig(t, nil, nil)
	r.seed("v1", `agents/seeded "model_id":"m"`+"", seedProvider, seedModel)
	docs := documents(`agents/b "model_id":"m2"`, `models/m2 "provider_id":"q","upstream_model":"u"`, `providers/q "adapter":"x","api_key":"sk-apply-secret"`,
		`agents/seeded "model_id":"m2","system_prompt":"over"`, `tools/look "name":"look","description":"other"`)
	apply := func(docs []config.Document, prune, dry bool) []string {
		t.Helper()
		applied, err := r.Apply(t.Context(), docs, prune, dry, me)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, d := range applied.Differences {
			if strings.Contains(string(d.Before)+string(d.After), "sk-apply") {
				t.Errorf("the difference holds a secret: %s", d.After)
			}
			what := "changed"
			if d.Before == nil {
				what = "made"
			} else if d.After == nil {
				what = "removed"
			}
			out = append(out, what+" "+d.Key.String())
		}
		return out
	}
	want := []string{"made agents/b", "changed agents/seeded", "made models/m2", "made providers/q", "made tools/look"}
	if got := apply(docs, false, true); !cmp.Equal(got, want) || r.live() != 1 {
		t.Errorf("dry: %q, version %d", got, r.live())
	}
	if got := apply(docs, false, false); !cmp.Equal(got, want) || r.live() != 2 {
		t.Errorf("%q, version %d", got, r.live())
	}
	if got := apply(docs, true, false); len(got) > 0 || r.live() != 2 {
		t.Errorf("again: %q, version %d", got, r.live())
	}
	v, _ := r.Get(t.Context(), key("agents/seeded"))
	if v.Meta.Source.Kind != config.Builtin || !strings.Contains(string(v.Meta.UserOverrides), "over") {
		t.Errorf("the builtin document is %+v, want overrides", v.Meta)
	}

	// An export reproduces the documents on another server.
	exported, err := r.Export(t.Context(), false)
	if err != nil || len(exported) != 5 {
		t.Fatalf("%d documents (%v)", len(exported), err)
	}
	o := newRig(t, nil, nil)
	o.seed("v1", seedProvider, seedModel, `agents/seeded "model_id":"m"`)
	if _, err := o.Apply(t.Context(), exported, true, false, me); err != nil {
		t.Fatal(err)
	}
	again, err := o.Export(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range exported { // but for the secrets
		exported[i].Spec = bytes.ReplaceAll(exported[i].Spec, []byte(`"has_api_key":true`), []byte(`"has_api_key":false`))
	}
	if diff := cmp.Diff(exported, again); diff != "" {
		t.Errorf("the other server is different:\n%s", diff)
	}

	want = []string{"removed agents/b", "changed agents/seeded", "removed models/m2", "removed providers/q", "removed tools/look"}
	if got := apply(nil, true, false); !cmp.Equal(got, want) {
		t.Errorf("pruned %q", got)
	}
	if all, _ := r.Export(t.Context(), true); len(all) != 3 {
		t.Errorf("%d documents are left, want the seeds", len(all))
	}
	_, err = r.Apply(t.Context(), documents(`agents/b "model_id":"nope"`, `agents/c "model_id":"m"`), false, false, me)
	wantErr(t, err, awaken.ErrInvalid, "nope")
	if _, err := r.Get(t.Context(), key("agents/c")); err == nil {
		t.Error("a part of a refused change is there")
	}
}

func TestRotate_EncryptsWithTheNewKey(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	second := strings.Repeat("24", 32)
	both, err := config.NewVault(second, vaultKey)
	if err != nil {
		t.Fatal(err)
	}
	r.o.Vault = both
	r.open()
	if n, err := r.Rotate(t.Context(), me); err != nil || n != 1 {
		t.Fatalf("%d (%v)", n, err)
	}
	if n, err := r.Rotate(t.Context(), me); err != nil || n != 0 {
		t.Fatalf("again: %d (%v)", n, err)
	}
	if r.o.Vault, err = config.NewVault(second); err != nil {
		t.Fatal(err)
	}
	r.open()
	r.wantAnswer("[sk-first-secret]one up 2 tools", "3")
	if got := r.events(); got[len(got)-1] != "rotate secrets" {
		t.Errorf("the audit log has %q", got)
	}
}

func TestCode_CannotBeWritten(t *testing.T) {
	r := newRig(t, nil, func(o *config.Options) {
		o.Code.Models = []awaken.ModelSpec{{ID: "own", ProviderID: "own", UpstreamModel: "u"}}
		o.Code.Providers = map[string]llmModel{"own": parrot{"code"}}
		o.Code.Agents = []*awaken.AgentSpec{{ID: "a", ModelID: "own"}}
	})
	r.wantAnswer("[code] u 2 tools", "0")
	_, err := r.Put(t.Context(), key("agents/a"), doc(key("agents/a"), `"model_id":"own"`), false, config.Condition{}, me)
	wantErr(t, err, config.ErrReadOnly)
	r.put("agents/b", `"model_id":"own","delegates":["a"]`) // but used
	if got, _ := r.ask(awaken.RunRequest{AgentID: "b"}); got != "[code] u 2 tools" {
		t.Errorf("it says %q", got)
	}
}

func TestSkills_BecomeAPlugin(t *testing.T) {
	var seen []string
	r := newRig(t, nil, func(o *config.Options) {
		o.Skills = func(skills []*config.SkillSpec) ([]awaken.Plugin, error) {
			var ids []string
			for _, s := range skills {
				ids = append(ids, s.ID)
			}
			seen = append(seen, fmt.Sprint(ids))
			return []awaken.Plugin{plugin("skills")}, nil
		}
	})
	r.basics()
	r.put("skills/cook", `"name":"Cook","description":"cooks","instructions_md":"Boil."`)
	r.put("agents/a", `"model_id":"m","plugin_ids":["skills"]`)
	if err := r.Delete(context.Background(), key("skills/cook"), false, config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen, []string{"[cook]", "[]"}) {
		t.Errorf("the plugin was made of %q", seen)
	}
}
