package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
)

// ranRun is a run of a test, with what its record does not say.
type ranRun struct {
	awaken.Run
	owner   string
	tools   []string
	inDoubt bool
	pinned  bool
}

var runListCases = []testCase{
	{"HaveWhatAPlainFilterSelects", func(t *testing.T, s awaken.Store) {
		rnd := rand.New(rand.NewPCG(1, 19))
		all := someRuns(t, s, rnd, 90)
		for i := range testenv.Times(40, 300) {
			q := someQuery(rnd, all)
			checkRunList(t, s, fmt.Sprint("query ", i), q, all, 1+rnd.IntN(20))
		}
	}},
	{"AndPagesAreTheSameByPlaceAndByOffset", func(t *testing.T, s awaken.Store) {
		rnd := rand.New(rand.NewPCG(2, 19))
		all := someRuns(t, s, rnd, 30)
		for _, q := range []awaken.RunQuery{{}, {AgentID: "a1"}, {Status: awaken.RunDone}, {Tool: "tool1"}, {Text: "answer"}, {Root: true}} {
			want := plainRuns(q, all)
			for offset := range len(want) + 1 {
				q.Offset, q.Limit = offset, 3
				equal(t, fmt.Sprintf("%+v", q), want[offset:min(offset+3, len(want))], listRuns(t, s, q))
			}
		}
	}},
	{"DoNotMoveWhenRunsAreAdded", func(t *testing.T, s awaken.Store) {
		var want []string
		for i := range 9 {
			id := fmt.Sprint("old", i)
			acquire(t, s, id, id).commit(done)
			want = append([]string{id}, want...)
		}
		at, got := "", []string{}
		for i := 0; i == 0 || at != ""; i++ {
			got = append(got, listRuns(t, s, awaken.RunQuery{Limit: 2, At: &at})...)
			id := fmt.Sprint("new", i)
			acquire(t, s, id, id).commit()
		}
		equal(t, "runs on all pages", want, got)
	}},
	{"ContinueBehindARunThatWasDeleted", func(t *testing.T, s awaken.Store) {
		ed, ok := s.(awaken.ThreadEditor)
		if !ok {
			t.Skip("no editor")
		}
		for i := range 6 {
			id := fmt.Sprint("r", i)
			acquire(t, s, id, id).commit(done)
		}
		at := ""
		equal(t, "first page", []string{"r5", "r4"}, listRuns(t, s, awaken.RunQuery{Limit: 2, At: &at}))
		if err := ed.DeleteThread(t.Context(), "r4", awaken.DetachChildren); err != nil {
			t.Fatal(err)
		}
		equal(t, "second page", []string{"r3", "r2"}, listRuns(t, s, awaken.RunQuery{Limit: 2, At: &at}))
	}},
	{"FollowAThreadToItsNewUser", func(t *testing.T, s awaken.Store) {
		ed, ok := s.(awaken.ThreadEditor)
		if !ok {
			t.Skip("no editor")
		}
		for _, id := range []string{"a", "b"} {
			acquire(t, s, id, id).commit(func(c *awaken.Commit) { c.Run.UserID = "ann" }, done)
		}
		if _, err := ed.UpdateThread(t.Context(), "a", func(t *awaken.Thread) error { t.UserID = "bo"; return nil }); err != nil {
			t.Fatal(err)
		}
		equal(t, "runs of bo", []string{"a"}, listRuns(t, s, awaken.RunQuery{Owner: new("bo")}))
		equal(t, "runs of ann", []string{"b"}, listRuns(t, s, awaken.RunQuery{Owner: new("ann")}))
	}},
	{"KnowTheAgentThatARunWasHandedTo", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit()
		o.commit(func(c *awaken.Commit) { c.Run.AgentID, c.Run.FirstAgentID = "other", "agent" }, done)
		equal(t, "runs of the agent it has", []string{"r"}, listRuns(t, s, awaken.RunQuery{AgentID: "other"}))
		equal(t, "runs of the agent it had", []string{}, listRuns(t, s, awaken.RunQuery{AgentID: "agent"}))
	}},
	{"KnowWhatARunWasWhenAnotherOneGaveItUp", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(func(c *awaken.Commit) { c.Run.ResolutionID = "v1" })
		o.commit(func(c *awaken.Commit) { // in the middle of the run
			c.Run.AgentID, c.Run.FirstAgentID, c.Run.ResolutionID = "other", "agent", "v2"
			c.Run.ErrorPayload = &awaken.Error{Message: "it broke", Code: "busy"}
		})
		acquire(t, s, "t", "next").commit(done)
		for _, q := range []awaken.RunQuery{{AgentID: "other"}, {Version: "v2"}, {ErrorCode: "busy"}} {
			equal(t, fmt.Sprintf("%+v", q), []string{"r"}, listRuns(t, s, q))
		}
		equal(t, "runs of the version it had", []string{}, listRuns(t, s, awaken.RunQuery{Version: "v1"}))
	}},
	{"HaveRunsThatCalledToolsWithLongNames", func(t *testing.T, s awaken.Store) {
		rnd := rand.New(rand.NewPCG(3, 19))
		name := make([]byte, 6000) // that no database compresses to fit in an index
		for i := range name {
			name[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"[rnd.IntN(64)]
		}
		o := acquire(t, s, "t", "r")
		o.commit()
		call := ledger("r", "c", 0, 0, awaken.CallFailed)
		call.ToolName = string(name)
		o.commit(calls(call), func(c *awaken.Commit) { c.Run.Steps = 1 })
		o.commit(done)
		equal(t, "runs that called it", []string{"r"}, listRuns(t, s, awaken.RunQuery{Tool: string(name)}))
		equal(t, "runs that called another", []string{}, listRuns(t, s, awaken.RunQuery{Tool: string(name[:5999])}))
	}},
	{"HaveRunsOfAnyCost", func(t *testing.T, s awaken.Store) {
		for i, cost := range []float64{1e9, 1e12, 1e300} { // what a provider that reports nonsense may lead to
			id := fmt.Sprint("r", i)
			o := acquire(t, s, id, id)
			o.commit()
			o.commit(done, func(c *awaken.Commit) { c.Run.CostUSD = cost })
		}
		equal(t, "dear runs", []string{"r2", "r1", "r0"}, listRuns(t, s, awaken.RunQuery{MinCostUSD: 1e9}))
	}},
	{"RefuseAPlaceThatNoListReturned", func(t *testing.T, s awaken.Store) {
		for _, at := range []string{"x", ".", "1", "1.", "x.r", "99999999999999999999.r"} {
			if _, err := s.ListRuns(t.Context(), awaken.RunQuery{At: new(at)}); !errors.Is(err, awaken.ErrInvalid) {
				t.Errorf("place %q: error is %v, want ErrInvalid", at, err)
			}
		}
	}},
}

// pick returns one of the values.
func pick[T any](rnd *rand.Rand, values ...T) T { return values[rnd.IntN(len(values))] }

// runsBegin is when the runs of tests were created, Unix s.
const runsBegin = 1_700_000_000

// someRuns makes n runs of all kinds on a few threads. It returns them, the newest first.
func someRuns(t *testing.T, s awaken.Store, rnd *rand.Rand, n int) (all []*ranRun) {
	t.Helper()
	users := []string{"", "ann", "bo"}
	for i := range n {
		thread := rnd.IntN(9)
		r := &ranRun{owner: users[thread%3]}
		o := acquire(t, s, fmt.Sprint("thread", thread), fmt.Sprintf("run%03d", i))
		o.run.UserID = r.owner
		o.run.AgentID, o.run.ResolutionID = pick(rnd, "a1", "a2", "a\"3'"), pick(rnd, "", "v1", "v2")
		o.run.Origin = pick(rnd, "user", "user", "mcp", "subagent", "internal")
		o.run.ParentRunID = pick(rnd, "", "", "run000", "run001")
		o.run.CreatedAt = runsBegin*1000 + int64(i*600_000+rnd.IntN(100_000))
		o.commit()
		for step := range rnd.IntN(3) {
			call := ledger(o.run.RunID, fmt.Sprint("c", step), step, 0, awaken.CallSucceeded)
			call.ToolName = pick(rnd, "tool1", "tool2", "tool\"3'")
			r.tools = append(r.tools, call.ToolName)
			if rnd.IntN(4) == 0 {
				r.inDoubt = true
				call.Result = &awaken.ToolResult{ToolName: call.ToolName, Status: awaken.ToolError, Metadata: map[string]any{"in_doubt": true}}
			}
			o.commit(calls(call), func(c *awaken.Commit) { c.Run.Steps = step + 1 })
		}
		cost := pick(rnd, 0, 0.001, 0.25, 3.5)
		switch rnd.IntN(4) {
		case 0:
			o.commit(waits, func(c *awaken.Commit) {
				c.Run.Waiting.Reason, c.Run.CostUSD = pick(rnd, awaken.WaitToolPermission, awaken.WaitUserInput, awaken.WaitBudget), cost
			})
		case 1:
		default:
			o.commit(done, func(c *awaken.Commit) {
				c.Run.StartedAt = c.Run.CreatedAt + 1
				c.Run.FinishedAt = c.Run.StartedAt + int64(pick(rnd, 0, 1, 5000, 70_000))
				c.Run.CostUSD, c.Run.FinalOutput = cost, pick(rnd, "The ANSWER is 42", "I do not know", "")
				if c.Run.Termination.Type = pick(rnd, awaken.NaturalEnd, awaken.NaturalEnd, awaken.Cancelled, awaken.Failed); c.Run.Termination.Type == awaken.Failed {
					c.Run.Termination.Message = "it broke"
					c.Run.ErrorPayload = &awaken.Error{Message: "it broke", Code: pick(rnd, "busy", "upstream")}
				}
			})
		}
		r.Run = o.run
		if ed, ok := s.(awaken.ThreadEditor); ok && rnd.IntN(5) == 0 {
			r.pinned = true
			note(t, ed, r.ThreadID, "pin:"+r.RunID, `{}`)
		}
		all = append([]*ranRun{r}, all...)
	}
	return all
}

// someQuery returns a query with a few conditions, which mostly select some of the runs.
func someQuery(rnd *rand.Rand, all []*ranRun) (q awaken.RunQuery) {
	for range 1 + rnd.IntN(3) {
		r := pick(rnd, all...)
		switch rnd.IntN(20) {
		case 0:
			q.ThreadID = r.ThreadID
		case 1:
			q.Status = r.Status
		case 2:
			q.Owner = new(r.owner)
		case 3:
			q.AgentID = r.AgentID
		case 4:
			q.Version = r.ResolutionID
		case 5:
			q.Origin = r.Origin
		case 6:
			q.Outcome = r.Termination.Type
		case 7:
			if r.Waiting != nil {
				q.Waiting = r.Waiting.Reason
			}
		case 8:
			q.ParentRunID = r.ParentRunID
		case 9:
			q.Root = true
		case 10:
			q.Tool = pick(rnd, "tool1", "tool2", "tool\"3'", "none")
		case 11:
			q.InDoubt = true
		case 12:
			q.ErrorCode = pick(rnd, "busy", "upstream", "none")
		case 13:
			q.MinCostUSD = pick(rnd, 0.001, 0.05, 0.25, 1)
		case 14:
			q.Since = r.CreatedAt + int64(rnd.IntN(3)-1)
		case 15:
			q.Until = r.CreatedAt + int64(rnd.IntN(3)-1)
		case 16:
			q.Text = pick(rnd, "answer", "RUN00", "BROKE", "a1", "nothing at all")
		case 17:
			q.MinDuration = int64(pick(rnd, 1, 5000, 60_000))
		case 18:
			q.Pinned = true
		case 19:
			q.RunIDs = []string{r.RunID, pick(rnd, all...).RunID, "none", r.RunID, pick(rnd, all...).RunID}[rnd.IntN(5):]
		}
	}
	return q
}

// plainRuns returns the ids of the runs that a query selects.
func plainRuns(q awaken.RunQuery, all []*ranRun) []string {
	out := []string{}
	for _, r := range all {
		text := strings.ToLower(strings.Join([]string{r.RunID, r.ThreadID, r.AgentID, r.StatusReason, r.Termination.Message, r.FinalOutput}, "\n"))
		switch created := r.CreatedAt; {
		case q.RunIDs != nil && !slices.Contains(q.RunIDs, r.RunID), q.ThreadID != "" && r.ThreadID != q.ThreadID, q.Status != "" && r.Status != q.Status, q.Owner != nil && r.owner != *q.Owner,
			q.AgentID != "" && r.AgentID != q.AgentID, q.Version != "" && r.ResolutionID != q.Version, q.Origin != "" && r.Origin != q.Origin,
			q.Outcome != "" && r.Termination.Type != q.Outcome, q.Waiting != "" && (r.Waiting == nil || r.Waiting.Reason != q.Waiting),
			q.ParentRunID != "" && r.ParentRunID != q.ParentRunID, q.Root && r.ParentRunID != "",
			q.Tool != "" && !slices.Contains(r.tools, q.Tool), q.InDoubt && !r.inDoubt,
			q.ErrorCode != "" && (r.ErrorPayload == nil || r.ErrorPayload.Code != q.ErrorCode),
			q.MinCostUSD > 0 && (r.Status == awaken.RunRunning || r.CostUSD < q.MinCostUSD),
			q.MinDuration > 0 && (r.Status != awaken.RunDone || r.FinishedAt-r.StartedAt < q.MinDuration), q.Pinned && !r.pinned,
			q.Since > 0 && created < q.Since, q.Until > 0 && created >= q.Until,
			q.Text != "" && !strings.Contains(text, strings.ToLower(q.Text)):
		default:
			out = append(out, r.RunID)
		}
	}
	return out
}

// checkRunList checks a list with pages of a size, and its number.
func checkRunList(t *testing.T, s awaken.Store, what string, q awaken.RunQuery, all []*ranRun, size int) {
	t.Helper()
	want, got, at := plainRuns(q, all), []string{}, ""
	what = fmt.Sprintf("%s %+v", what, q)
	for q.At, q.Limit = &at, size; ; {
		got = append(got, listRuns(t, s, q)...)
		if at == "" {
			break
		}
	}
	equal(t, what, want, got)
	n, err := s.CountRuns(t.Context(), q)
	if err != nil || n != len(want) || at != "" {
		t.Errorf("%s: the number is %d and the place %q, %v, want %d", what, n, at, err, len(want))
	}
	q.At = nil
	if n, err := s.CountRuns(t.Context(), q); err != nil || n != len(want) {
		t.Errorf("%s: the number is %d, %v, want %d", what, n, err, len(want))
	}
}
