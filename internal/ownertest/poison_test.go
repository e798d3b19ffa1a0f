//go:build unix

package ownertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/mailbox"
)

// Of many runs on three replicas, all that kill their process are given up after their attempts, and no
// other is.
func TestOnlyRunsThatKillTheirProcessAreGivenUp(t *testing.T) {
	for _, attempts := range []int{3, 5}[:testenv.Times(1, 2)] {
		t.Run(fmt.Sprint(attempts, " attempts"), func(t *testing.T) {
			g := newRig(t, rigtest.Postgres, func(j *job) { j.Liveness, j.Attempts = time.Second, attempts })
			g.poisons(testenv.Times(2, 100), testenv.Times(40, 2000), 3)
		})
	}
}

// poisons runs poisonous runs among innocent ones on replicas that a supervisor starts again, until all have ended.
func (g *rig) poisons(poisonous, innocent, replicas int) {
	g.Helper()
	began := time.Now()
	bad := map[string]bool{}
	var ids []string
	for i := range poisonous + innocent {
		poison := i*poisonous/(poisonous+innocent) != (i+1)*poisonous/(poisonous+innocent)
		text := "nap nap nap"
		if poison {
			text = "poison"
		}
		id := g.submit(text).DispatchID
		bad[id], ids = poison, append(ids, id)
	}
	workers, deaths := make([]*rigtest.Process, replicas), 0
	for i := range workers {
		workers[i] = g.start()
	}
	left, served := ids, time.Duration(0)
	g.until("all runs have ended", 20*time.Minute, func() bool {
		for _, w := range workers {
			if w.Ended() {
				deaths++
				w.Again()
			}
		}
		for i, id := range left {
			if !g.dispatch(id).Status.Terminal() {
				left = left[i:] // those before have ended
				return false
			}
		}
		return true
	})
	for _, w := range workers {
		w.Kill()
	}
	given, most := 0, 0
	for _, id := range ids {
		d := g.dispatch(id)
		switch took := time.Duration(d.CompletedAt-d.CreatedAt) * time.Millisecond; {
		case d.Attempts > d.MaxAttempts:
			g.Errorf("dispatch %s has %d attempts of %d", id, d.Attempts, d.MaxAttempts)
		case bad[id] && (d.Status != mailbox.DeadLetter || d.Attempts != d.MaxAttempts):
			g.Errorf("poisonous dispatch %s is %s after %d attempts of %d", id, d.Status, d.Attempts, d.MaxAttempts)
		case bad[id]:
			given++
		case d.Status != mailbox.Acked:
			g.Errorf("innocent dispatch %s is %s after %d attempts and %d crashes: %s", id, d.Status, d.Attempts, d.Crashes, d.LastError)
		default:
			served = max(served, took)
		}
		most = max(most, d.Crashes)
	}
	g.Logf("%d attempts, %d replicas: %d of %d poisonous runs given up, %d innocent ones served, the last after %s",
		g.job.Attempts, replicas, given, poisonous, innocent, served.Round(time.Millisecond))
	g.Logf("%d deaths, at most %d of one run, in %s", deaths, most, time.Since(began).Round(time.Millisecond))
}
