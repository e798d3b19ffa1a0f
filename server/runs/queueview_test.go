package runs

import (
	"os"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/mailbox"
)

// Every state of a dispatch has a code with a sentence, since when it is so and, while it is live, what would move it;
// docs/http.md has them all.
func TestQueueView_HasASentenceForEveryState(t *testing.T) {
	doc, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	queued := func(change ...func(d *mailbox.Dispatch)) *mailbox.Dispatch {
		return queuedAs(mailbox.Queued, change...)[0]
	}
	claimed := func(change ...func(d *mailbox.Dispatch)) *mailbox.Dispatch {
		return queuedAs(mailbox.Claimed, change...)[0]
	}
	for code, c := range map[string]struct {
		d     *mailbox.Dispatch
		open  string
		since int64
		has   string
	}{
		causeQueued:                 {queued(), "", now - 500, "free worker"},
		causeDelayed:                {queued(func(d *mailbox.Dispatch) { d.AvailableAt = now + 9 }), "", now - 500, "not to begin before"},
		causeRetry:                  {queued(func(d *mailbox.Dispatch) { d.AvailableAt, d.Attempts, d.LastError = now+9, 2, "boom" }), "", now - 400, "failed: boom."},
		causeBehind:                 {queued(), "first", now - 500, "run first"},
		causeLost:                   {queued(func(d *mailbox.Dispatch) { d.LostAt = now - 7 }), "", now - 7, "process was lost"},
		causeSuspect:                {queued(func(d *mailbox.Dispatch) { d.LostAt, d.Crashes = now-7, 3 }), "", now - 7, "3 processes have died"},
		causeStep:                   {claimed(func(d *mailbox.Dispatch) { d.Steps = 2 }), "r", now - 400, "Worker w-1 executes it: step 3"},
		causeCancelling:             {claimed(func(d *mailbox.Dispatch) { d.Cancel = true }), "r", now - 400, "is cancelling it"},
		causeSilent:                 {claimed(func(d *mailbox.Dispatch) { d.LeaseUntil = now - 1 }), "r", now - 1, "not renewed its lease"},
		causeDeadLetter:             {queuedAs(mailbox.DeadLetter, func(d *mailbox.Dispatch) { d.LastError = "boom" })[0], "", now - 100, "gave it up"},
		causeSettled + "acked":      {queuedAs(mailbox.Acked)[0], "", now - 100, "was processed"},
		causeSettled + "cancelled":  {queuedAs(mailbox.Cancelled)[0], "", now - 100, "was cancelled"},
		causeSettled + "superseded": {queuedAs(mailbox.Superseded)[0], "", now - 100, "interrupted"},
	} {
		v := queueView{live: []*mailbox.Dispatch{c.d}, open: map[string]string{"t": c.open}, now: now}
		got := v.explain(c.d)
		if got.Code != code || got.Since != c.since || !strings.Contains(got.Detail, c.has) || got.Actions == nil {
			t.Errorf("%s: got %+v, want since %d and a sentence with %q", code, got, c.since, c.has)
		}
		if live := !c.d.Status.Terminal() && code != causeCancelling; live && len(got.Actions) == 0 {
			t.Errorf("%s: nothing would move it", code)
		}
		if !strings.Contains(string(doc), "| `"+code+"` |") {
			t.Errorf("docs/http.md does not list %s", code)
		}
	}
}
