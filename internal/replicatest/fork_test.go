package replicatest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/testenv"
)

// forkWindows are points on the way of a fork that begins where it was accepted.
var forkWindows = []string{"submit.before", "submit.accepted", "claim.begun", "run.acquired", "run.opened", "commit.before", "commit.after", "run.started", "finish.before", "claim.settling", "claim.over"}

// A replica dies while it forks a run with another result. What it leaves is a thread that shares the log of the run, and either no run or one that
// another replica ends, which begins with the other result.
func TestPrograms_AForkSurvivesThatItsReplicaIsKilled(t *testing.T) {
	p := startPrograms(t)
	run := p.field(p.say("", "scenario", "forked", "scenario:tool"), "run_id")
	var timeline struct {
		Calls []struct {
			ID string `json:"call_id"`
		} `json:"calls"`
	}
	if err := json.Unmarshal([]byte(p.want(200, "calls", "GET", "/v1/runs/"+run+"/timeline", adminToken, "")), &timeline); err != nil {
		t.Fatal(err)
	}
	begun, alone := 0, 0
	for _, point := range forkWindows[:testenv.Times(2, len(forkWindows))] {
		dying := p.start("AWAKEN_FAILPOINT=" + point + ":1")
		known := p.forks()
		dying.Key = adminToken
		change := fmt.Sprintf(`{"from_step":1,"results":{%q:"changed at %s"}}`, timeline.Calls[0].ID, point)
		if resp, err := dying.Open(t.Context(), "POST", "/v1/runs/"+run+"/fork", change); err == nil { // it may die after it has answered
			resp.Body.Close()
		}
		dying.Dies(10 * time.Second) // or another replica has begun the run
		for thread := range p.forks() {
			if known[thread] {
				continue
			}
			if text := p.want(200, "items", "GET", "/v1/threads/"+thread+"/runs", adminToken, ""); !strings.Contains(text, `"run_id"`) {
				if alone++; point != "submit.before" {
					t.Errorf("killed at %s: thread %s has no run", point, thread)
				}
				continue
			}
			begun++
			p.eventually("over: the fork "+thread, func() bool {
				text := p.want(200, "items", "GET", "/v1/threads/"+thread+"/runs", adminToken, "")
				return strings.Contains(text, `"status":"done"`)
			})
			if text := p.want(200, "", "GET", "/v1/threads/"+thread+"/messages?visibility=all", adminToken, ""); strings.Count(text, `"changed at `+point+`"`) != 1 || strings.Count(text, "answered: changed at "+point) != 1 {
				t.Errorf("killed at %s: the fork is %s", point, text)
			}
		}
	}
	t.Logf("%d forks were accepted and ended, %d are threads without a run", begun, alone)
	if begun == 0 || alone == 0 {
		t.Error("too little happened to show anything")
	}
	p.replay()
}

// forks returns the threads that are forks of the test's.
func (p *programs) forks() map[string]bool {
	p.Helper()
	var list struct {
		Items []string `json:"items"`
	}
	text := p.want(200, "items", "GET", "/v1/threads?limit=200&parent_thread_id=forked", adminToken, "")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		p.Fatalf("%v: %s", err, text)
	}
	out := map[string]bool{}
	for _, id := range list.Items {
		out[id] = true
	}
	return out
}
