package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/schedule"
	"github.com/awaken-go/awaken/server/servertest"
)

// schedule makes a schedule and returns its id.
func (g *rig) schedule(fields string, headers ...string) string {
	g.t.Helper()
	return g.want(201, "POST", "/v1/schedules", `{`+fields+`,"run":{"agent_id":"default","messages":[{"role":"user","content":"It is {{scheduled_time}}."}]}}`, headers...)["id"].(string)
}

func TestSchedules_AreDocuments(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	const run = `"run":{"agent_id":"default","messages":[{"role":"user","content":"hello"}]}`
	made := g.want(201, "POST", "/v1/schedules", `{"id":"report","cron":"0 9 * * mon-fri","time_zone":"Europe/Berlin",`+run+`}`, admin...)
	if made["status"] != "active" || made["revision"] != 1.0 || len(made["upcoming"].([]any)) != 5 || made["overlap"] != "skip" || made["missed"] != "latest" || made["grace_secs"] != 300.0 {
		t.Errorf("%v", made)
	}
	g.says(409, "already exists", "POST", "/v1/schedules", `{"id":"report","cron":"@daily",`+run+`}`, admin...)
	for body, want := range map[string]string{
		`{` + run + `}`: "cron and at: want exactly one of them",
		`{"cron":"@daily","at":"2030-01-01T00:00:00Z",` + run + `}`:                          "cron and at: want exactly one of them",
		`{"cron":"61 * * * *",` + run + `}`:                                                  `cron: minute: \"61\" is not a number from 0 to 59`,
		`{"cron":"@daily","time_zone":"Mars/Olympus",` + run + `}`:                           `time_zone is \"Mars/Olympus\"; want the name of a zone`,
		`{"cron":"@daily","time_zone":"Local",` + run + `}`:                                  `time_zone is \"Local\"`,
		`{"at":"2001-01-01T00:00:00Z",` + run + `}`:                                          "at is 2001-01-01T00:00:00Z, which is over",
		`{"cron":"@daily","overlap":"never",` + run + `}`:                                    `overlap is \"never\"; want skip, wait, allow or cancel`,
		`{"cron":"@daily","missed":"x",` + run + `}`:                                         `missed is \"x\"; want latest, skip or all`,
		`{"cron":"@daily","jitter_secs":-1,` + run + `}`:                                     "jitter_secs is -1; want 0 to 86400",
		`{"cron":"@daily","jitter_secs":86400,"ends_at":"2001-01-01T00:00:00Z",` + run + `}`: "ends_at is 2001-01-01T00:00:00Z, before the first time of cron",
		`{"cron":"*/5 9 * * *","jitter_secs":301,` + run + `}`:                               "jitter_secs is 301, but cron has times that are 300 seconds apart",
		`{"cron":"@daily"}`: "run is missing",
		`{"cron":"@daily","run":{"agent_id":"none","messages":[{"role":"user","content":"x"}]}}`:                                      "agent not found: none",
		`{"cron":"@daily","run":{"agent_id":"default"}}`:                                                                              "at least one message is required",
		`{"cron":"@daily","run":{"agent_id":"default","prompt":"x"}}`:                                                                 "prompt",
		`{"cron":"@daily","run":{"agent_id":"default","messages":[{"role":"user","content":"x"}],"priority":"urgent"}}`:               "want background or interactive",
		`{"cron":"@daily","run":{"agent_id":"default","messages":[{"role":"user","content":"` + strings.Repeat("x", 66_000) + `"}]}}`: "want at most 65536",
	} {
		g.says(400, want, "POST", "/v1/schedules", body, admin...)
	}
	g.says(422, `field \"at\" is \"tomorrow\", want a time such as \"2026-01-02T15:04:05Z\"`, "POST", "/v1/schedules", `{"id":"once","at":"tomorrow",`+run+`}`, admin...)
	g.says(422, `field \"from\" is 12, want a time such as`, "POST", "/v1/schedules/preview", `{"cron":"* * * * *","from":12}`, admin...)
	g.says(409, "its revision is 1, not 7", "PUT", "/v1/schedules/report", `{"expected_revision":7,"cron":"@weekly",`+run+`}`, admin...)
	g.want(200, "POST", "/v1/schedules/report/run", "", admin...) // a start is no change
	g.want(200, "PUT", "/v1/schedules/report", `{"expected_revision":1,"cron":"@weekly",`+run+`}`, admin...)
	if paused := g.want(200, "POST", "/v1/schedules/report/pause", "", admin...); paused["status"] != "paused" || len(paused["upcoming"].([]any)) != 0 {
		t.Errorf("%v", paused)
	}
	if resumed := g.want(200, "POST", "/v1/schedules/report/resume", "", admin...); resumed["status"] != "active" || resumed["next_at"] == nil {
		t.Errorf("%v", resumed)
	}
	g.want(204, "DELETE", "/v1/schedules/report", "", admin...)
	g.want(404, "GET", "/v1/schedules/report", "", admin...)
	g.want(404, "DELETE", "/v1/schedules/report", "", admin...)
	var actions []string
	for _, e := range g.want(200, "GET", "/v1/audit-log?resource=schedules/report", "", admin...)["items"].([]any) {
		actions = append(actions, e.(map[string]any)["action"].(string))
	}
	if diff := cmp.Diff([]string{"delete", "resume", "pause", "update", "run", "create"}, actions); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

func TestSchedules_ShowTheirTimes(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	got := g.want(200, "POST", "/v1/schedules/preview", `{"cron":"30 2 * * *","time_zone":"Europe/Berlin","from":"2027-03-26T12:00:00Z","ends_at":"2027-03-30T00:00:00Z"}`, admin...)["upcoming"]
	if diff := cmp.Diff([]any{"2027-03-27T02:30:00+01:00", "2027-03-28T03:00:00+02:00", "2027-03-29T02:30:00+02:00"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// No time is later than RFC 3339 can write.
	got = g.want(200, "POST", "/v1/schedules/preview", `{"cron":"@yearly","from":"9997-06-01T00:00:00Z","time_zone":"Pacific/Kiritimati"}`, admin...)["upcoming"]
	if diff := cmp.Diff([]any{"9998-01-01T00:00:00+14:00", "9999-01-01T00:00:00+14:00"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, from := range []string{"9999-12-31T23:59:59-12:00", "0000-01-01T00:00:00Z", "1969-12-31T23:59:59Z"} {
		g.says(400, "from is "+from+"; want a time from 1970 to 9999", "POST", "/v1/schedules/preview", `{"cron":"* * * * *","from":"`+from+`"}`, admin...)
	}
	for i := range 3 {
		g.want(201, "POST", "/v1/schedules", fmt.Sprintf(`{"id":"s%d","cron":"@daily","run":{"agent_id":"default","messages":[{"role":"user","content":"x"}]}}`, i), admin...)
	}
	page := g.want(200, "GET", "/v1/schedules?limit=2", "", admin...)
	rest := g.want(200, "GET", "/v1/schedules?limit=2&cursor="+page["next_cursor"].(string), "", admin...)
	if len(page["items"].([]any)) != 2 || len(rest["items"].([]any)) != 1 || rest["next_cursor"] != nil {
		t.Errorf("%v, %v", page, rest)
	}
	g.want(400, "GET", "/v1/schedules?cursor=x", "", admin...)
}

func TestSchedules_RunNow(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	id := g.schedule(`"cron":"@daily","paused":true`, admin...)
	f := g.want(200, "POST", "/v1/schedules/"+id+"/run", "", admin...)
	if f["outcome"] != "started" || f["manual"] != true {
		t.Fatalf("%v", f)
	}
	run := f["run_id"].(string)
	g.eventually("done", func() bool {
		_, text := g.ask("GET", "/v1/runs/"+run, "", admin...)
		return strings.Contains(text, `"done"`)
	})
	_, text := g.ask("GET", "/v1/threads/"+f["thread_id"].(string)+"/messages", "", admin...)
	if at := f["at"].(string); !strings.Contains(text, "It is "+at[:16]) {
		t.Errorf("the model was not told the time %s: %s", at, text)
	}
	if log := g.want(200, "GET", "/v1/schedules/"+id+"/firings", "", admin...)["items"].([]any); len(log) != 1 || log[0].(map[string]any)["run_id"] != run {
		t.Errorf("%v", log)
	}
	s := g.want(200, "GET", "/v1/schedules/"+id, "", admin...)
	if s["last_run_id"] != run || s["last_outcome"] != "started" || s["last_at"] == nil || s["counts"].(map[string]any)["started"] != 1.0 {
		t.Errorf("%v", s)
	}
}

// TestSchedules_StartRuns has a server that works, as Serve does, and a schedule whose agent is removed.
func TestSchedules_StartRuns(t *testing.T) {
	t.Parallel()
	store := new(schedule.Memory)
	g := newRig(t, func(c *servertest.Config) { c.Automation.Schedules = store })
	agent := g.agent("")
	at := time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano)
	g.want(201, "POST", "/v1/schedules", fmt.Sprintf(`{"id":"once","at":%q,"run":{"agent_id":"default","thread_id":"of-schedules","messages":[{"role":"user","content":"hello"}]}}`, at), admin...)
	g.want(201, "POST", "/v1/schedules", fmt.Sprintf(`{"id":"gone","at":%q,"run":{"agent_id":%q,"messages":[{"role":"user","content":"hello"}]}}`, at, agent), admin...)
	g.want(204, "DELETE", "/v1/config/agents/"+agent, "", admin...)
	w := g.srv.Automation.Scheduler()
	go w.Work(t.Context())
	g.eventually("both have ended", func() bool {
		a, b := g.want(200, "GET", "/v1/schedules/once", "", admin...), g.want(200, "GET", "/v1/schedules/gone", "", admin...)
		return a["status"] == "ended" && b["status"] == "ended"
	})
	once := g.want(200, "GET", "/v1/schedules/once/firings", "", admin...)["items"].([]any)[0].(map[string]any)
	gone := g.want(200, "GET", "/v1/schedules/gone/firings", "", admin...)["items"].([]any)[0].(map[string]any)
	if once["outcome"] != "started" || once["thread_id"] != "of-schedules" {
		t.Errorf("%v", once)
	}
	if gone["outcome"] != "refused" || !strings.Contains(gone["reason"].(string), fmt.Sprintf("agent %q not found", agent)) {
		t.Errorf("%v", gone)
	}
	run, err := g.box.Tenant("").Store.LoadRun(t.Context(), once["run_id"].(string))
	if err != nil || run.ThreadID != "of-schedules" {
		t.Errorf("%+v, %v", run, err)
	}
	g.eventually("the run ends", func() bool {
		run, err := g.box.Tenant("").Store.LoadRun(t.Context(), once["run_id"].(string))
		return err == nil && run.Status == awaken.RunDone
	})
}
