package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
)

// draft saves a document without publishing it.
func (r *rig) draft(name, fields string) *config.View {
	r.t.Helper()
	v, err := r.Put(r.t.Context(), key(name), doc(key(name), fields), true, config.Condition{}, me)
	if err != nil {
		r.t.Fatalf("draft %s: %v", name, err)
	}
	return v
}

func (r *rig) drafts() []string {
	r.t.Helper()
	list, err := r.Drafts().List(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, v := range list {
		out = append(out, v.Key.String())
	}
	return out
}

func (r *rig) live() int64 {
	r.t.Helper()
	h, err := r.Versions().Head(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return h.Live
}

// field returns a field of a record as clients see it.
func (r *rig) field(name, field string) string {
	r.t.Helper()
	v, err := r.Get(r.t.Context(), key(name))
	if err != nil {
		r.t.Fatal(err)
	}
	var tree map[string]json.RawMessage
	if err := json.Unmarshal(v.Spec, &tree); err != nil {
		r.t.Fatal(err)
	}
	return strings.Trim(string(tree[field]), `"`)
}

func TestDraft_GoesLiveOnlyWhenPublished(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	if v := r.draft("agents/a", `"model_id":"m","system_prompt":"draft"`); v.Live {
		t.Error("the draft is live")
	}
	r.put("agents/b", `"model_id":"m"`)
	r.wantAnswer("[sk-first-secret]one up 2 tools", "4")
	if got := r.drafts(); !slices.Equal(got, []string{"agents/a"}) {
		t.Errorf("drafts are %q, want agents/a", got)
	}
	if got := r.field("agents/a", "system_prompt"); got != "draft" {
		t.Errorf("people edit %q, want the draft", got)
	}
	pub, err := r.Drafts().Publish(t.Context(), nil, nil, "at last", me)
	if err != nil || pub.Number != 5 || pub.Note != "at last" || pub.Actor != "k1/tester" || len(pub.Entries) != 1 {
		t.Fatalf("the publication is %+v (%v)", pub, err)
	}
	r.wantAnswer("[sk-first-secret]draft up 2 tools", "5")
	_, err = r.Drafts().Publish(t.Context(), nil, nil, "", me)
	wantErr(t, err, awaken.ErrInvalid, "nothing to publish")
	_, err = r.Drafts().Publish(t.Context(), []config.Key{key("agents/none")}, nil, "", me)
	wantErr(t, err, awaken.ErrNotFound)
}

func TestDraft_ThatDoesNotCompileIsNotPublished(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	r.draft("agents/a", `"model_id":"later","system_prompt":"x"`)
	_, err := r.Drafts().Publish(t.Context(), nil, nil, "", me)
	wantErr(t, err, awaken.ErrInvalid, "later")
	r.wantAnswer("[sk-first-secret]one up 2 tools", "3")
	r.draft("models/later", `"provider_id":"p","upstream_model":"later"`)
	if _, err := r.Drafts().Publish(t.Context(), nil, nil, "", me); err != nil { // one change, in whatever order
		t.Fatal(err)
	}
	r.wantAnswer("[sk-first-secret]x later 2 tools", "4")
}

func TestDraft_CannotChangeASecretThatIsInUse(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	k := key("providers/p")
	_, err := r.Put(t.Context(), k, doc(k, `"adapter":"x","api_key":"sk-other"`), true, config.Condition{}, me)
	wantErr(t, err, awaken.ErrInvalid, "draft")
	r.draft("providers/p", `"adapter":"y","api_key":""`) // without a secret
	r.wantAnswer("[sk-first-secret]one up 2 tools", "3")
	if _, err := r.Drafts().Publish(t.Context(), nil, nil, "", me); err != nil {
		t.Fatal(err)
	}
	r.wantAnswer("[]one up 2 tools", "4")
	if s, _ := r.o.Store.Secrets(t.Context()); len(s) != 0 {
		t.Errorf("there are %d secrets, want none", len(s))
	}
}

func TestPreview_RunsADraftAndChangesNothing(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	k := key("agents/a")
	pub, id, err := r.Versions().Preview(t.Context(), doc(k, `"model_id":"m","system_prompt":"preview"`), me)
	if err != nil || id != "a" || pub.Kind != "preview" {
		t.Fatalf("preview is %+v of %q (%v)", pub, id, err)
	}
	version := fmt.Sprint(pub.Number)
	if got, v := r.ask(awaken.RunRequest{ResolutionID: version}); got != "[sk-first-secret]preview up 2 tools" || v != version {
		t.Errorf("the preview says %q on %s", got, v)
	}
	r.wantAnswer("[sk-first-secret]one up 2 tools", "3")
	if got := r.field("agents/a", "system_prompt"); got != "one" {
		t.Errorf("people edit %q", got)
	}
	r.put("agents/a", `"model_id":"m","system_prompt":"two"`) // a preview has taken no number
	r.wantAnswer("[sk-first-secret]two up 2 tools", "4")
	list, err := r.Versions().List(t.Context(), 0, 0)
	if err != nil || len(list) != 4 || list[0].Number != 4 {
		t.Errorf("versions: %+v (%v)", list, err)
	}
	_, _, err = r.Versions().Preview(t.Context(), doc(k, `"model_id":"none"`), me)
	wantErr(t, err, awaken.ErrInvalid, "none")
	_, _, err = r.Versions().Preview(t.Context(), json.RawMessage(`[]`), me)
	wantErr(t, err, awaken.ErrInvalid)
}

func TestRollback_RepublishesOldDocumentsAndUpdatesRecords(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()                                                // 3
	r.put("agents/a", `"model_id":"m","system_prompt":"two"`) // 4
	r.put("agents/b", `"model_id":"m"`)                       // 5
	pub, err := r.Versions().Rollback(t.Context(), 3, me)
	if err != nil || pub.Number != 6 || pub.Kind != "rollback" {
		t.Fatalf("the rollback is %+v (%v)", pub, err)
	}
	r.wantAnswer("[sk-first-secret]one up 2 tools", "6")
	if got := r.field("agents/a", "system_prompt"); got != "one" {
		t.Errorf("people edit %q", got)
	}
	if _, err := r.Get(t.Context(), key("agents/b")); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("agents/b is there: %v", err)
	}
	if pub, err = r.Versions().Rollback(t.Context(), 5, me); err != nil || pub.Number != 7 { // and forward
		t.Fatal(pub, err)
	}
	r.wantAnswer("[sk-first-secret]two up 2 tools", "7")
	if pub, err = r.Versions().Rollback(t.Context(), 5, me); err != nil || pub.Number != 7 { // it is live
		t.Fatal(pub, err)
	}
	_, err = r.Versions().Rollback(t.Context(), 99, me)
	wantErr(t, err, awaken.ErrNotFound)
	if got := r.drafts(); len(got) > 0 {
		t.Errorf("drafts are %q", got)
	}
	v, err := r.Versions().Get(t.Context(), 7)
	if err != nil || len(v.Manifest) != 4 {
		t.Errorf("version 7 is %+v (%v), want 4 documents", v, err)
	}
}

func TestRollback_ReportsMissingSecrets(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	r.put("providers/p", `"adapter":"x","api_key":""`)
	if _, err := r.Versions().Rollback(t.Context(), 3, me); err != nil {
		t.Fatal(err)
	}
	r.wantAnswer("[]one up 2 tools", "5")
	d := r.Diagnostics()
	if len(d) != 1 || d[0].Code != "secret_missing" || d[0].ID != "p" {
		t.Errorf("diagnostics are %v, want the secret that is gone", d)
	}
	v, err := r.Get(t.Context(), key("providers/p"))
	if err != nil || len(v.Diagnostics) != 1 {
		t.Errorf("the view is %+v (%v), want the secret that is gone", v, err)
	}
}

func TestPinned_RunsKeepTheirVersionWithCurrentSecrets(t *testing.T) {
	r := newRig(t, nil, func(o *config.Options) { o.Pins = 2 })
	r.basics()
	for i := range 5 {
		r.put("agents/a", fmt.Sprintf(`"model_id":"m","system_prompt":"v%d"`, i+4))
	}
	r.put("models/m", `"provider_id":"p","upstream_model":"up2"`)      // 9
	r.put("providers/p", `"adapter":"x","api_key":"sk-second-secret"`) // 10
	for _, v := range []int{3, 4, 5, 6, 5, 4, 3, 8, 9, 10} {
		prompt, up := fmt.Sprintf("v%d", v), "up"
		switch {
		case v == 3:
			prompt = "one"
		case v >= 9:
			prompt, up = "v8", "up2"
		}
		want := fmt.Sprintf("[sk-second-secret]%s %s 2 tools", prompt, up)
		if got, on := r.ask(awaken.RunRequest{ResolutionID: fmt.Sprint(v)}); got != want || on != fmt.Sprint(v) {
			t.Errorf("version %d says %q on %s, want %q", v, got, on, want)
		}
	}
	for _, id := range []string{"99", "x", "-1", "03", ""} {
		_, err := r.Pinned(t.Context(), id)
		wantErr(t, err, awaken.ErrNotFound)
	}
	if _, err := r.Pinned(t.Context(), "0"); err != nil {
		t.Errorf("version 0, of the program alone: %v", err)
	}
}

func TestRestore_WritesADraftWithCurrentSecrets(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	r.put("providers/p", `"adapter":"x","timeout_secs":7,"api_key":"sk-second-secret"`)
	list, err := r.Audit().List(t.Context(), config.AuditQuery{Resource: "providers/p"})
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	first := list[1]
	if strings.Contains(string(first.After), "sk-") || !strings.Contains(string(first.After), "$secret") {
		t.Errorf("the event holds %s, want a reference", first.After)
	}
	v, err := r.Drafts().Restore(t.Context(), key("providers/p"), first.ID, config.Condition{}, me)
	if err != nil || v.Live || v.Meta.Revision != 3 {
		t.Fatalf("restored %+v (%v)", v, err)
	}
	r.wantAnswer("[sk-second-secret]one up 2 tools", "4") // nothing has happened
	if _, err := r.Drafts().Publish(t.Context(), nil, nil, "", me); err != nil {
		t.Fatal(err)
	}
	r.wantAnswer("[sk-second-secret]one up 2 tools", "5")
	if got := r.field("providers/p", "timeout_secs"); got != "300" {
		t.Errorf("timeout_secs is %q, want the old one", got)
	}

	for _, c := range []struct {
		key, event string
		kind       error
	}{
		{"providers/p", "nope", awaken.ErrNotFound},
		{"models/m", first.ID, config.ErrNotRestorable},
	} {
		_, err := r.Drafts().Restore(t.Context(), key(c.key), c.event, config.Condition{}, me)
		wantErr(t, err, c.kind)
	}
	if err := r.Audit().Add(t.Context(), "restart", "providers/p", me, nil); err != nil {
		t.Fatal(err)
	}
	list, _ = r.Audit().List(t.Context(), config.AuditQuery{Action: "restart"})
	_, err = r.Drafts().Restore(t.Context(), key("providers/p"), list[0].ID, config.Condition{}, me)
	wantErr(t, err, config.ErrNotRestorable, "restart")
}

func TestRestore_OfADeletedDocumentReportsMissingSecrets(t *testing.T) {
	r := newRig(t, nil, nil)
	r.put("providers/p", `"adapter":"x","api_key":"sk-first-secret"`)
	if err := r.Delete(t.Context(), key("providers/p"), false, config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	list, _ := r.Audit().List(t.Context(), config.AuditQuery{Action: "delete"})
	v, err := r.Drafts().Restore(t.Context(), key("providers/p"), list[0].ID, config.Condition{}, me)
	if err != nil || len(v.Diagnostics) != 1 || v.Diagnostics[0].Code != "secret_missing" {
		t.Fatalf("restored %+v (%v), want one that says that the secret is gone", v, err)
	}
	if _, err := r.Put(t.Context(), key("providers/p"), doc(key("providers/p"), `"adapter":"x","api_key":"sk-new"`), false, config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
}
