package storetest

import (
	"fmt"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

func userOf(t *testing.T, s awaken.Store, threadID string) string {
	t.Helper()
	th, err := s.Thread(t.Context(), threadID)
	if err != nil {
		t.Fatal(err)
	}
	return th.UserID
}

// of makes a commit that of a user's run.
func of(user string) func(*awaken.Commit) {
	return func(c *awaken.Commit) { c.Run.UserID = user }
}

var userCases = []testCase{
	{"AThreadBelongsToTheUserOfItsFirstRun", func(t *testing.T, s awaken.Store) {
		for _, user := range []string{"alice", "", "a\x00b", "bücher", "it's"} {
			thread := "t-" + user
			o := acquire(t, s, thread, "r1-"+user)
			o.commit(of(user))
			o.commit(of(user), messages("hi"), done)
			equal(t, "user", user, userOf(t, s, thread))
			acquire(t, s, thread, "r2-"+user).commit(of("bob"), done)
			equal(t, "user after another user's run", user, userOf(t, s, thread))
		}
	}},
	{"EditorsSetKeepAndCopyTheUser", func(t *testing.T, s awaken.Store) {
		ed := editor(t, s)
		if err := ed.CreateThread(t.Context(), &awaken.Thread{ID: "t", UserID: "alice"}); err != nil {
			t.Fatal(err)
		}
		acquire(t, s, "t", "r").commit(of("bob"), messages("hi"), done)
		equal(t, "created", "alice", userOf(t, s, "t"))
		if err := ed.CreateThread(t.Context(), &awaken.Thread{ID: "free"}); err != nil {
			t.Fatal(err)
		}
		acquire(t, s, "free", "r2").commit(of("bob"))
		equal(t, "created without a user", "", userOf(t, s, "free"))
		f, err := ed.Fork(t.Context(), "t", 1, "fork", nil)
		if err != nil || f.UserID != "alice" {
			t.Errorf("the fork is %+v, %v", f, err)
		}
		equal(t, "forked", "alice", userOf(t, s, "fork"))
		for _, user := range []string{"alice", "carol", ""} {
			got, err := ed.UpdateThread(t.Context(), "t", func(th *awaken.Thread) error { th.UserID = user; return nil })
			if err != nil || got.UserID != user {
				t.Errorf("updated %+v, %v", got, err)
			}
			equal(t, "updated", user, userOf(t, s, "t"))
		}
	}},
	{"ListsShowWhatBelongsToOneUser", func(t *testing.T, s awaken.Store) {
		for i, user := range []string{"alice", "bob", "", "alice", "bob", ""} {
			o := acquire(t, s, fmt.Sprint("t", i), fmt.Sprint("r", i))
			o.run.UserID = user
			o.commit(func(c *awaken.Commit) { c.Run.Usage, c.Run.CostUSD = llm.Usage{TotalTokens: 1 << i}, 0.5 })
		}
		acquire(t, s, "t0", "r9").commit(of("bob"), done) // on a thread of alice
		for _, tt := range []struct {
			owner   *string
			threads []string
			runs    []string
			tokens  int64
		}{
			{nil, []string{"t0", "t5", "t4", "t3", "t2", "t1"}, []string{"r9", "r5", "r4", "r3", "r2", "r1", "r0"}, 63},
			{new("alice"), []string{"t0", "t3"}, []string{"r9", "r3", "r0"}, 9},
			{new("bob"), []string{"t4", "t1"}, []string{"r4", "r1"}, 18},
			{new(""), []string{"t5", "t2"}, []string{"r5", "r2"}, 36},
			{new("carol"), []string{}, []string{}, 0},
			{new("ALICE"), []string{}, []string{}, 0},
		} {
			name := "everyone"
			if tt.owner != nil {
				name = fmt.Sprintf("%q", *tt.owner)
			}
			equal(t, "threads of "+name, tt.threads, listThreads(t, s, awaken.ThreadQuery{Owner: tt.owner}))
			equal(t, "runs of "+name, tt.runs, listRuns(t, s, awaken.RunQuery{Owner: tt.owner}))
			threads, err := s.CountThreads(t.Context(), awaken.ThreadQuery{Owner: tt.owner, Limit: 1})
			runs, err2 := s.CountRuns(t.Context(), awaken.RunQuery{Owner: tt.owner, Limit: 1})
			if threads != len(tt.threads) || runs != len(tt.runs) || err != nil || err2 != nil {
				t.Errorf("%s: counted %d threads and %d runs, %v, %v", name, threads, runs, err, err2)
			}
			if r, ok := s.(awaken.UsageReader); ok {
				totals, err := r.UsageTotals(t.Context(), awaken.UsageQuery{Owner: tt.owner})
				if err != nil {
					t.Fatal(err)
				}
				var tokens int64
				for _, total := range totals {
					tokens += total.Usage.TotalTokens
				}
				equal(t, "tokens of "+name, tt.tokens, tokens)
			}
		}
		equal(t, "alice's runs that are done", []string{"r9"}, listRuns(t, s, awaken.RunQuery{Owner: new("alice"), Status: awaken.RunDone}))
		equal(t, "bob's runs on a thread of alice", []string{}, listRuns(t, s, awaken.RunQuery{Owner: new("bob"), ThreadID: "t0"}))
		equal(t, "one page", []string{"t3"}, listThreads(t, s, awaken.ThreadQuery{Owner: new("alice"), Root: true, Offset: 1, Limit: 1}))
	}},
}
