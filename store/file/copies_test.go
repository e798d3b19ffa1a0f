package file_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/file"
)

var farFuture = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// background is a testing.TB for processes that are not tests.
type background struct{ testing.TB }

func (background) Context() context.Context { return context.Background() }

// checkCopies opens and closes the store in a folder, and then compares the readable copies
// with what the store returns.
func checkCopies(t testing.TB, dir string) {
	t.Helper()
	s, err := file.OpenUnsynced(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{}
	ctx := t.Context()
	threads, err := s.ListThreads(ctx, awaken.ThreadQuery{Limit: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range threads {
		if th.LatestRunID == "" && th.ParentThreadID == "" && th.MessageCount == 0 {
			continue // without commits
		}
		name := file.FileName(th.ID)
		want["threads/"+name+".json"] = th
		recs, err := s.Messages(ctx, th.ID, awaken.MessageQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range recs {
			want[fmt.Sprintf("message_records/%s/%020d.json", name, r.Seq)] = r
		}
	}
	runs, err := s.ListRuns(ctx, awaken.RunQuery{Limit: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		want["runs/"+file.FileName(r.RunID)+".json"] = r
	}
	closing(t, s)
	have := map[string]string{}
	for _, folder := range []string{"threads", "message_records", "runs", "thread_states"} {
		for name, data := range tree(t, filepath.Join(dir, folder)) {
			have[folder+"/"+name] = data
		}
	}
	for name, v := range want {
		data, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got, ok := have[name]
		if !ok && strings.HasPrefix(name, "message_records/") {
			continue // a fork does not copy shared messages
		}
		if got != string(data)+"\n" {
			t.Fatalf("%s says\n%s\nwant\n%s", name, got, data)
		}
	}
	for name := range have {
		if strings.HasSuffix(name, ".tmp") {
			continue // left by a dying process; the next writer reuses it
		}
		if strings.HasPrefix(name, "thread_states/") {
			name = strings.Replace(name, "thread_states/", "threads/", 1)
		}
		if want[name] == nil {
			t.Fatalf("%s is there, and should not", name)
		}
	}
}

func TestCopies_AreWrittenWhenARunWaitsOrEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, nil)
	copies := func() int { return len(tree(t, filepath.Join(dir, "threads"))) }
	o := acquire(t, s, "t", "r")
	o.commit(nil, "one", "two")
	if copies() != 0 {
		t.Error("there is a copy while the run is running")
	}
	for i, change := range []func(*awaken.Commit){waits, done} {
		o.run.Waiting = nil
		o.commit(change, fmt.Sprint("three ", i))
		got := tree(t, dir)
		var run awaken.Run
		if err := json.Unmarshal([]byte(got["runs/r.json"]), &run); err != nil || run.Status != o.run.Status {
			t.Errorf("the run is %q, %v, want %s", run.Status, err, o.run.Status)
		}
		var th awaken.Thread
		if err := json.Unmarshal([]byte(got["threads/t.json"]), &th); err != nil || th.MessageCount != 3+i {
			t.Errorf("the thread is %+v, %v", th, err)
		}
		var rec awaken.MessageRecord
		if err := json.Unmarshal([]byte(got[fmt.Sprintf("message_records/t/%020d.json", 3+i)]), &rec); err != nil || rec.Seq != 3+i || rec.Message.Text() != fmt.Sprint("three ", i) {
			t.Errorf("record %d is %+v, %v", 3+i, rec, err)
		}
		var st struct{ Extensions map[string]string }
		if err := json.Unmarshal([]byte(got["thread_states/t.json"]), &st); err != nil || st.Extensions["last"] != fmt.Sprint("three ", i) {
			t.Errorf("the state is %+v, %v", st, err)
		}
	}
	acquire(t, s, "open", "r2").commit(nil, "continues")
	if err := titled(t.Context(), s, "t", "Title"); err != nil {
		t.Fatal(err)
	}
	closing(t, s)
	checkCopies(t, dir)
	if got := tree(t, dir)["threads/t.json"]; !strings.Contains(got, "Title") {
		t.Errorf("after Close the copy says %s", got)
	}
}

func TestCopies_FollowForksAndDeletions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, nil)
	acquire(t, s, "t", "r").commit(done, "a", "b", "c")
	if _, err := s.Fork(t.Context(), "t", 2, "f", nil); err != nil {
		t.Fatal(err)
	}
	acquire(t, s, "f", "r2").commit(done, "mine")
	got := tree(t, filepath.Join(dir, "message_records", "f"))
	if len(got) != 1 || !strings.Contains(got[fmt.Sprintf("%020d.json", 3)], "mine") {
		t.Errorf("the copies of the fork are %v", got)
	}
	if err := s.DeleteThread(t.Context(), "t", awaken.DetachChildren); err != nil {
		t.Fatal(err)
	}
	closing(t, s)
	if got := tree(t, filepath.Join(dir, "message_records", "f")); len(got) != 3 {
		t.Errorf("after the other was deleted the copies of the fork are %v", got)
	}
	checkCopies(t, dir)
}

func TestCopies_AreMadeAgainAfterACrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, nil)
	o := acquire(t, s, "t", "r")
	o.commit(waits, "a")
	o.run.Waiting = nil
	o.commit(func(c *awaken.Commit) { c.Run.Status = awaken.RunRunning }, "b")
	for _, index := range []bool{true, false} {
		dir := cloned(t, dir) // killed, with outdated copies
		if !index {
			_ = os.Remove(filepath.Join(dir, "index"))
		}
		checkCopies(t, dir)
		if got := tree(t, dir); !strings.Contains(got["runs/r.json"], `"running"`) {
			t.Errorf("the copy of the run is %s", got["runs/r.json"])
		}
	}
}

func TestCopies_CanBeLeftOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, &file.Options{NoCopies: true})
	acquire(t, s, "t", "r").commit(done, "a")
	closing(t, s)
	for name := range tree(t, dir) {
		switch name {
		case ".lock", "store.json", "index", "journals/t.log":
		default:
			t.Errorf("there is %s", name)
		}
	}
	checkCopies(t, dir) // written later
}

// A copy that cannot be written does not fail the commit.
func TestCopies_ThatFailDoNotFailTheCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, nil)
	for _, name := range []string{"threads", "runs"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil { // a file in place of the folder
			t.Fatal(err)
		}
	}
	o := acquire(t, s, "t", "r")
	o.commit(waits, "a")
	for _, name := range []string{"threads", "runs"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	o.run.Waiting = nil
	o.commit(done, "b")
	closing(t, s)
	checkCopies(t, dir)
}
