//go:build unix

package ownertest

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

var postgresServer *testenv.Postgres

func TestMain(m *testing.M) {
	os.Exit(testenv.WithJobs(m, work, &postgresServer, "max_connections=500"))
}

// onStores runs a test on each store that several processes can share. Short tests run it on one.
func onStores(t *testing.T, short string, test func(g *rig)) {
	for _, kind := range rigtest.Sample(short) {
		t.Run(kind, func(t *testing.T) {
			if !testenv.Long() && *busyTime == 0 {
				t.Parallel()
			}
			test(newRig(t, kind))
		})
	}
}

// rig is a store, and the test as a process that only submits.
type rig struct {
	*testing.T
	job    job
	tenant *mailbox.Tenant
	queue  mailbox.Queue
}

func newRig(t *testing.T, kind string, change ...func(*job)) *rig {
	t.Helper()
	g := &rig{T: t, job: job{Store: rigtest.NewStore(t, kind, postgresServer), Effects: rigtest.NewLedger(t), Dir: t.TempDir()}}
	for _, c := range change {
		c(&g.job)
	}
	db := g.job.Store.Use(t)
	box, err := g.job.mailbox(db)
	if err != nil {
		t.Fatal(err)
	}
	g.tenant, g.queue = box.Tenant(""), db
	return g
}

// start starts a worker.
func (g *rig) start(change ...func(j *job)) *rigtest.Process {
	g.Helper()
	j := g.job
	for _, f := range change {
		f(&j)
	}
	return rigtest.Start(g.T, rigtest.Job(j))
}

// submit submits a run that calls tools, and returns its receipt. It tries again while the store is busy, as clients do: many processes
// may hold the lock of a file for longer than a statement waits for it.
func (g *rig) submit(words string) (r *mailbox.Receipt) {
	g.Helper()
	g.until("the store accepts a run", time.Minute, func() bool {
		var err error
		r, err = g.tenant.Submit(g.Context(), mailbox.Submission{Request: awaken.RunRequest{AgentID: "default", Messages: []*llm.Message{llm.UserText(words)}}})
		if err != nil && fault.OutageOf(err) == nil {
			g.Fatal(err)
		}
		return err == nil
	})
	return r
}

func (g *rig) dispatch(id string) *mailbox.Dispatch {
	g.Helper()
	d, err := g.tenant.Store.Dispatch(g.Context(), id)
	if err != nil {
		g.Fatal(err)
	}
	return d
}

func (g *rig) claimed() int {
	g.Helper()
	counts, err := g.queue.Counts(g.Context())
	if err != nil {
		g.Fatal(err)
	}
	return counts[mailbox.Claimed]
}

// until waits until a condition is true, and returns when it was.
func (g *rig) until(what string, limit time.Duration, ok func() bool) time.Time {
	g.Helper()
	return rigtest.Until(g, what, limit, ok)
}

// calls returns the calls that were begun, in order, of those that are wanted.
func (g *rig) calls(wanted ...func(rigtest.Effect) bool) []rigtest.Effect {
	g.Helper()
	return g.job.Effects.Effects(g, wanted...)
}

// words is a message of n words.
func words(word string, n int) string { return strings.TrimSpace(strings.Repeat(word+" ", n)) }
