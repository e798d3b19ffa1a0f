package config_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/store/memory"
)

// share counts how many new threads get each version.
func (r *rig) share(threads int, created int64) map[string]int {
	out := map[string]int{}
	for i := range threads {
		t := &awaken.Thread{ID: fmt.Sprint("thread-", i), Metadata: awaken.ThreadMetadata{CreatedAt: created}}
		first := r.Choose(t).ID()
		if again := r.Choose(t).ID(); again != first {
			r.t.Errorf("thread %s gets %s, and then %s", t.ID, first, again)
		}
		out[first]++
	}
	return out
}

func TestCanary_GetsItsShareOfNewThreads(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	r.draft("agents/a", `"model_id":"m","system_prompt":"canary"`)
	before := time.Now().UnixMilli() - 10_000
	pub, err := r.Drafts().Publish(t.Context(), nil, &config.Canary{Share: 0.25}, "", me)
	if err != nil || pub.Number != 4 || pub.Kind != "canary" || r.live() != 3 {
		t.Fatalf("%+v (%v)", pub, err)
	}
	if got := r.share(1000, 0); got["4"] < 200 || got["4"] > 300 || got["3"]+got["4"] != 1000 {
		t.Errorf("the share is %v, want about a quarter", got)
	}
	if got := r.share(100, before); got["3"] != 100 {
		t.Errorf("the share of old threads is %v, want none", got)
	}
	if got := r.drafts(); !slices.Equal(got, []string{"agents/a"}) {
		t.Errorf("drafts are %q: the canary is not live", got)
	}

	// Writes build on the live version.
	r.put("agents/b", `"model_id":"m"`) // 5
	r.wantAnswerOn(r.threadOf("4"), "[sk-first-secret]canary up 2 tools", "4")
	r.wantAnswerOn(r.threadOf("5"), "[sk-first-secret]one up 2 tools", "5")

	// A bigger share takes more threads and keeps those that it has.
	was := r.threadOf("4")
	if _, err := r.Canary().Set(t.Context(), config.Canary{Version: 4, Share: 0.5}, me); err != nil {
		t.Fatal(err)
	}
	if got := r.share(1000, 0); got["4"] < 440 || got["4"] > 560 {
		t.Errorf("the share is %v, want about a half", got)
	}
	r.wantAnswerOn(was, "[sk-first-secret]canary up 2 tools", "4")

	// A promotion keeps what was published in the meantime.
	head, err := r.Canary().Promote(t.Context(), me)
	if err != nil || head.Live != 6 || head.Canary != nil {
		t.Fatalf("%+v (%v)", head, err)
	}
	r.wantAnswer("[sk-first-secret]canary up 2 tools", "6")
	if ids := r.Registry().AgentIDs(); !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("agents are %q", ids)
	}
	if got := r.drafts(); len(got) > 0 {
		t.Errorf("drafts are %q", got)
	}
	_, err = r.Canary().Promote(t.Context(), me)
	wantErr(t, err, awaken.ErrNotFound)
}

func (r *rig) threadOf(version string) string {
	for i := range 1000 {
		id := fmt.Sprint("thread-", i)
		if r.Choose(&awaken.Thread{ID: id}).ID() == version {
			return id
		}
	}
	r.t.Fatalf("no thread gets version %s", version)
	return ""
}

func (r *rig) wantAnswerOn(thread, answer, version string) {
	r.t.Helper()
	if got, v := r.ask(awaken.RunRequest{ThreadID: thread}); got != answer || v != version {
		r.t.Errorf("on %s the agent says %q on version %s, want %q on %s", thread, got, v, answer, version)
	}
}

func TestCanary_PromotingAnOldVersionUpdatesRecords(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	r.put("agents/a", `"model_id":"m","system_prompt":"two"`) // 4
	r.draft("models/m", `"provider_id":"p","upstream_model":"drafted"`)
	if _, err := r.Canary().Set(t.Context(), config.Canary{Version: 3, Share: 1}, me); err != nil {
		t.Fatal(err)
	}
	r.wantAnswer("[sk-first-secret]one up 2 tools", "3")
	_, err := r.Canary().Set(t.Context(), config.Canary{Version: 2, Share: 1}, me)
	wantErr(t, err, awaken.ErrConflict, "3")
	head, err := r.Canary().Promote(t.Context(), me)
	if err != nil || head.Live != 3 || head.Last != 4 {
		t.Fatalf("%+v (%v)", head, err)
	}
	r.wantAnswer("[sk-first-secret]one up 2 tools", "3")
	if got := r.field("agents/a", "system_prompt"); got != "one" {
		t.Errorf("people edit %q", got)
	}
	if got := r.drafts(); !slices.Equal(got, []string{"models/m"}) {
		t.Errorf("drafts are %q, want the one that was there", got)
	}
	r.put("agents/a", `"model_id":"m","system_prompt":"three"`) // 5, based on 3
	r.wantAnswer("[sk-first-secret]three up 2 tools", "5")
	r.open()
	r.wantAnswer("[sk-first-secret]three up 2 tools", "5")
}

func TestCanary_ConflictingWritesPreventPromotion(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	r.draft("agents/a", `"model_id":"m","system_prompt":"canary"`)
	if _, err := r.Drafts().Publish(t.Context(), nil, &config.Canary{Share: 1}, "", me); err != nil {
		t.Fatal(err)
	}
	r.put("agents/a", `"model_id":"m","system_prompt":"meanwhile"`)
	_, err := r.Canary().Promote(t.Context(), me)
	wantErr(t, err, awaken.ErrConflict, "agents/a")
	head, err := r.Canary().Drop(t.Context(), me)
	if err != nil || head.Canary != nil || head.Live != 5 {
		t.Fatalf("%+v (%v)", head, err)
	}
	r.wantAnswer("[sk-first-secret]meanwhile up 2 tools", "5")
	if got := r.events(); got[len(got)-1] != "rollback canary/4" {
		t.Errorf("the audit log ends with %q", got[len(got)-1])
	}
}

func TestSetCanary_RejectsInvalidInput(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	for _, c := range []config.Canary{{Version: 2, Share: 0}, {Version: 2, Share: 1.5}, {Version: 3, Share: 1},
		{Version: 2, Share: 1, Rule: &config.CanaryRule{MaxErrorRate: 2}}, {Version: 2, Share: 1, Rule: &config.CanaryRule{MinRuns: -1}}} {
		_, err := r.Canary().Set(t.Context(), c, me)
		wantErr(t, err, awaken.ErrInvalid)
	}
	_, err := r.Canary().Set(t.Context(), config.Canary{Version: 9, Share: 1}, me)
	wantErr(t, err, awaken.ErrNotFound)
}

func TestCanary_RuleCountsRunsOfAllReplicas(t *testing.T) {
	for _, c := range []struct {
		name         string
		rule         config.CanaryRule
		canary, live []awaken.Run // of each of two replicas
		want         string       // the last event, and its reason
	}{
		{"errors", config.CanaryRule{MinRuns: 4, MaxErrorRate: 0.4}, []awaken.Run{failed, fine}, []awaken.Run{fine}, "rollback canary/4: error rate is 0.5"},
		{"too few", config.CanaryRule{MinRuns: 5, MaxErrorRate: 0.4}, []awaken.Run{failed, fine}, nil, "publish canary/4: "},
		{"more errors", config.CanaryRule{MaxErrorIncrease: 0.2}, []awaken.Run{failed, fine}, []awaken.Run{fine}, "rollback canary/4: error rate over"},
		{"as many errors", config.CanaryRule{MaxErrorIncrease: 0.2}, []awaken.Run{failed, fine}, []awaken.Run{failed, fine}, "publish canary/4: "},
		{"cost", config.CanaryRule{MaxCostUSD: 0.5}, []awaken.Run{fine}, nil, "rollback canary/4: cost of a run"},
		{"cost ratio", config.CanaryRule{MaxCostRatio: 1.5}, []awaken.Run{dear}, []awaken.Run{fine}, "rollback canary/4: cost in proportion"},
		{"time", config.CanaryRule{MaxLatencyMS: 1000}, []awaken.Run{fine}, nil, "rollback canary/4: time of a run"},
		{"time ratio", config.CanaryRule{MaxLatencyRatio: 1.5}, []awaken.Run{dear}, []awaken.Run{fine}, "rollback canary/4: time in proportion"},
		{"promoted", config.CanaryRule{MaxErrorRate: 0.5, PromoteAfterRuns: 4}, []awaken.Run{fine, fine}, nil, "promote canary/4: 4 runs"},
		{"not yet", config.CanaryRule{PromoteAfterRuns: 5}, []awaken.Run{fine, fine}, nil, "publish canary/4: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubbletest.Test(t, func(t *testing.T) {
				store := memory.NewDB().Config()
				one := newRig(t, store, nil)
				one.basics()
				one.draft("agents/a", `"model_id":"m","system_prompt":"canary"`)
				if _, err := one.Drafts().Publish(t.Context(), nil, &config.Canary{Share: 0.5, Rule: &c.rule}, "", me); err != nil {
					t.Fatal(err)
				}
				two := newRig(t, store, nil)
				ctx, cancel := context.WithCancel(t.Context())
				for _, r := range []*rig{one, two} {
					go r.Work(ctx)
					for _, run := range c.canary {
						r.observe(run, "4")
					}
					for _, run := range c.live {
						r.observe(run, "3")
					}
					r.observe(failed, "2")                                                                            // of another version
					r.observe(awaken.Run{Status: awaken.RunWaiting}, "4")                                             // not over
					r.observe(awaken.Run{Status: awaken.RunDone, CreatedAt: 1, Termination: failed.Termination}, "4") // began before
				}
				time.Sleep(11 * time.Second)
				synctest.Wait()
				cancel()
				synctest.Wait()
				list, err := one.Audit().List(t.Context(), config.AuditQuery{Resource: "canary"})
				if err != nil || len(list) == 0 {
					t.Fatal(list, err)
				}
				e := list[0]
				_, reason, _ := strings.Cut(strings.TrimSuffix(string(e.After), `"}`), `"reason":"`)
				if got := fmt.Sprintf("%s %s: %s", e.Action, e.Resource, reason); !strings.HasPrefix(got, c.want) {
					t.Errorf("the audit log says %q, want %q", got, c.want)
				}
				if e.Action != "publish" && e.Actor != "system:canary" {
					t.Errorf("it was %q", e.Actor)
				}
				head, _ := one.Versions().Head(t.Context())
				if live := head.Live; e.Action == "promote" && live != 4 || e.Action == "rollback" && (live != 3 || head.Canary != nil) {
					t.Errorf("head is %+v", head)
				}
			})
		})
	}
}

var (
	fine   = awaken.Run{Status: awaken.RunDone, Termination: awaken.Termination{Type: awaken.NaturalEnd}, CostUSD: 1, StartedAt: 10_000, FinishedAt: 12_000}
	dear   = awaken.Run{Status: awaken.RunDone, Termination: awaken.Termination{Type: awaken.NaturalEnd}, CostUSD: 2, StartedAt: 10_000, FinishedAt: 14_000}
	failed = awaken.Run{Status: awaken.RunDone, Termination: awaken.Termination{Type: awaken.Failed}, CostUSD: 1, StartedAt: 10_000, FinishedAt: 12_000}
)

func (r *rig) observe(run awaken.Run, version string) {
	run.ResolutionID = version
	if run.CreatedAt == 0 {
		run.CreatedAt = time.Now().UnixMilli()
	}
	r.Canary().Observe(&run)
}

func TestCanary_StuckPromotionIsReportedOnce(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		r.basics()
		r.draft("agents/a", `"model_id":"m","system_prompt":"canary"`)
		if _, err := r.Drafts().Publish(t.Context(), nil, &config.Canary{Share: 1, Rule: &config.CanaryRule{PromoteAfterRuns: 1}}, "", me); err != nil {
			t.Fatal(err)
		}
		r.put("agents/a", `"model_id":"m","system_prompt":"meanwhile"`)
		before := len(r.events())
		r.observe(fine, "4")
		ctx, cancel := context.WithCancel(t.Context())
		go r.Work(ctx)
		time.Sleep(time.Minute)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if d := r.Diagnostics(); len(d) != 1 || d[0].Code != "canary_conflict" || !strings.Contains(d[0].Message, "agents/a") {
			t.Errorf("diagnostics are %v", d)
		}
		if n := len(r.events()); n != before {
			t.Errorf("there are %d new events, want none: nothing has happened", n-before)
		}
	})
}

func TestCanaryReport_CountsSinceItBegan(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	r.put("agents/a", `"model_id":"m","system_prompt":"two"`)
	for range 2 {
		if _, err := r.Canary().Set(t.Context(), config.Canary{Version: 3, Share: 0.5}, me); err != nil {
			t.Fatal(err)
		}
		r.observe(failed, "3")
		r.observe(dear, "4")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r.Work(ctx) // tells the store at its end
		rep, err := r.Canary().Report(t.Context())
		if err != nil || rep.Tally != (config.Tally{Runs: 1, Errors: 1, CostUSD: 1, LatencyMS: 2000}) || rep.LiveTally != (config.Tally{Runs: 1, CostUSD: 2, LatencyMS: 4000}) {
			t.Fatalf("the report is %+v (%v)", rep, err)
		}
		if _, err := r.Canary().Drop(t.Context(), me); err != nil {
			t.Fatal(err)
		}
	}
}
