package config_test

import (
	"slices"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
)

func TestPreview_CannotGoLive(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	own := &awaken.AgentSpec{ID: "__own", ModelID: "m"}
	pub, err := r.Versions().PreviewOwn(t.Context(), own, me)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Versions().Rollback(t.Context(), pub.Number, me)
	wantErr(t, err, awaken.ErrInvalid, "preview")
	_, err = r.Canary().Set(t.Context(), config.Canary{Version: pub.Number, Share: 1}, me)
	wantErr(t, err, awaken.ErrInvalid, "preview")
	if r.Registry().Agent("__own") != nil || r.Choose(&awaken.Thread{ID: "t"}).Agent("__own") != nil {
		t.Error("everybody can run an agent of the server's own")
	}
}

func TestPublish_RejectsUnknownNamespaces(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	if _, err := r.Assistant().Set(t.Context(), config.AssistantSettings{PolicyPrompt: "be nice"}, me); err != nil {
		t.Fatal(err)
	}
	_, err := r.Drafts().Publish(t.Context(), []config.Key{key("admin-assistant/default")}, nil, "", me)
	wantErr(t, err, awaken.ErrNotFound, "admin-assistant")
}

func TestPreview_HasNoManifest(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	for i := range 60 {
		r.put("agents/a", `"model_id":"m","max_rounds":`+string(rune('1'+i%9)))
	}
	for range 3 {
		pub, _, err := r.Versions().Preview(t.Context(), doc(key("agents/b"), `"model_id":"m"`), me)
		if err != nil {
			t.Fatal(err)
		}
		if pub, err = r.o.Store.Publication(t.Context(), pub.Number); err != nil || pub.Manifest != nil {
			t.Errorf("preview %d has a manifest of %d entries (%v)", pub.Number, len(pub.Manifest), err)
		}
		r.put("agents/a", `"model_id":"m","system_prompt":"`+pub.ResolutionID()+`"`)
	}
}

func TestUnneeded_KeepsRecentlyLiveVersions(t *testing.T) {
	whole := []config.Entry{{}}
	all := []*config.Publication{{Number: 1, At: 1, Manifest: whole}, {Number: 2, Base: 1, At: 2, Manifest: whole}, {Number: 3, Base: 2, At: 9, Manifest: whole}}
	head := config.Head{Last: 3, Live: 3}
	if got := config.Unneeded(all, head, nil, 5); !slices.Equal(got, []int64{1}) {
		t.Errorf("unneeded are %v: 2 was live until 3 was published", got)
	}
	head.Canary = &config.Canary{Version: 3, Control: 1}
	if got := config.Unneeded(all, head, nil, 10); !slices.Equal(got, []int64{2}) {
		t.Errorf("unneeded are %v: the canary is compared with 1", got)
	}
}
