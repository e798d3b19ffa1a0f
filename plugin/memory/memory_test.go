package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/memory"
	"github.com/awaken-go/awaken/state/profile"
	memstore "github.com/awaken-go/awaken/store/memory"
)

var newID = awakentest.Counter("run-")

// call lets an agent make one call for a user, and returns the result that the model sees.
func call(t *testing.T, s profile.Store, user, tool, args string) string {
	t.Helper()
	h := awakentest.New(t, engine.Config{
		Agents:  []*awaken.AgentSpec{{ID: engine.DefaultAgentID, PluginIDs: []string{memory.Name}}},
		Plugins: []awaken.Plugin{memory.New()}, Profile: s,
	}, llmtest.Use(tool, args), llmtest.Say("ok"))
	rec := h.Run(awaken.RunRequest{UserID: user, RunID: newID(), Messages: []*llm.Message{llm.UserText("go")}})
	if rec.Err != nil {
		t.Fatal(rec.Err)
	}
	msgs := h.Model.Requests()[1].Messages
	return msgs[len(msgs)-1].Text()
}

func TestMemories_BelongToTheUser(t *testing.T) {
	t.Parallel()
	s := memstore.NewProfile()
	call(t, s, "alice", "memory_save", `{"text":"Likes tea","tags":["drinks"]}`)
	call(t, s, "alice", "memory_save", `{"text":"Has a dog called Rex"}`)
	for _, tt := range []struct{ user, args, want, not string }{
		{"alice", `{"query":"tea"}`, "Likes tea", "Rex"},
		{"alice", `{"query":"DRINKS"}`, "Likes tea", "Rex"},
		{"alice", `{"query":"dog tea rex"}`, `Rex`, "nothing"},
		{"alice", `{}`, `"total":2`, "nothing"},
		{"alice", `{"max_results":1}`, `"total":2`, "tea"},
		{"alice", `{"query":"cats"}`, `"memories":[]`, "tea"},
		{"bob", `{}`, `"total":0`, "tea"},
	} {
		if got := call(t, s, tt.user, "memory_search", tt.args); !strings.Contains(got, tt.want) || strings.Contains(got, tt.not) {
			t.Errorf("%s searches %s: %s, want %s", tt.user, tt.args, got, tt.want)
		}
	}
}

func TestTools_ErrorsNameTheProblem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		store            profile.Store
		user, tool, args string
		want             string
	}{
		{nil, "alice", "memory_save", `{"text":"x"}`, "the runtime has no profile"},
		{memstore.NewProfile(), "", "memory_save", `{"text":"x"}`, "the run has no user"},
		{memstore.NewProfile(), "", "memory_search", `{}`, "the run has no user"},
		{memstore.NewProfile(), "", "memory_forget", `{"id":"x"}`, "the run has no user"},
		{memstore.NewProfile(), "alice", "memory_save", `{"text":"  "}`, "text is empty"},
		{memstore.NewProfile(), "alice", "memory_save", `{"text":"` + strings.Repeat("x", 4097) + `"}`, "4097 bytes long"},
		{memstore.NewProfile(), "alice", "memory_forget", `{"id":"x"}`, `memory "x" not found`},
	} {
		if got := call(t, tt.store, tt.user, tt.tool, tt.args); !strings.Contains(got, tt.want) {
			t.Errorf("%s %.40s: %s, want %s", tt.tool, tt.args, got, tt.want)
		}
	}
}

func TestMemories_CanBeForgottenExportedAndErased(t *testing.T) {
	t.Parallel()
	s := memstore.NewProfile()
	for _, text := range []string{"one", "two", "three"} {
		call(t, s, "alice", "memory_save", `{"text":"`+text+`"}`)
	}
	call(t, s, "bob", "memory_save", `{"text":"other"}`)
	all, err := memory.Export(t.Context(), s, "alice")
	if err != nil || len(all) != 3 || all[0].Agent != engine.DefaultAgentID || all[0].ID == "" || all[0].SavedAt.IsZero() {
		t.Fatalf("exported %+v, %v", all, err)
	}
	if got := call(t, s, "alice", "memory_forget", `{"id":"`+all[1].ID+`"}`); got != "forgotten" {
		t.Error(got)
	}
	if left, _ := memory.Export(t.Context(), s, "alice"); len(left) != 2 {
		t.Errorf("left %+v", left)
	}
	if err := memory.Erase(t.Context(), s, "alice"); err != nil {
		t.Fatal(err)
	}
	if left, _ := memory.Export(t.Context(), s, "alice"); len(left) != 0 {
		t.Errorf("left %+v", left)
	}
	if left, _ := memory.Export(t.Context(), s, "bob"); len(left) != 1 {
		t.Errorf("bob has %+v", left)
	}
}

func TestMemories_AreBounded(t *testing.T) {
	t.Parallel()
	s := memstore.NewProfile()
	for i := range 1000 {
		if err := s.Set(t.Context(), "memory/"+profile.User("alice"), fmt.Sprint(i), []byte(`{"text":"x"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if got := call(t, s, "alice", "memory_save", `{"text":"one more"}`); !strings.Contains(got, "forget some first") {
		t.Error(got)
	}
}
