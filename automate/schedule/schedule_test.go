package schedule_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
	_ "time/tzdata" // the tests need no files of the machine

	"github.com/awaken-go/awaken/automate/schedule"
	"github.com/awaken-go/awaken/internal/sectiontest"
)

// Every field of a schedule has its effect on when runs start.
func TestSpec_UsesEveryField(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	// decided returns what becomes of the times up to two and a half hours from now, if the first run has not ended.
	decided := func(doc string) string {
		s := &schedule.Schedule{Tenant: "t", ID: "x"}
		if err := json.Unmarshal([]byte(doc), &s.Spec); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if err := s.Arm(now); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		out := s.Spec.Description + string(s.Spec.Run)
		for _, at := range s.Upcoming(30) {
			out += " " + at.Add(s.Delay(at)).UTC().Format("02T15:04:05")
		}
		for _, later := range []time.Duration{61 * time.Minute, 150 * time.Minute} {
			log, err := s.Decide(now.Add(later), func(string) (bool, error) { return true, nil })
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range log {
				out += fmt.Sprintf(", %s %s", f.At.Format("15:04"), f.Outcome)
			}
			if p := s.State.Pending; p != nil {
				out += fmt.Sprintf(", starts %s waiting %t cancelling %t", p.At.Format("15:04"), p.Waiting != "", p.Cancel != "")
				s.Finish(now.Add(later), schedule.Started, "")
			}
		}
		return out
	}
	var docs []string
	for _, tt := range []struct{ base, doc string }{
		{`{"cron":"0 * * * *","run":{}}`, `{"cron":"30 * * * *","run":{}}`},
		{`{"cron":"0 * * * *","run":{}}`, `{"at":"2026-11-17T13:00:00Z","run":{}}`},
		{`{"cron":"0 9 * * *","run":{}}`, `{"cron":"0 9 * * *","time_zone":"Asia/Tokyo","run":{}}`},
		{`{"cron":"0 * * * *","run":{}}`, `{"cron":"0 * * * *","ends_at":"2026-11-17T14:00:00Z","run":{}}`},
		{`{"cron":"0 * * * *","run":{}}`, `{"cron":"0 * * * *","jitter_secs":3000,"run":{}}`},
		{`{"cron":"0 * * * *","run":{}}`, `{"cron":"0 * * * *","overlap":"wait","run":{}}`},
		{`{"cron":"0 * * * *","overlap":"wait","run":{}}`, `{"cron":"0 * * * *","overlap":"cancel","run":{}}`},
		{`{"cron":"0 * * * *","run":{}}`, `{"cron":"0 * * * *","overlap":"allow","run":{}}`},
		{`{"cron":"0 * * * *","run":{}}`, `{"cron":"0 * * * *","missed":"skip","run":{}}`},
		{`{"cron":"*/20 * * * *","run":{}}`, `{"cron":"*/20 * * * *","missed":"all","run":{}}`},
		{`{"cron":"0 * * * *","missed":"skip","run":{}}`, `{"cron":"0 * * * *","missed":"skip","grace_secs":7200,"run":{}}`},
		{`{"cron":"0 * * * *","run":{}}`, `{"cron":"0 * * * *","paused":true,"run":{}}`},
		{`{"cron":"0 * * * *","run":{}}`, `{"cron":"0 * * * *","description":"d","run":{}}`},
		{`{"cron":"0 * * * *","run":{}}`, `{"cron":"0 * * * *","run":{"agent_id":"a"}}`},
	} {
		docs = append(docs, tt.doc)
		if got, base := decided(tt.doc), decided(tt.base); got == base {
			t.Errorf("%s has the same effect as %s: %s", tt.doc, tt.base, got)
		}
	}
	sectiontest.Covers[schedule.Spec](t, docs...)
}
