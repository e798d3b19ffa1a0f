package config_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/store/memory"
)

// A preview says what a deletion would affect, in every namespace: documents, and unfinished runs in their own version.
func TestRemoval(t *testing.T) {
	db := memory.NewDB()
	r := newRig(t, db.Config(), nil)
	r.basics() // providers/p, models/m, agents/a
	r.put("models/m2", `"provider_id":"p","upstream_model":"u"`)
	r.put("model-pools/pool", `"members":[{"model_id":"m"},{"model_id":"m2"}]`)
	r.put("agents/pooled", `"model_id":"pool","allowed_tools":[]`)
	r.put("agents/boss", `"model_id":"m","delegates":["pooled"],"allowed_tool_patterns":["mcp__docs__*"]`)
	version := func() string {
		head, err := r.Versions().Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(head.Live)
	}
	old := version()
	run := func(tenant, agent, version string) {
		t.Helper()
		s := db.Store(tenant)
		thread := tenant + agent + version
		cp, err := s.Acquire(t.Context(), thread)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Commit(t.Context(), &awaken.Commit{ThreadID: thread, Fence: cp.Fence, Generation: cp.Generation, Number: 1, Time: 1,
			Run: awaken.Run{RunID: "run-" + thread, ThreadID: thread, AgentID: agent, ResolutionID: version, Status: awaken.RunRunning, CreatedAt: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	run("", "pooled", old)
	run("acme", "pooled", old)
	run("acme", "boss", old)
	r.put("agents/pooled", `"model_id":"m","allowed_tools":[]`) // from now on without the pool
	run("", "pooled", version())

	for name, c := range map[string]struct {
		allowed bool
		used    string
		all     string
		runs    int
	}{
		"agents/boss":      {true, "[]", "[]", 1},
		"agents/pooled":    {false, "[agents/boss]", "[agents/boss]", 4},
		"model-pools/pool": {true, "[]", "[]", 3}, // runs of the old version still have it
		"models/m2":        {false, "[model-pools/pool]", "[model-pools/pool]", 3},
		"providers/p":      {false, "[models/m models/m2]", "[agents/a agents/boss agents/pooled model-pools/pool models/m models/m2]", 4},
		"tools/look":       {false, "[]", "[agents/a]", 0},
	} {
		v, err := r.Removal(t.Context(), key(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := fmt.Sprintln(v.Allowed, v.UsedBy, v.Affected, v.OpenRuns)
		if diff := cmp.Diff(fmt.Sprintln(c.allowed, c.used, c.all, c.runs), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		sum := 0
		for _, p := range v.Runs {
			sum += p.Runs
		}
		if sum != v.OpenRuns {
			t.Errorf("%s: runs are %v, and %d in all", name, v.Runs, v.OpenRuns)
		}
	}
	_, err := r.Removal(t.Context(), key("agents/none"))
	wantErr(t, err, awaken.ErrNotFound)
	_, err = r.Removal(t.Context(), config.Key{Namespace: "others", ID: "x"})
	wantErr(t, err, awaken.ErrNotFound)
}
