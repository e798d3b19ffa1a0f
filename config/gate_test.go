package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/bubbletest"
)

// evidence is a gate that has seen the runs of some agents, by their digests.
type evidence struct {
	digests []string
	asked   []string
	err     error
}

func (e *evidence) Check(_ context.Context, c *config.GateCandidate) (*config.GateVerdict, error) {
	e.asked = append(e.asked, c.AgentID)
	v := &config.GateVerdict{Passed: slices.Contains(e.digests, c.Digest), Checks: []config.GateCheck{}}
	if !v.Passed {
		v.Checks = append(v.Checks, config.GateCheck{Requirement: c.Policy.Require[0], Problem: "not seen"})
	}
	return v, e.err
}

const gatedAgent = `"model_id":"m","sections":{"eval_gate":{"require":[{"dataset":"d"}]}},"system_prompt":`

// gated returns a rig with the live agent a, which has a gate.
func gated(t *testing.T) (*rig, *evidence) {
	t.Helper()
	seen := &evidence{}
	r := newRig(t, nil, func(o *config.Options) { o.Gate = seen })
	r.basics()
	r.put("agents/a", gatedAgent+`"one"`)
	return r, seen
}

// digest returns the digest of agent a with its drafts.
func (r *rig) digest() string {
	r.t.Helper()
	list, err := r.Gates(r.t.Context(), config.DraftSide)
	if err != nil || len(list) != 1 || !list[0].Changed {
		r.t.Fatalf("%+v, %v", list, err)
	}
	return list[0].AgentDigest
}

func wantClosed(t *testing.T, err error) {
	t.Helper()
	closed, ok := errors.AsType[*config.GateError](err)
	if !ok || closed.Verdicts[0].AgentID != "a" || !strings.Contains(err.Error(), `agent "a": not seen`) {
		t.Fatalf("%v, want that the gate is closed", err)
	}
}

func TestGate_IsAskedAboutWhatAVersionChanges(t *testing.T) {
	r, seen := gated(t)
	r.put("agents/b", `"model_id":"m"`)
	if len(seen.asked) > 0 {
		t.Errorf("the gate was asked about %q, which did not change", seen.asked)
	}
	_, err := r.Put(t.Context(), key("agents/a"), doc(key("agents/a"), gatedAgent+`"two"`), false, config.Condition{}, me)
	wantClosed(t, err)
	_, err = r.Put(t.Context(), key("models/m"), doc(key("models/m"), `"provider_id":"p","upstream_model":"other"`), false, config.Condition{}, me)
	wantClosed(t, err)
	if r.live() != 5 {
		t.Errorf("version %d is live, want 5", r.live())
	}
	if _, err := r.Validate(t.Context(), key("agents/a"), doc(key("agents/a"), gatedAgent+`"two"`)); err != nil {
		t.Errorf("a document that the gate would stop is valid: %v", err)
	}
	seen.err = errors.New("the store is away")
	if _, err := r.Put(t.Context(), key("agents/a"), doc(key("agents/a"), gatedAgent+`"two"`), false, config.Condition{}, me); !errors.Is(err, seen.err) {
		t.Errorf("%v: a gate that cannot answer is closed", err)
	}
}

func TestGate_EvidenceIsAboutDocumentsAndNotAboutNumbers(t *testing.T) {
	r, seen := gated(t)
	r.draft("agents/a", gatedAgent+`"two"`)
	draft := r.digest()
	pub, err := r.Drafts().Preview(t.Context(), me)
	if err != nil || pub.Kind != "preview" {
		t.Fatalf("%+v, %v", pub, err)
	}
	if got, err := r.Versions().Digest(t.Context(), pub.Number, "a"); got != draft || err != nil {
		t.Errorf("the digest of the preview is %q (%v), that of the draft %q", got, err, draft)
	}
	_, err = r.Drafts().Publish(t.Context(), nil, &config.Canary{Share: 0.5}, "", me)
	wantClosed(t, err)
	seen.digests = []string{draft}
	pub, err = r.Drafts().Publish(t.Context(), nil, &config.Canary{Share: 0.5}, "", me)
	if err != nil {
		t.Fatal(err)
	}

	// A larger share needs the evidence again, a smaller one does not, nor does the end.
	seen.digests = nil
	_, err = r.Canary().Set(t.Context(), config.Canary{Version: pub.Number, Share: 0.6}, me)
	wantClosed(t, err)
	if _, err = r.Canary().Set(t.Context(), config.Canary{Version: pub.Number, Share: 0.1}, me); err != nil {
		t.Error(err)
	}
	_, err = r.Canary().Promote(t.Context(), me)
	wantClosed(t, err)
	if _, err := r.Canary().Drop(t.Context(), me); err != nil {
		t.Error(err)
	}
	_, err = r.Canary().Set(t.Context(), config.Canary{Version: pub.Number, Share: 0.1}, me)
	wantClosed(t, err)
}

func TestGate_OverrideAndEvidenceAreAuditedWithTheChange(t *testing.T) {
	r, seen := gated(t)
	bold := me
	bold.Override = "it burns"
	if _, err := r.Put(t.Context(), key("agents/a"), doc(key("agents/a"), gatedAgent+`"two"`), false, config.Condition{}, bold); err != nil {
		t.Fatal(err)
	}
	r.draft("agents/a", gatedAgent+`"three"`)
	seen.digests = []string{r.digest()}
	if _, err := r.Drafts().Publish(t.Context(), nil, nil, "", bold); err != nil {
		t.Fatal(err)
	}
	for action, want := range map[string]string{"gate_overridden": "it burns", "gate_passed": ""} {
		events, err := r.Audit().List(t.Context(), config.AuditQuery{Action: action})
		if err != nil || len(events) != 1 {
			t.Fatalf("%s: %d events, %v", action, len(events), err)
		}
		var said struct {
			Override string `json:"override"`
			Passed   bool   `json:"passed"`
		}
		if err := json.Unmarshal(events[0].After, &said); err != nil || said.Override != want || said.Passed != (want == "") || events[0].Resource != "agents/a" || events[0].Version == 0 {
			t.Errorf("%s: %+v, %v", action, events[0], err)
		}
	}
}

func TestGate_WithoutOneIsClosed(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	r.put("agents/a", gatedAgent+`"one"`)
	_, err := r.Put(t.Context(), key("agents/a"), doc(key("agents/a"), gatedAgent+`"two"`), false, config.Condition{}, me)
	if err == nil || !strings.Contains(err.Error(), "this program has no evaluations") {
		t.Error(err)
	}
	if _, err := r.Versions().Rollback(t.Context(), 3, me); err != nil {
		t.Errorf("the way back is closed: %v", err)
	}
}

func TestGate_StopsTheRuleOfACanaryAndIsReported(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		r, seen := gated(t)
		r.draft("agents/a", gatedAgent+`"two"`)
		seen.digests = []string{r.digest()}
		pub, err := r.Drafts().Publish(t.Context(), nil, &config.Canary{Share: 1, Rule: &config.CanaryRule{PromoteAfterRuns: 1}}, "", me)
		if err != nil {
			t.Fatal(err)
		}
		seen.digests = nil // it has become too old
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go r.Work(ctx)
		now := time.Now().UnixMilli()
		r.Canary().Observe(&awaken.Run{Status: awaken.RunDone, ResolutionID: pub.ResolutionID(), CreatedAt: now, StartedAt: now, FinishedAt: now})
		time.Sleep(time.Minute)
		synctest.Wait()
		if r.live() == pub.Number {
			t.Error("the rule promoted the canary")
		}
		if !slices.ContainsFunc(r.Diagnostics(), func(d awaken.Diagnostic) bool { return strings.Contains(d.Message, "the evaluation gate is closed") }) {
			t.Errorf("%+v", r.Diagnostics())
		}
	})
}
