package runs

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/mailbox"
)

const now = 1_000_000

// in returns a run with a status.
func in(status awaken.RunStatus, change ...func(r *awaken.Run)) *awaken.Run {
	r := &awaken.Run{RunID: "r", ThreadID: "t", Status: status, Steps: 2, CreatedAt: 900_000, UpdatedAt: 950_000}
	for _, c := range change {
		c(r)
	}
	return r
}

func ends(t awaken.Termination) func(r *awaken.Run) {
	return func(r *awaken.Run) { r.Termination, r.FinishedAt = t, 960_000 }
}

func parked(w awaken.Waiting) func(r *awaken.Run) {
	return func(r *awaken.Run) { r.Waiting = &w }
}

// queuedAs returns the only dispatch of the run, and of its thread.
func queuedAs(s mailbox.Status, change ...func(d *mailbox.Dispatch)) []*mailbox.Dispatch {
	d := &mailbox.Dispatch{ID: "d", RunID: "r", ThreadID: "t", Status: s, MaxAttempts: 5, CreatedAt: now - 500, UpdatedAt: now - 400, CompletedAt: now - 100,
		ClaimedBy: "w-1", LeaseUntil: now + 1000}
	for _, c := range change {
		c(d)
	}
	return []*mailbox.Dispatch{d}
}

func TestSituation_HasASentenceForEveryState(t *testing.T) {
	other := &mailbox.Dispatch{ID: "o", RunID: "first", ThreadID: "t", Status: mailbox.Queued, CreatedAt: now - 900}
	tickets := []awaken.WaitingTicket{{TicketID: "q", ToolName: "rm", Reason: "Delete it?", UpdatedAt: now - 50, ExpiresAt: now + 50}}
	cases := []struct {
		code  string
		s     situation
		since int64
		has   string // of the detail
		moves string
	}{
		{causeQueued, situation{run: in(awaken.RunCreated), own: queuedAs(mailbox.Queued)}, now - 500, "free worker", "cancel"},
		{causeDelayed, situation{run: in(awaken.RunCreated), own: queuedAs(mailbox.Queued, func(d *mailbox.Dispatch) { d.AvailableAt = now + 60_000 })}, now - 500, "1970-01-01 00:17:40 UTC", "cancel"},
		{causeRetry, situation{run: in(awaken.RunRunning), own: queuedAs(mailbox.Queued, func(d *mailbox.Dispatch) { d.AvailableAt, d.Attempts, d.LastError = now+9, 2, "boom" })}, now - 400, "Attempt 2 of 5 failed.", "cancel"},
		{causeRetry, situation{internals: true, run: in(awaken.RunRunning), own: queuedAs(mailbox.Queued, func(d *mailbox.Dispatch) { d.AvailableAt, d.Attempts, d.LastError = now+9, 2, "boom" })}, now - 400, "failed: boom.", "cancel"},
		{causeBehind, situation{run: in(awaken.RunCreated), own: queuedAs(mailbox.Queued), thread: []*mailbox.Dispatch{other}}, now - 500, "run first", "cancel"},
		{causeBehind, situation{run: in(awaken.RunCreated), own: queuedAs(mailbox.Queued), open: "first"}, now - 500, "run first", "cancel"},
		{causeLost, situation{run: in(awaken.RunRunning), open: "r", own: queuedAs(mailbox.Queued, func(d *mailbox.Dispatch) { d.LostAt = now - 7 })}, now - 7, "process was lost", "cancel"},
		{causeSuspect, situation{run: in(awaken.RunRunning), own: queuedAs(mailbox.Queued, func(d *mailbox.Dispatch) { d.LostAt, d.Crashes = now-7, 3 })}, now - 7, "3 processes have died", "cancel"},
		{causeUnqueued, situation{run: in(awaken.RunCreated)}, 900_000, "no queue has it", ""},
		{causeTool, situation{run: in(awaken.RunRunning), own: queuedAs(mailbox.Claimed), calls: []*awaken.CallState{{ToolName: "rm", Status: awaken.CallRunning, StartedAt: now - 3}, {ToolName: "ls", Status: awaken.CallSucceeded}}}, now - 3, "A worker runs its call of rm.", "cancel"},
		{causeStep, situation{internals: true, run: in(awaken.RunRunning), own: queuedAs(mailbox.Claimed)}, now - 400, "Worker w-1 executes it: step 3", "cancel"},
		{causeCancelling, situation{run: in(awaken.RunRunning), own: queuedAs(mailbox.Claimed, func(d *mailbox.Dispatch) { d.Cancel = true })}, now - 400, "is cancelling it", ""},
		{causeSilent, situation{run: in(awaken.RunRunning), own: queuedAs(mailbox.Claimed, func(d *mailbox.Dispatch) { d.LeaseUntil = now - 1 })}, now - 1, "not renewed its lease", "cancel"},
		{causeUnowned, situation{run: in(awaken.RunRunning)}, 950_000, "not in this server's queue", ""},
		{causeDecision, situation{run: in(awaken.RunWaiting, parked(awaken.Waiting{Reason: awaken.WaitToolPermission, Tickets: tickets}))}, now - 50, "The call of rm asks for a decision: Delete it?", "decide cancel"},
		{causeInput, situation{run: in(awaken.RunWaiting, parked(awaken.Waiting{Reason: awaken.WaitUserInput, Tickets: tickets}))}, now - 50, "waits for an answer", "decide cancel"},
		{causeInput, situation{run: in(awaken.RunWaiting, parked(awaken.Waiting{Reason: awaken.WaitUserInput}))}, 950_000, "waits for a message", "message cancel"},
		{causeDecided, situation{run: in(awaken.RunWaiting, parked(awaken.Waiting{Reason: awaken.WaitToolPermission, Tickets: tickets})), own: queuedAs(mailbox.Queued), decided: map[[2]string]bool{{"r", "q"}: true}}, 950_000, "All decisions are made", "cancel"},
		{causeQueued, situation{run: in(awaken.RunWaiting, parked(awaken.Waiting{Reason: awaken.WaitBackgroundTasks})), own: queuedAs(mailbox.Queued)}, now - 500, "free worker", "cancel"},
		{causeChild, situation{run: in(awaken.RunWaiting, parked(awaken.Waiting{Reason: awaken.WaitBackgroundTasks})), calls: []*awaken.CallState{{ToolName: "agent_run_x", Status: awaken.CallSuspended, UpdatedAt: 5, Ticket: &awaken.Ticket{Child: "kid"}}}}, 5, "waits for run kid", "cancel"},
		{causeChild, situation{run: in(awaken.RunWaiting, parked(awaken.Waiting{Reason: awaken.WaitBackgroundTasks}))}, 950_000, "runs that it has started", "message cancel"},
		{causeBudget, situation{run: in(awaken.RunWaiting, parked(awaken.Waiting{Reason: awaken.WaitBudget, Budget: &money.Exhausted{LimitUSD: 2, SpentUSD: 1.5, NeededUSD: 1}}))}, 950_000, "1.5000 of 2.0000 USD are spent", "continue cancel"},
		{causePin, situation{run: in(awaken.RunWaiting, parked(awaken.Waiting{Reason: awaken.WaitPin}), func(r *awaken.Run) { r.ResolutionID = "v9" }), own: queuedAs(mailbox.Queued, func(d *mailbox.Dispatch) { d.AvailableAt = now + 5 })}, 950_000, "version v9", "continue cancel"},
		{causeRestored, situation{internals: true, run: in(awaken.RunWaiting, parked(awaken.Waiting{Reason: awaken.WaitRestored, Tickets: tickets}))}, 950_000, "The database was restored", "release cancel"},
		{causeRestored, situation{run: in(awaken.RunCreated), own: queuedAs(mailbox.Queued, func(d *mailbox.Dispatch) { d.Request, d.AvailableAt = new(awaken.RunRequest), now+200*365*24*3600*1000 })}, now - 400, "The database was restored", "cancel"},
		{causeDone + "natural_end", situation{run: in(awaken.RunDone, ends(awaken.Termination{Type: awaken.NaturalEnd}))}, 960_000, "finished", ""},
		{causeDone + "behavior_requested", situation{run: in(awaken.RunDone, ends(awaken.Termination{Type: awaken.BehaviorRequested}))}, 960_000, "A plugin or a tool", ""},
		{causeDone + "stopped", situation{run: in(awaken.RunDone, ends(awaken.Termination{Type: awaken.Stopped, Code: "max_rounds", Detail: "16 rounds"}))}, 960_000, "max_rounds was met: 16 rounds", ""},
		{causeDone + "cancelled", situation{run: in(awaken.RunDone, ends(awaken.Termination{Type: awaken.Cancelled}))}, 960_000, "cancelled", ""},
		{causeDone + "blocked", situation{run: in(awaken.RunDone, ends(awaken.Termination{Type: awaken.Blocked, Message: "no"}))}, 960_000, "blocked it: no", ""},
		{causeDone + "error", situation{run: in(awaken.RunDone, ends(awaken.Termination{Type: awaken.Failed, Message: "no model"}))}, 960_000, "It failed: no model", ""},
		{causeDeadLetter, situation{internals: true, run: in(awaken.RunDone, ends(awaken.Termination{Type: awaken.Failed})), own: queuedAs(mailbox.DeadLetter, func(d *mailbox.Dispatch) { d.Attempts, d.LastError = 5, "boom" })}, now - 100, "after 5 failed attempts: boom.", "retry"},
		{causeDeadLetter, situation{run: in(awaken.RunCreated), own: queuedAs(mailbox.DeadLetter)}, now - 100, "gave it up", ""},
		{causeDropped, situation{run: in(awaken.RunCreated), own: queuedAs(mailbox.Superseded)}, now - 100, "superseded before it began", ""},
	}
	seen := map[string]bool{}
	for _, c := range cases {
		c.s.now = now
		got := c.s.because()
		if len(got) != 1 || got[0].Code != c.code {
			t.Errorf("%s: got %+v", c.code, got)
			continue
		}
		seen[c.code] = true
		var moves []string
		for _, m := range got[0].Actions {
			moves = append(moves, m.Name)
		}
		if got[0].Since != c.since || !strings.Contains(got[0].Detail, c.has) || strings.Join(moves, " ") != c.moves || got[0].Actions == nil {
			t.Errorf("%s: got %+v, want since %d, a sentence with %q, and the actions %q", c.code, got[0], c.since, c.has, c.moves)
		}
	}
	for _, code := range causeCodes {
		if !seen[code] {
			t.Errorf("no situation has the code %s", code)
		}
	}
}

func TestSituation_CodesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `((?:queued|running|waiting|done)\\.[a-z_]+)` \\|").FindAllStringSubmatch(string(doc), -1) {
		listed = append(listed, m[1])
	}
	want := slices.Clone(causeCodes)
	slices.Sort(want)
	slices.Sort(listed)
	if !slices.Equal(listed, want) {
		t.Errorf("docs/http.md lists the codes %q, want %q", listed, want)
	}
}

// A run that waits for a question of a run below it points there.
func TestSituation_NamesTheRunThatAsks(t *testing.T) {
	s := situation{now: now, run: in(awaken.RunWaiting, parked(awaken.Waiting{Reason: awaken.WaitToolPermission, Tickets: []awaken.WaitingTicket{{TicketID: "q", ToolName: "rm", RunID: "kid"}}}))}
	got := s.because()
	if ids := s.asking(); len(ids) != 1 || ids[0] != "kid" {
		t.Errorf("decisions are looked for of the runs %q", ids)
	}
	if len(got) != 1 || got[0].RunID != "kid" || got[0].Actions[0].Path != "/v1/approvals/kid/q" || !strings.Contains(got[0].Detail, "in run kid") {
		t.Errorf("got %+v", got)
	}
}

// Clients and models choose ids, which may have any characters. The paths of actions name them nevertheless.
func TestSituation_PathsAreEscaped(t *testing.T) {
	mux, got := http.NewServeMux(), ""
	mux.HandleFunc("POST /v1/approvals/{run_id}/{ticket_id}", func(_ http.ResponseWriter, r *http.Request) {
		got = r.PathValue("run_id") + " " + r.PathValue("ticket_id")
	})
	mux.HandleFunc("POST /v1/runs/{run_id}/{route}", func(_ http.ResponseWriter, r *http.Request) {
		got = r.PathValue("run_id") + " " + r.PathValue("route")
	})
	run := func(w awaken.Waiting) *awaken.Run {
		return in(awaken.RunWaiting, parked(w), func(r *awaken.Run) { r.RunID = "a/b?c" })
	}
	for _, tt := range []struct {
		run  *awaken.Run
		want string
	}{
		{run(awaken.Waiting{Reason: awaken.WaitToolPermission, Tickets: []awaken.WaitingTicket{{TicketID: "call/1%", ToolName: "rm"}}}), "a/b?c call/1%,a/b?c cancel"},
		{run(awaken.Waiting{Reason: awaken.WaitBudget}), "a/b?c continue,a/b?c cancel"},
		{run(awaken.Waiting{Reason: awaken.WaitUserInput}), "a/b?c inputs,a/b?c cancel"},
	} {
		var all []string
		for _, m := range (&situation{now: now, run: tt.run}).because()[0].Actions {
			got = ""
			mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), m.Method, m.Path, nil))
			all = append(all, got)
		}
		if strings.Join(all, ",") != tt.want {
			t.Errorf("the actions reach %q, want %q", all, tt.want)
		}
	}
}

// manyWakes has the dispatches of a run that was woken often, in order.
type manyWakes []*mailbox.Dispatch

func (m manyWakes) Dispatches(_ context.Context, q mailbox.Query) (out []*mailbox.Dispatch, err error) {
	for _, d := range m {
		if len(out) < q.Limit && (len(q.Statuses) == 0 || slices.Contains(q.Statuses, d.Status)) {
			out = append(out, d)
		}
	}
	return out, nil
}

// However often a run was woken, its explanation knows the dispatch that counts.
func TestSituation_OfARunThatWasWokenOften(t *testing.T) {
	before := slices.Repeat(queuedAs(mailbox.Acked), 1000)
	for _, tt := range []struct {
		run  *awaken.Run
		last []*mailbox.Dispatch
		want string
	}{
		{in(awaken.RunRunning), queuedAs(mailbox.Claimed), causeStep},
		{in(awaken.RunRunning), queuedAs(mailbox.Queued), causeQueued},
		{in(awaken.RunCreated), queuedAs(mailbox.Queued), causeQueued},
		{in(awaken.RunDone, ends(awaken.Termination{Type: awaken.Failed})), queuedAs(mailbox.DeadLetter), causeDeadLetter},
		{in(awaken.RunDone, ends(awaken.Termination{Type: awaken.NaturalEnd})), queuedAs(mailbox.Acked), causeDone + "natural_end"},
		{in(awaken.RunRunning), queuedAs(mailbox.Acked), causeUnowned},
	} {
		own, err := telling(t.Context(), manyWakes(slices.Concat(before, tt.last)), tt.run)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&situation{now: now, run: tt.run, own: own}).because(); got[0].Code != tt.want {
			t.Errorf("the last dispatch is %s: %+v, want %s", tt.last[0].Status, got, tt.want)
		}
	}
	own, err := telling(t.Context(), manyWakes(queuedAs(mailbox.Superseded)), in(awaken.RunCreated))
	if err != nil || len(own) != 1 {
		t.Errorf("a run that never began has the dispatches %v, %v", own, err)
	}
}
