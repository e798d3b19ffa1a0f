package config_test

import (
	"context"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
)

func TestProvider_IgnoresSecretsOfDryRuns(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	k := key("providers/p")
	if _, err := r.Validate(t.Context(), k, doc(k, `"adapter":"y","api_key":"sk-only-checked"`)); err != nil {
		t.Fatal(err)
	}
	r.put("providers/p", `"adapter":"x","timeout_secs":7`)
	r.wantAnswer("[sk-first-secret]one up 2 tools", "4")
}

// leaving is a store whose client disconnects as soon as its change is durable.
type leaving struct {
	config.Store
	leave context.CancelFunc
}

func (l *leaving) Apply(ctx context.Context, c *config.Change) error {
	err := l.Store.Apply(ctx, c)
	if l.leave != nil {
		l.leave()
	}
	return err
}

func TestWrite_CancelledLateKeepsTheCanary(t *testing.T) {
	r := newRig(t, nil, nil)
	store := &leaving{Store: r.o.Store}
	r.o.Store = store
	r.open()
	r.basics()
	r.draft("agents/a", `"model_id":"m","system_prompt":"canary"`)
	if _, err := r.Drafts().Publish(t.Context(), nil, &config.Canary{Share: 1}, "", me); err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, store.leave = context.WithCancel(t.Context())
	k := key("providers/p")
	if _, err := r.Put(ctx, k, doc(k, `"adapter":"x","api_key":"sk-second-secret"`), false, config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	if got := r.Choose(&awaken.Thread{ID: "t"}).ID(); got != "4" {
		t.Errorf("a new thread gets version %s, want the canary", got)
	}
	r.wantAnswer("[sk-second-secret]canary up 2 tools", "4")
}

func TestSecret_IsNotSentToTheServerOfAnotherVersion(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	r.put("providers/p", `"adapter":"x","base_url":"https://h","api_key":"sk-of-h"`) // 4
	r.put("providers/p", `"adapter":"x","base_url":"https://i","api_key":"sk-of-i"`) // 5
	r.wantAnswer("[sk-of-i]one up 2 tools", "5")
	if got, _ := r.ask(awaken.RunRequest{ResolutionID: "4"}); got != "[]one up 2 tools" {
		t.Errorf("a run that is pinned to the other server says %q", got)
	}
	if _, err := r.Versions().Rollback(t.Context(), 4, me); err != nil {
		t.Fatal(err)
	}
	r.wantAnswer("[]one up 2 tools", "6")
	v, err := r.Get(t.Context(), key("providers/p"))
	if err != nil || len(v.Diagnostics) != 1 || v.Diagnostics[0].Code != "secret_missing" {
		t.Errorf("the record is %+v (%v), want one without its secret", v, err)
	}
	r.put("providers/p", `"adapter":"x","base_url":"https://h","api_key":"sk-of-h"`)
	r.wantAnswer("[sk-of-h]one up 2 tools", "7")
	// The same secret can be written for another server.
	r.put("providers/p", `"adapter":"x","base_url":"https://i","api_key":"sk-of-h"`)
	r.wantAnswer("[sk-of-h]one up 2 tools", "8")
	r.open()
	r.wantAnswer("[sk-of-h]one up 2 tools", "8")
}
