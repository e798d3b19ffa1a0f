package config_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/store/memory"
)

// bubble runs a test with two managers on one store. Work runs on the second.
func bubble(t *testing.T, change func(o *config.Options), f func(t *testing.T, one, two *rig)) {
	bubbletest.Test(t, func(t *testing.T) {
		store := memory.NewDB().Config()
		one := newRig(t, store, nil)
		one.basics()
		two := newRig(t, store, change)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { two.Work(ctx); close(done) }()
		defer func() { cancel(); <-done }()
		f(t, one, two)
	})
}

func TestWork_FollowsOtherProcesses(t *testing.T) {
	bubble(t, nil, func(t *testing.T, one, two *rig) {
		one.put("agents/a", `"model_id":"m","system_prompt":"two"`)
		one.put("providers/p", `"adapter":"x","api_key":"sk-second-secret"`)
		two.made()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		two.wantAnswer("[sk-second-secret]two up 2 tools", "5")
		if got := two.made(); !slices.Equal(got, []string{"p sk-second-secret"}) {
			t.Errorf("providers were made %q, want one", got)
		}
		if _, err := one.Versions().Rollback(t.Context(), 3, me); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		two.wantAnswer("[sk-second-secret]one up 2 tools", "6")
	})
}

func TestWrite_SeesTheLatestPublicationOfOthers(t *testing.T) {
	store := memory.NewDB().Config()
	one, two := newRig(t, store, nil), newRig(t, store, nil)
	one.basics()
	two.put("agents/b", `"model_id":"m"`)
	one.put("agents/c", `"model_id":"m","delegates":["b"]`)
	if err := two.Delete(t.Context(), key("agents/b"), false, config.Condition{}, me); err == nil {
		t.Error("what another needs is deleted")
	}
}

func TestFollow_KeepsTheLiveVersionIfTheNewOneDoesNotCompile(t *testing.T) {
	store := memory.NewDB().Config()
	one := newRig(t, store, func(o *config.Options) { o.Code.Plugins = []awaken.Plugin{plugin("special")} })
	one.basics()
	two := newRig(t, store, nil)
	one.put("agents/a", `"model_id":"m","system_prompt":"new","plugin_ids":["special"]`) // 4
	_, err := two.Put(t.Context(), key("agents/x"), doc(key("agents/x"), `"model_id":"none"`), false, config.Condition{}, me)
	wantErr(t, err, awaken.ErrInvalid, "none")
	two.wantAnswer("[sk-first-secret]one up 2 tools", "3")
	d := two.Diagnostics()
	if len(d) < 2 || d[0].Code != "version_unavailable" || d[0].ID != "4" || d[1].Code != "agent_missing_plugin" {
		t.Errorf("diagnostics are %v", d)
	}
	// Unrelated writes are not blocked.
	two.put("agents/b", `"model_id":"m","system_prompt":"b"`) // 5
	if got, v := two.ask(awaken.RunRequest{AgentID: "b"}); got != "[sk-first-secret]b up 2 tools" || v != "5" {
		t.Errorf("b says %q on %s", got, v)
	}
	one.put("agents/c", `"model_id":"m"`) // sees 5
	one.wantAnswer("[sk-first-secret]new up 2 tools", "6")
	// A version that compiles repairs it.
	one.put("agents/a", `"model_id":"m","system_prompt":"newer"`)
	two.put("agents/d", `"model_id":"m"`)
	two.wantAnswer("[sk-first-secret]newer up 2 tools", "8")
	if d := two.Diagnostics(); len(d) > 0 {
		t.Errorf("diagnostics are %v", d)
	}
}

// counting counts reads of the store's head.
type counting struct {
	config.Store
	heads atomic.Int64
	told  func()
}

func (c *counting) Head(ctx context.Context) (config.Head, error) {
	c.heads.Add(1)
	return c.Store.Head(ctx)
}

func (c *counting) Listen(ctx context.Context, fn func()) error {
	c.told = fn
	fn()
	<-ctx.Done()
	return ctx.Err()
}

func TestWork_BatchesNotifications(t *testing.T) {
	var store *counting
	bubble(t, func(o *config.Options) {
		store = &counting{Store: o.Store}
		o.Store, o.MinApply = store, 500*time.Millisecond
	}, func(t *testing.T, one, two *rig) {
		synctest.Wait()
		store.heads.Store(0)
		for i := range 100 {
			one.put("agents/a", fmt.Sprintf(`"model_id":"m","system_prompt":"%d"`, i))
			store.told()
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := store.heads.Load(); n < 2 || n > 4 {
			t.Errorf("the store was looked at %d times, want 2 to 4", n)
		}
		two.wantAnswer("[sk-first-secret]99 up 2 tools", "103")
	})
}

// breaking fails after a change was applied, like a connection that breaks during a commit.
type breaking struct {
	config.Store
	broken bool
}

func (b *breaking) Apply(ctx context.Context, c *config.Change) error {
	err := b.Store.Apply(ctx, c)
	if b.broken {
		b.broken = false
		return errors.New("connection lost")
	}
	return err
}

func TestWrite_WithAnUnknownOutcomeIsAppliedOnce(t *testing.T) {
	store := &breaking{Store: memory.NewDB().Config()}
	r := newRig(t, store, nil)
	r.basics()
	store.broken = true
	r.put("agents/a", `"model_id":"m","system_prompt":"two"`)
	r.wantAnswer("[sk-first-secret]two up 2 tools", "4")
	if n := len(slices.DeleteFunc(r.events(), func(e string) bool { return !strings.HasPrefix(e, "update") })); n != 1 {
		t.Errorf("there are %d events, want 1", n)
	}
}
