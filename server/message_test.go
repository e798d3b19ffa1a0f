package server_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/server/servertest"
)

// A summary stands for messages in what the model gets. People see the whole conversation, by every route.
func TestMessages_AreWholeAfterACompaction(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) { c.Routes = slices.Concat(aisdk.Routes(), agui.Routes()) })
	ctx, store := t.Context(), g.box.Tenant("").Store
	cp, err := store.Acquire(ctx, "long")
	if err != nil {
		t.Fatal(err)
	}
	var log []*llm.Message
	var want []string
	for i := range 3 {
		for _, role := range []llm.Role{llm.User, llm.Assistant} {
			id := fmt.Sprintf("%s%d", role, i)
			log, want = append(log, &llm.Message{ID: id, Role: role, Content: []llm.Block{llm.Text(id)}}), append(want, id)
		}
	}
	summary := &llm.Message{ID: "summary", Role: llm.System, Visibility: llm.Internal, Content: []llm.Block{llm.Text("in short")},
		Metadata: &llm.Metadata{Compaction: &llm.Interval{FromSeq: 1, ToSeq: 4}}}
	log = append(log[:5], summary, log[5])
	if err := store.Commit(ctx, &awaken.Commit{ThreadID: "long", Fence: cp.Fence, Number: 1, Messages: log, Run: awaken.Run{RunID: "r", ThreadID: "long",
		AgentID: "default", Status: awaken.RunDone, Termination: awaken.Termination{Type: awaken.NaturalEnd}, CreatedAt: 1, UpdatedAt: 1, FinishedAt: 1}}); err != nil {
		t.Fatal(err)
	}
	list := func(path string) (ids []string, marked int) {
		t.Helper()
		for _, m := range g.want(200, "GET", path, "")["messages"].([]any) {
			m := m.(map[string]any)
			ids = append(ids, m["id"].(string))
			if md, _ := m["metadata"].(map[string]any); md["compaction"] != nil {
				marked++
			}
		}
		return ids, marked
	}
	for _, path := range []string{"/v1/threads/long/messages", "/v1/ai-sdk/threads/long/messages", "/v1/ag-ui/threads/long/messages"} {
		if got, marked := list(path); !slices.Equal(got, want) || marked > 0 {
			t.Errorf("%s has %q and %d summaries, want %q", path, got, marked, want)
		}
	}
	if got, marked := list("/v1/threads/long/messages?visibility=all"); !slices.Equal(got, slices.Insert(slices.Clone(want), 5, "summary")) || marked != 1 {
		t.Errorf("with the internal ones it has %q and %d marked summaries", got, marked)
	}
	if got, _ := list("/v1/threads/long/messages?visibility=internal"); !slices.Equal(got, []string{"summary"}) {
		t.Errorf("the internal ones are %q", got)
	}
	if got, _ := list("/v1/threads/long/messages?order=desc&limit=2&offset=1"); !slices.Equal(got, []string{"user2", "assistant1"}) {
		t.Errorf("the second page backwards has %q", got)
	}
}
