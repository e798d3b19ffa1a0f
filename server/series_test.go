package server_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/trace/rollup"
)

// roll counts the runs that have ended.
func (g *rig) roll() {
	g.t.Helper()
	r := &rollup.Roller{Store: g.db.(interface{ Rollups() rollup.Store }).Rollups(), Runs: func(tenant string) rollup.Runs { return g.db.Handle(tenant) }}
	for {
		n, err := r.Round(g.t.Context())
		if err != nil {
			g.t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

// The figures of runs outlive the process that ran them, and add up to what their records say.
func TestSeries_AddsUpToTheRecordsAfterARestart(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.ManualMailbox = false })
	for range 3 {
		g.done(admin...)
	}
	g.stop()
	g.start()
	g.done(admin...)
	g.roll()
	live := g.want(200, "GET", "/v1/usage", "", admin...)
	kept := g.want(200, "GET", "/v1/usage?by=agent", "", admin...)
	if fmt.Sprint(live["runs"], live["usage"], live["cost_usd"]) != fmt.Sprint(kept["runs"], kept["usage"], kept["cost_usd"]) || kept["runs"] != 4.0 {
		t.Errorf("the figures that are kept are %v, the records have %v", kept, live)
	}
	sum := func(query string) (out float64, keys []string) {
		t.Helper()
		body := g.want(200, "GET", "/v1/stats/series?"+query, "", admin...)
		for _, s := range body["series"].([]any) {
			s := s.(map[string]any)
			keys = append(keys, s["key"].(string))
			values := s["values"].([]any)
			if len(values) != len(body["times"].([]any)) {
				t.Errorf("%s: %d values for %d times", query, len(values), len(body["times"].([]any)))
			}
			for _, v := range values {
				if v != nil {
					out += v.(float64)
				}
			}
		}
		return out, keys
	}
	for query, want := range map[string]float64{"metric=runs": 4, "by=agent": 4, "by=version&step=day": 4, "by=model": 4, "metric=errors": 0,
		"metric=tokens&by=user": live["usage"].(map[string]any)["total_tokens"].(float64)} {
		if got, keys := sum(query); got != want || len(keys) == 0 {
			t.Errorf("%s: %v is %v, want %v", query, keys, got, want)
		}
	}
	if _, keys := sum("metric=latency_p95_ms&by=agent"); fmt.Sprint(keys) != "[default]" {
		t.Errorf("agents with a latency are %v", keys)
	}
	old := time.Now().Add(-48 * time.Hour).UTC().Format(time.RFC3339)
	if got, _ := sum("until=" + old); got != 0 {
		t.Errorf("before the runs there are %v", got)
	}
	if u := g.want(200, "GET", "/v1/usage?until="+old, "", admin...); u["runs"] != 0.0 {
		t.Errorf("before the runs there is %v", u)
	}
	other := g.keyed(server.Key{ID: "other", Kind: server.ReadKey, Tenant: "b"})
	if body := g.want(200, "GET", "/v1/stats/series", "", other...); fmt.Sprint(body["series"]) != "[]" {
		t.Errorf("another tenant sees %v", body)
	}
	for _, bad := range []string{"since=yesterday", "since=2030-01-01T00:00:00Z", "step=hour&since=2020-01-01T00:00:00Z", "metrics=runs", "by=thread"} {
		g.want(400, "GET", "/v1/stats/series?"+bad, "", admin...)
	}
	g.want(400, "GET", "/v1/usage?by=model&agent_id=default", "", admin...)
	g.want(400, "GET", "/v1/usage?since="+old+"&thread_id=t", "", admin...)
}

// What is not shown is added up.
func TestSeries_TheRestIsAddedUp(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	at := time.Now().Unix()
	figures := map[rollup.Key]*rollup.Figures{}
	for i := range 5 {
		figures[rollup.Key{By: rollup.Agent, Value: fmt.Sprint("a", i), Span: rollup.Hour, At: at - at%3600}] = &rollup.Figures{Count: int64(i + 1)}
	}
	if ok, err := g.db.(interface{ Rollups() rollup.Store }).Rollups().Count(t.Context(), nil, figures); !ok || err != nil {
		t.Fatal(ok, err)
	}
	body := g.want(200, "GET", "/v1/stats/series?by=agent&limit=3", "", admin...)
	got := ""
	for _, s := range body["series"].([]any) {
		s := s.(map[string]any)
		got += fmt.Sprint(s["key"], s["other"], s["total"], " ")
	}
	if got != "a4<nil> 5 a3<nil> 4 true 6 " {
		t.Errorf("the series are %s", got)
	}
}
