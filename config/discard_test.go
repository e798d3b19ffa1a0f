package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/store/memory"
)

// specOf returns the document of a record, and of what is live.
func (r *rig) specOf(name string) (edited, live string, meta config.Meta) {
	r.t.Helper()
	v, err := r.Get(r.t.Context(), key(name))
	if err != nil {
		r.t.Fatal(err)
	}
	l, err := r.Live(key(name))
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		r.t.Fatal(err)
	}
	if l != nil {
		live = string(l.Spec)
	}
	return string(v.Spec), live, v.Meta
}

// A discarded draft leaves what is live as the record, and a trace in the audit log.
func TestDiscard_LeavesWhatIsLive(t *testing.T) {
	r := newRig(t, memory.NewDB().Config(), nil)
	r.basics()
	r.put("agents/c", `"model_id":"m","system_prompt":"live"`)
	if _, err := r.Put(t.Context(), key("agents/c"), doc(key("agents/c"), `"model_id":"m","system_prompt":"draft"`), true, config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	edited, live, meta := r.specOf("agents/c")
	if !strings.Contains(edited, `"draft"`) || !strings.Contains(live, `"live"`) || meta.UpdatedBy != me.String() || meta.Revision != 2 {
		t.Fatalf("edited %s, live %s, %+v", edited, live, meta)
	}
	if v, _ := r.Get(t.Context(), key("agents/c")); v.Live || !v.Published || v.Base != 1 {
		t.Errorf("%+v, want a draft on revision 1", v)
	}
	wantErr(t, r.Drafts().Discard(t.Context(), key("agents/c"), config.Condition{Revision: 1}, me), config.ErrStale)
	if err := r.Drafts().Discard(t.Context(), key("agents/c"), config.Condition{Revision: 2}, me); err != nil {
		t.Fatal(err)
	}
	edited, live, meta = r.specOf("agents/c")
	if edited != live || !strings.Contains(live, `"live"`) || meta.Revision != 3 {
		t.Errorf("edited %s, live %s, %+v", edited, live, meta)
	}
	if !slices.ContainsFunc(r.events(), func(e string) bool { return strings.Contains(e, "discard") }) {
		t.Errorf("events are %q, want discard", r.events())
	}
	wantErr(t, r.Drafts().Discard(t.Context(), key("agents/c"), config.Condition{}, me), awaken.ErrNotFound)
	wantErr(t, r.Drafts().Discard(t.Context(), key("agents/none"), config.Condition{}, me), awaken.ErrNotFound)
	if head, _ := r.Versions().Head(t.Context()); head.Live != head.Last {
		t.Errorf("head is %+v: discarding published something", head)
	}
}

// A draft that was never published is deleted, with its secret.
func TestDiscard_DeletesWhatWasNeverLive(t *testing.T) {
	r := newRig(t, memory.NewDB().Config(), nil)
	if _, err := r.Put(t.Context(), key("providers/p"), doc(key("providers/p"), `"adapter":"a","api_key":"sk-1"`), true, config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Live(key("providers/p")); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("live: %v", err)
	}
	if err := r.Drafts().Discard(t.Context(), key("providers/p"), config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Get(t.Context(), key("providers/p")); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("record: %v", err)
	}
	if secrets, err := r.o.Store.Secrets(t.Context()); err != nil || len(secrets) > 0 {
		t.Errorf("secrets: %d, %v", len(secrets), err)
	}
}

// A draft in place of a builtin document leaves a builtin document, with its overrides.
func TestDiscard_RestoresBuiltin(t *testing.T) {
	r := newRig(t, memory.NewDB().Config(), nil)
	r.basics()
	k := key("agents/b")
	seed := func(version string) {
		t.Helper()
		if err := r.Seed(t.Context(), version, []config.Document{{Key: k, Spec: doc(k, `"model_id":"m","description":"of version `+version+`"`)}}); err != nil {
			t.Fatal(err)
		}
	}
	seed("1")
	if _, err := r.Override(t.Context(), k, []byte(`{"max_rounds":5}`), false, config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	_, before, meta := r.specOf("agents/b")
	for _, prompt := range []string{"one", "two"} { // a draft of a draft
		if _, err := r.Put(t.Context(), k, doc(k, `"model_id":"m","system_prompt":"`+prompt+`"`), true, config.Condition{}, me); err != nil {
			t.Fatal(err)
		}
	}
	if v, _ := r.Get(t.Context(), k); v.Meta.Source.Kind != config.User || v.Meta.Replaced != nil {
		t.Errorf("%+v, want a user's draft without what it replaced", v.Meta)
	}
	if err := r.Drafts().Discard(t.Context(), k, config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	edited, live, now := r.specOf("agents/b")
	if edited != before || live != before || now.Source != meta.Source || string(now.UserOverrides) != string(meta.UserOverrides) {
		t.Errorf("edited %s, live %s, %+v; want %s, %+v", edited, live, now, before, meta)
	}
	seed("2") // and it is still the program's
	if edited, _, now := r.specOf("agents/b"); now.Source.BinaryVersion != "2" || !strings.Contains(edited, "of version 2") || !strings.Contains(edited, `"max_rounds":5`) {
		t.Errorf("%s, %+v", edited, now)
	}
}

// Drafts are listed after a key, so that a page never repeats or skips one.
func TestDrafts_After(t *testing.T) {
	r := newRig(t, memory.NewDB().Config(), nil)
	r.basics()
	for _, name := range []string{"agents/b", "agents/a", "models/z", "agents/c"} {
		fields := `"model_id":"m"`
		if strings.HasPrefix(name, "models/") {
			fields = `"provider_id":"p","upstream_model":"u"`
		}
		if _, err := r.Put(t.Context(), key(name), doc(key(name), fields), true, config.Condition{}, me); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"models/z", "agents/a", "agents/b", "agents/c"}
	for i := range want {
		var after config.Key
		if i > 0 {
			after = key(want[i-1])
		}
		var got []string
		for v, err := range r.Drafts().After(t.Context(), after) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, v.Key.String())
		}
		if !slices.Equal(got, want[i:]) {
			t.Errorf("after %s: %q, want %q", after, got, want[i:])
		}
	}
}
