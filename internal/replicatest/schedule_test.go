package replicatest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/testenv"
)

// Schedules of one time each, on three replicas of which one after the other is killed: each has one entry in its log, and the run that the entry names;
// and there is no other run.
func TestPrograms_SchedulesFireOnceWhileReplicasAreKilled(t *testing.T) {
	schedules, lasts := testenv.Times(60, 1000), time.Duration(testenv.Times(4, 60))*time.Second
	p := startPrograms(t)
	first := time.Now().Add(time.Duration(testenv.Times(2, 20)) * time.Second) // when they have been created
	for i := range schedules {
		at := first.Add(lasts * time.Duration(i) / time.Duration(schedules)).UTC().Format(time.RFC3339Nano)
		p.want(201, "", "POST", "/v1/schedules", adminToken, fmt.Sprintf(`{"id":"s-%d","at":%q,"run":{"agent_id":"scenario","thread_id":"of-%d","messages":[{"role":"user","content":"scenario:text"}]}}`, i, at, i))
	}
	began, kills := time.Now(), 0
	for time.Until(first.Add(lasts)) > 0 {
		time.Sleep(lasts / 6)
		p.kill(kills % 3)
		kills++
	}
	for late := time.Now().Add(5 * patience); p.unfinished() > 0; time.Sleep(500 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d schedules have not ended", p.unfinished())
		}
	}
	for i := range schedules {
		var log, runs struct {
			Items []struct {
				Outcome string `json:"outcome"`
				RunID   string `json:"run_id"`
			} `json:"items"`
		}
		p.decode(p.want(200, "", "GET", fmt.Sprintf("/v1/schedules/s-%d/firings", i), adminToken, ""), &log)
		p.decode(p.want(200, "", "GET", fmt.Sprintf("/v1/threads/of-%d/runs", i), adminToken, ""), &runs)
		if len(log.Items) != 1 || log.Items[0].Outcome != "started" || len(runs.Items) != 1 || runs.Items[0].RunID != log.Items[0].RunID {
			t.Errorf("schedule %d has the log %+v and the runs %+v, want one start and its run", i, log.Items, runs.Items)
		}
	}
	t.Logf("%d schedules fired once within %s, while replicas were killed %d times", schedules, time.Since(began).Round(time.Second), kills)
	p.replay()
}

// unfinished returns how many schedules have not ended.
func (p *programs) unfinished() (n int) {
	p.Helper()
	for cursor := ""; ; {
		var page struct {
			Items []struct {
				Status string `json:"status"`
			} `json:"items"`
			NextCursor string `json:"next_cursor"`
		}
		p.decode(p.want(200, "", "GET", "/v1/schedules?limit=200&cursor="+cursor, adminToken, ""), &page)
		for _, s := range page.Items {
			if s.Status != "ended" {
				n++
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			return n
		}
	}
}

// decode decodes a reply.
func (p *programs) decode(text string, into any) {
	p.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		p.Fatalf("%v: %s", err, text)
	}
}
