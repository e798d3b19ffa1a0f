package permission_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/sectiontest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/memory"
)

// rig runs one agent with the given permission section.
type rig struct {
	*awakentest.Harness
	Profile profile.Store
	made    []string // the calls that were made, with their arguments
}

func newRig(t *testing.T, base permission.Config, section string, turns ...llmtest.Turn) *rig {
	t.Helper()
	r := &rig{Profile: memory.NewProfile()}
	type args struct {
		Command string `json:"command,omitempty"`
		Path    string `json:"path,omitempty"`
		More    any    `json:"more,omitempty"`
	}
	tool := func(id string) awaken.Tool {
		return awaken.NewTool(awaken.ToolSpec{ID: id, Description: id}, func(_ context.Context, c *awaken.ToolCall, _ args) (string, error) {
			r.made = append(r.made, c.Tool+" "+string(c.Args))
			return "done", nil
		})
	}
	spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{permission.Name}}
	if section != "" {
		spec.Sections = map[string]json.RawMessage{permission.Name: json.RawMessage(section)}
	}
	r.Harness = awakentest.New(t, engine.Config{
		Agents:  []*awaken.AgentSpec{spec},
		Plugins: []awaken.Plugin{permission.New(base)},
		Tools:   []awaken.Tool{tool("Bash"), tool("read_file"), tool("delete_file")},
		Profile: r.Profile,
	}, turns...)
	return r
}

// call returns a model that makes one call and ends.
func call(tool, args string) []llmtest.Turn {
	return []llmtest.Turn{llmtest.Use(tool, args), llmtest.Say("ok")}
}

func bash(command string) []llmtest.Turn {
	args, _ := json.Marshal(map[string]string{"command": command})
	return call("Bash", string(args))
}

// outcome returns the outcome of the first call of a run: made, denied, blocked or asked.
func (r *rig) outcome(rec *awakentest.Recording) string {
	switch {
	case rec.Result == nil:
		return rec.Err.Error()
	case rec.Result.Termination.Type == awaken.Blocked:
		return "blocked"
	case rec.Result.Termination.Type == awaken.Suspended:
		return "asked"
	case len(r.made) > 0:
		return "made"
	}
	return "denied"
}

// Every field of the section, and every behaviour.
func TestSection(t *testing.T) {
	t.Parallel()
	var docs []string
	for _, tt := range []struct{ name, section, command, want string }{
		{"no section asks", ``, "ls", "asked"},
		{"default ask", `{"default_behavior":"ask"}`, "ls", "asked"},
		{"default allow", `{"default_behavior":"allow"}`, "ls", "made"},
		{"default deny", `{"default_behavior":"deny"}`, "ls", "denied"},
		{"allow a tool", `{"rules":[{"tool":"Bash","behavior":"allow"}]}`, "ls", "made"},
		{"allow an argument", `{"rules":[{"tool":"Bash(npm *)","behavior":"allow"}]}`, "npm test", "made"},
		{"not another argument", `{"rules":[{"tool":"Bash(npm *)","behavior":"allow"}]}`, "rm x", "asked"},
		{"ask a tool", `{"default_behavior":"allow","rules":[{"tool":"Bash","behavior":"ask"}]}`, "ls", "asked"},
		{"deny wins over allow", `{"rules":[{"tool":"Bash(command = 'ls')","behavior":"allow"},{"tool":"B*","behavior":"deny"}]}`, "ls", "denied"},
		{"allow wins over ask", `{"rules":[{"tool":"Bash(command = 'ls')","behavior":"ask"},{"tool":"/Bash/","behavior":"allow"}]}`, "ls", "made"},
		{"on_deny block", `{"on_deny":"block","rules":[{"tool":"Bash","behavior":"deny"}]}`, "ls", "blocked"},
		{"on_deny error", `{"on_deny":"error","rules":[{"tool":"Bash","behavior":"deny"}]}`, "ls", "denied"},
		{"scope project", `{"rules":[{"tool":"Bash","behavior":"allow","scope":"project"}]}`, "ls", "made"},
		{"scope session", `{"rules":[{"tool":"Bash","behavior":"allow","scope":"session"}]}`, "ls", "made"},
		{"remember changes what is offered, not what is asked", `{"remember":["thread"]}`, "ls", "asked"},
		{"when tainted says nothing about other runs", `{"default_behavior":"allow","rules":[{"tool":"Bash","behavior":"deny","when":"tainted","allow_hosts":["go.dev"]}]}`, "ls", "made"},
		{"single quotes", `{"rules":[{"tool":"Bash(command ~ 'rm *')","behavior":"deny"}]}`, "rm -rf /", "denied"},
	} {
		docs = append(docs, tt.section)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, permission.Config{}, tt.section, bash(tt.command)...)
			if got := r.outcome(r.Say("go")); got != tt.want {
				t.Errorf("the call is %s, want %s", got, tt.want)
			}
		})
	}
	sectiontest.Covers[permission.Config](t, docs...)
}

// An unreadable rule might have been meant to deny, so nothing runs.
func TestSection_RefusesRulesItCannotRead(t *testing.T) { // L-53
	t.Parallel()
	for section, want := range map[string]string{
		`{"rules":[{"tool":"Bash(","behavior":"deny"}]}`:                            `rules[0].tool: pattern "Bash(": offset 4: ( is not closed`,
		`{"rules":[{"tool":"B","behavior":"allow"},{"tool":"","behavior":"deny"}]}`: "rules[1].tool",
		`{"rules":[{"tool":"T(f =~ '[')","behavior":"deny"}]}`:                      "missing closing ]",
		`{"rules":[{"tool":"Bash","behavior":"forbid"}]}`:                           "/rules/0/behavior: value must be one of",
		`{"rules":[{"tool":"Bash","behavior":"deny","scope":"ever"}]}`:              "/rules/0/scope: value must be one of",
		`{"default_behavior":"maybe"}`:                                              "/default_behavior: value must be one of",
		`{"on_deny":"explode"}`:                                                     "/on_deny: value must be one of",
		`{"remember":["once"]}`:                                                     "/remember/0: value must be one of",
		`{"rule":[]}`:                                                               "rule",
		`{"rules":[{"behavior":"deny"}]}`:                                           "tool",
	} {
		_, err := engine.New(engine.Config{
			Agents: []*awaken.AgentSpec{{ID: "a", ModelID: "m", PluginIDs: []string{permission.Name},
				Sections: map[string]json.RawMessage{permission.Name: json.RawMessage(section)}}},
			Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
			Providers: map[string]llm.Model{"p": llmtest.NewScript()},
			Plugins:   []awaken.Plugin{permission.New(permission.Config{})},
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %s", section, err, want)
		}
	}
}

func TestNew_RulesOfThePluginApplyToEveryAgent(t *testing.T) {
	t.Parallel()
	base := permission.Config{DefaultBehavior: permission.Allow, Rules: []permission.Rule{{Tool: "Bash(rm *)", Behavior: permission.Deny}}}
	section := `{"rules":[{"tool":"Bash","behavior":"allow"}]}`
	r := newRig(t, base, section, bash("rm x")...)
	if got := r.outcome(r.Say("go")); got != "denied" {
		t.Errorf("what the plugin denies is %s", got)
	}
	r = newRig(t, base, ``, bash("ls")...)
	if got := r.outcome(r.Say("go")); got != "made" {
		t.Errorf("what the plugin allows by default is %s", got)
	}
}

func TestNew_RefusesBadRules(t *testing.T) {
	t.Parallel()
	_, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "a", ModelID: "m", PluginIDs: []string{permission.Name}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "x"}},
		Providers: map[string]llm.Model{"p": llmtest.NewScript()},
		Plugins:   []awaken.Plugin{permission.New(permission.Config{Rules: []permission.Rule{{Tool: "x(", Behavior: "no"}}, Remember: []permission.Scope{permission.Once}})},
	})
	if err == nil || !strings.Contains(err.Error(), "rules[0].tool") || !strings.Contains(err.Error(), "rules[0].behavior") ||
		!strings.Contains(err.Error(), `remember[0] is "once", want run, thread, project or user`) {
		t.Errorf("error is %v", err)
	}
}

// A denied call is reported to the model and does not end the run.
func TestDeny_TellsTheModel(t *testing.T) { // L-53
	t.Parallel()
	r := newRig(t, permission.Config{}, `{"rules":[{"tool":"Bash(rm *)","behavior":"deny"}]}`, bash("rm x")...)
	rec := r.Say("go")
	if rec.Result.Termination.Type != awaken.NaturalEnd {
		t.Fatalf("the run ends with %s", rec.Result.Termination)
	}
	done := find[*awaken.ToolCallDone](rec)
	if len(done) != 1 || done[0].Result.Status != awaken.ToolError || !strings.Contains(done[0].Result.Message, "Tool 'Bash' denied by permission rules: Bash(rm *)") {
		t.Errorf("the model is told %+v", done)
	}
}

func find[E awaken.Event](rec *awakentest.Recording) []E {
	var out []E
	for _, e := range rec.Entries {
		if ev, ok := e.Event.(E); ok {
			out = append(out, ev)
		}
	}
	return out
}

func offered(r *rig, request int) []string { return r.Model.Requests()[request].Tools }

// Tools that are always denied are hidden; tools that may be allowed are shown.
// A rule about the primary argument that restricts calls cannot be escaped with more arguments;
// one that allows them stays strict.
func TestDeny_FindsItsArgumentAmongOthers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, section, args, want string }{
		{"deny", `{"default_behavior":"allow","rules":[{"tool":"Bash(rm *)","behavior":"deny"}]}`, `{"command":"rm -rf /","path":"x"}`, "denied"},
		{"deny, nested", `{"default_behavior":"allow","rules":[{"tool":"Bash(rm *)","behavior":"deny"}]}`, `{"command":"ls","more":[{"then":"rm -rf /"}]}`, "denied"},
		{"deny wins over allow", `{"rules":[{"tool":"Bash","behavior":"allow"},{"tool":"Bash(rm *)","behavior":"deny"}]}`, `{"command":"rm -rf /","path":"x"}`, "denied"},
		{"deny another value", `{"default_behavior":"allow","rules":[{"tool":"Bash(rm *)","behavior":"deny"}]}`, `{"command":"ls","path":"x"}`, "made"},
		{"ask instead of allow", `{"default_behavior":"allow","rules":[{"tool":"Bash(rm *)","behavior":"ask"}]}`, `{"command":"rm -rf /","path":"x"}`, "asked"},
		{"ask instead of deny", `{"default_behavior":"deny","rules":[{"tool":"Bash(npm *)","behavior":"ask"}]}`, `{"command":"npm test","path":"x"}`, "denied"},
		{"allow", `{"rules":[{"tool":"Bash(npm *)","behavior":"allow"}]}`, `{"command":"npm test","path":"x"}`, "asked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, permission.Config{}, tt.section, call("Bash", tt.args)...)
			if got := r.outcome(r.Say("go")); got != tt.want {
				t.Errorf("the call is %s, want %s", got, tt.want)
			}
		})
	}
}

// A pattern that matched only because the rule asks would not allow the call when remembered.
func TestRemember_OffersOnlyPatternsThatWouldAllowTheCall(t *testing.T) {
	t.Parallel()
	r := newRig(t, permission.Config{}, `{"default_behavior":"allow","rules":[{"tool":"Bash(rm *)","behavior":"ask"}]}`,
		call("Bash", `{"command":"rm x","path":"y"}`)...)
	rec := r.Say("go")
	var p struct {
		Remember struct{ Tools []string }
	}
	if err := json.Unmarshal(rec.Result.Waiting.Tickets[0].Suspension.Parameters, &p); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Bash", `Bash(command = "rm x", path = "y")`}; !slices.Equal(p.Remember.Tools, want) {
		t.Errorf("offers %q, want %q", p.Remember.Tools, want)
	}
}

func TestDeny_HidesToolsFromTheModel(t *testing.T) { // L-06
	t.Parallel()
	for section, want := range map[string][]string{
		`{"rules":[{"tool":"delete_*","behavior":"deny"}]}`:                                  {"Bash", "read_file"},
		`{"rules":[{"tool":"/^(Bash|read)/","behavior":"deny"}]}`:                            {"delete_file"},
		`{"rules":[{"tool":"Bash(*)","behavior":"deny"}]}`:                                   {"delete_file", "read_file"},
		`{"rules":[{"tool":"Bash(rm *)","behavior":"deny"}]}`:                                {"Bash", "delete_file", "read_file"},
		`{"rules":[{"tool":"Bash","behavior":"deny","scope":"once"}]}`:                       {"Bash", "delete_file", "read_file"},
		`{"default_behavior":"deny","rules":[{"tool":"read_file","behavior":"ask"}]}`:        {"read_file"},
		`{"default_behavior":"deny","rules":[{"tool":"*(path = 'x')","behavior":"allow"}]}`:  {"Bash", "delete_file", "read_file"},
		`{"rules":[{"tool":"read_file","behavior":"deny"},{"tool":"*","behavior":"allow"}]}`: {"Bash", "delete_file"},
	} {
		r := newRig(t, permission.Config{}, section, llmtest.Say("hi"))
		r.Say("go")
		if got := offered(r, 0); !slices.Equal(got, want) {
			t.Errorf("%s: the model is offered %q, want %q", section, got, want)
		}
	}
	// A model that calls a hidden tool is denied.
	r := newRig(t, permission.Config{}, `{"rules":[{"tool":"Bash","behavior":"deny"}]}`, bash("ls")...)
	if got := r.outcome(r.Say("go")); got != "denied" {
		t.Errorf("a hidden tool that is called is %s", got)
	}
}

func approve(rec *awakentest.Recording, result string) awaken.Decision {
	d := rec.Result.Waiting.Tickets[0].Approve()
	if result != "" {
		d.Result = json.RawMessage(result)
	}
	return d
}

func TestAsk_ContinuesAsDecided(t *testing.T) {
	t.Parallel()
	t.Run("approved", func(t *testing.T) {
		r := newRig(t, permission.Config{}, ``, bash("ls")...)
		rec := r.Say("go")
		ticket := rec.Result.Waiting.Tickets[0]
		if ticket.Suspension.Action != "tool:PermissionConfirm" || ticket.ResumeMode != awaken.ReplayToolCall || !strings.HasPrefix(ticket.TicketID, "perm_") {
			t.Errorf("the question is %+v", ticket)
		}
		rec = r.Resume(rec.Result.RunID, approve(rec, ""))
		if got := r.outcome(rec); got != "made" {
			t.Errorf("an approved call is %s", got)
		}
	})
	t.Run("rejected", func(t *testing.T) {
		r := newRig(t, permission.Config{}, ``, bash("ls")...)
		rec := r.Say("go")
		rec = r.Resume(rec.Result.RunID, rec.Result.Waiting.Tickets[0].Reject("no"))
		if got := r.outcome(rec); got != "denied" || rec.Result.Termination.Type != awaken.NaturalEnd {
			t.Errorf("a rejected call is %s", got)
		}
	})
	t.Run("edited", func(t *testing.T) {
		r := newRig(t, permission.Config{}, ``, bash("ls")...)
		rec := r.Say("go")
		rec = r.Resume(rec.Result.RunID, rec.Result.Waiting.Tickets[0].Edit(json.RawMessage(`{"command":"ls -l"}`)))
		if r.outcome(rec) != "made" || r.made[0] != `Bash {"command":"ls -l"}` {
			t.Errorf("made %q", r.made)
		}
	})
	t.Run("edited into what is denied", func(t *testing.T) {
		r := newRig(t, permission.Config{}, `{"rules":[{"tool":"Bash(rm *)","behavior":"deny"}]}`, bash("ls")...)
		rec := r.Say("go")
		rec = r.Resume(rec.Result.RunID, rec.Result.Waiting.Tickets[0].Edit(json.RawMessage(`{"command":"rm x"}`)))
		if got := r.outcome(rec); got != "denied" {
			t.Errorf("the call is %s: %q", got, r.made)
		}
	})
}

// An approval applies as long as its scope says.
func TestScopes_AreRemembered(t *testing.T) { // L-53
	t.Parallel()
	two := slices.Concat(bash("npm a"), bash("npm b"), bash("npm c"), bash("npm d"), bash("npm e"))
	for _, tt := range []struct {
		name, remember string
		// The outcome of the second call: in the same run, in another run of the thread, on
		// another thread of the user, with another user.
		sameRun, sameThread, sameUser, otherUser string
	}{
		{"nothing", ``, "asked", "asked", "asked", "asked"},
		{"once", `{"approved":true}`, "asked", "asked", "asked", "asked"},
		{"run", `{"remember":"run"}`, "made", "asked", "asked", "asked"},
		{"thread", `{"remember":"thread"}`, "made", "made", "asked", "asked"},
		{"project", `{"remember":{"scope":"project"}}`, "made", "made", "made", "made"},
		{"user", `{"remember":{"scope":"user","tool":"Bash"}}`, "made", "made", "made", "asked"},
	} {
		ask := func(thread, user string) awaken.RunRequest {
			return awaken.RunRequest{ThreadID: thread, UserID: user, Messages: []*llm.Message{llm.UserText("go")}}
		}
		check := func(t *testing.T, what, want string, r *rig, rec *awakentest.Recording) {
			t.Helper()
			got := "made"
			if rec.Result.Termination.Type == awaken.Suspended {
				got = "asked"
			}
			if got != want {
				t.Errorf("%s: %s is %s, want %s", tt.name, what, got, want)
			}
		}
		// In the same run: two calls, one after the other.
		r := newRig(t, permission.Config{}, ``, llmtest.Use("Bash", `{"command":"npm a"}`), llmtest.Use("Bash", `{"command":"npm b"}`), llmtest.Say("ok"))
		rec := r.Run(ask("t", "alice"))
		check(t, "the second call of the run", tt.sameRun, r, r.Resume(rec.Result.RunID, approve(rec, tt.remember)))

		// Elsewhere.
		for _, other := range []struct{ what, thread, user, want string }{
			{"a call of the next run", "t", "alice", tt.sameThread},
			{"a call on another thread", "t2", "alice", tt.sameUser},
			{"a call of another user", "t3", "bob", tt.otherUser},
		} {
			r := newRig(t, permission.Config{}, ``, two...)
			rec := r.Run(ask("t", "alice"))
			r.Resume(rec.Result.RunID, approve(rec, tt.remember))
			check(t, other.what, other.want, r, r.Run(ask(other.thread, other.user)))
		}
	}
}

// A rule with scope once is used up by one call per run.
func TestScopeOnce_IsUsedUp(t *testing.T) { // L-53
	t.Parallel()
	r := newRig(t, permission.Config{}, `{"rules":[{"tool":"Bash","behavior":"allow","scope":"once"}]}`,
		llmtest.Use("Bash", `{"command":"a"}`), llmtest.Use("Bash", `{"command":"b"}`), llmtest.Say("ok"))
	rec := r.Say("go")
	if rec.Result.Termination.Type != awaken.Suspended || len(r.made) != 1 {
		t.Errorf("made %q, then %s", r.made, rec.Result.Termination)
	}
}

func TestRemember_TakesTheRuleThatAsked(t *testing.T) {
	t.Parallel()
	section := `{"rules":[{"tool":"Bash(npm *)","behavior":"ask"}]}`
	r := newRig(t, permission.Config{}, section, llmtest.Use("Bash", `{"command":"npm a"}`), llmtest.Use("Bash", `{"command":"npm b"}`),
		llmtest.Use("Bash", `{"command":"rm c"}`), llmtest.Say("ok"))
	rec := r.Say("go")
	var asked struct {
		Remember struct{ Scopes, Tools []string }
	}
	if err := json.Unmarshal(rec.Result.Waiting.Tickets[0].Suspension.Parameters, &asked); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Bash(npm *)", "Bash", `Bash(command = "npm a")`}; !slices.Equal(asked.Remember.Tools, want) {
		t.Errorf("offers %q, want %q", asked.Remember.Tools, want)
	}
	rec = r.Resume(rec.Result.RunID, approve(rec, `{"remember":"run"}`))
	if rec.Result.Termination.Type != awaken.Suspended || len(r.made) != 2 {
		t.Errorf("made %q, then %s; want the two npm calls, then a question", r.made, rec.Result.Termination)
	}
}

func TestRemember_RefusesWhatWasNotOffered(t *testing.T) {
	t.Parallel()
	for _, result := range []string{`{"remember":"ever"}`, `{"remember":{"scope":"run","tool":"*"}}`, `{"remember":{"tool":"Bash"}}`, `{"remember":"user"}`} {
		r := newRig(t, permission.Config{}, ``, bash("ls")...)
		rec := r.Say("go") // the run has no user to remember it for
		rec = r.Resume(rec.Result.RunID, approve(rec, result))
		if rec.Err == nil || !strings.Contains(rec.Err.Error(), "result does not fit") || len(r.made) > 0 {
			t.Errorf("%s: error is %v, made %q", result, rec.Err, r.made)
		}
	}
}

// What the question's schema has not checked is not remembered.
func TestRemember_FieldNamesAreCaseSensitive(t *testing.T) {
	t.Parallel()
	for _, result := range []string{`{"Remember":"run"}`, `{"REMEMBER":{"scope":"run","tool":"*"}}`} {
		r := newRig(t, permission.Config{}, ``, llmtest.Use("Bash", `{"command":"a"}`), llmtest.Use("Bash", `{"command":"b"}`), llmtest.Say("ok"))
		rec := r.Say("go")
		rec = r.Resume(rec.Result.RunID, approve(rec, result))
		if rec.Err != nil || rec.Result.Termination.Type != awaken.Suspended || len(r.made) != 1 {
			t.Errorf("%s: %v, made %q; want the second call to be asked about", result, rec.Err, r.made)
		}
	}
}

// The approval of one visitor of a page does not apply to all users, unless the configuration
// permits it.
func TestRemember_OffersWhatTheConfigurationAllows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ section, adapter, user, want string }{
		{``, "", "", "run thread project"},
		{``, "", "alice", "run thread project user"},
		{``, "ag_ui", "", "run thread"},
		{``, "ai_sdk", "alice", "run thread user"},
		{`{"remember":["run","project"]}`, "ag_ui", "alice", "run project"},
		{`{"remember":["session","user"]}`, "", "", "run"},
		{`{"remember":[]}`, "", "alice", ""},
	} {
		r := newRig(t, permission.Config{}, tt.section, bash("ls")...)
		rec := r.Run(awaken.RunRequest{Adapter: tt.adapter, UserID: tt.user, Messages: []*llm.Message{llm.UserText("go")}})
		var asked struct {
			Remember struct{ Scopes []string }
		}
		if err := json.Unmarshal(rec.Result.Waiting.Tickets[0].Suspension.Parameters, &asked); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(asked.Remember.Scopes, " "); got != tt.want {
			t.Errorf("section %s, adapter %q, user %q: offers %q, want %q", tt.section, tt.adapter, tt.user, got, tt.want)
		}
		for _, scope := range []string{"run", "thread", "project", "user"} {
			if slices.Contains(asked.Remember.Scopes, scope) {
				continue
			}
			if rec := r.Resume(rec.Result.RunID, approve(rec, `{"remember":"`+scope+`"}`)); rec.Err == nil {
				t.Errorf("section %s, adapter %q, user %q: %s is taken, and was not offered", tt.section, tt.adapter, tt.user, scope)
			}
		}
	}
}

// A caller who acts for one user decides only for that user.
func TestVet(t *testing.T) {
	t.Parallel()
	question := func(section, adapter string) *awaken.Suspension {
		r := newRig(t, permission.Config{}, section, bash("ls")...)
		rec := r.Run(awaken.RunRequest{Adapter: adapter, UserID: "alice", Messages: []*llm.Message{llm.UserText("go")}})
		return rec.Result.Waiting.Tickets[0].Suspension
	}
	plain, listed := question(``, ""), question(`{"remember":["project","user"]}`, "")
	other := &awaken.Suspension{Action: "tool:ask"}
	const project, user = `{"remember":{"scope":"project"}}`, `{"rem\u0065mber":"user"}`
	for _, tt := range []struct {
		question       *awaken.Suspension
		result, by, of string
		want           string // in the error; "" is none
	}{
		{plain, `{"approved":true}`, "", "alice", ""},
		{plain, `{"remember":"thread"}`, "", "alice", ""},
		{plain, project, "alice", "alice", "applies to all users of the agent"},
		{listed, project, "alice", "alice", ""},
		{other, project, "", "", ""},
		{nil, project, "alice", "alice", "applies to all users of the agent"},
		{plain, user, "", "alice", "the request has no user"},
		{plain, user, "bob", "alice", `made by user "bob" and the run is for another user`},
		{listed, user, "bob", "alice", `made by user "bob"`},
		{plain, user, "alice", "alice", ""},
	} {
		err := permission.Vet(tt.question, json.RawMessage(tt.result), tt.by, tt.of)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s by %q of %q's run: %v, want %q", tt.result, tt.by, tt.of, err, tt.want)
		}
	}
}

// Rules live in the configuration, not in the thread.
func TestRules_RemovedRulesNoLongerApply(t *testing.T) { // L-53
	t.Parallel()
	store := memory.New()
	run := func(section string) *awakentest.Recording {
		h := awakentest.New(t, engine.Config{
			Store: store, NewID: nil,
			Agents: []*awaken.AgentSpec{{ID: engine.DefaultAgentID, PluginIDs: []string{permission.Name},
				Sections: map[string]json.RawMessage{permission.Name: json.RawMessage(section)}}},
			Plugins: []awaken.Plugin{permission.New(permission.Config{})},
			Tools:   []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "Bash"}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return "", nil })},
		}, call("Bash", `{}`)...)
		return h.Run(awaken.RunRequest{ThreadID: "t", RunID: "run-" + section, Messages: []*llm.Message{llm.UserText("go")}})
	}
	run(`{"rules":[{"tool":"Bash","behavior":"allow"}]}`)
	if rec := run(`{"rules":[]}`); rec.Result == nil || rec.Result.Termination.Type != awaken.Suspended {
		t.Errorf("the call of an agent that has no rule any more is not asked about: %v", rec.Err)
	}
}

func TestRemembered_CanBeListedAndForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t, permission.Config{}, ``, bash("ls")...)
	rec := r.Run(awaken.RunRequest{UserID: "alice", Messages: []*llm.Message{llm.UserText("go")}})
	r.Resume(rec.Result.RunID, approve(rec, `{"remember":"user"}`))
	rules, err := permission.Remembered(t.Context(), r.Profile, profile.User("alice"))
	if want := []permission.Rule{{Tool: "Bash", Behavior: permission.Allow, Scope: permission.User}}; err != nil || !reflect.DeepEqual(rules, want) {
		t.Fatalf("remembered %v, %v", rules, err)
	}
	if err := permission.Forget(t.Context(), r.Profile, profile.User("alice")); err != nil {
		t.Fatal(err)
	}
	if rules, _ := permission.Remembered(t.Context(), r.Profile, profile.User("alice")); len(rules) > 0 {
		t.Errorf("still there: %v", rules)
	}
}

func TestLoad_ReadsYAMLAndJSON(t *testing.T) { // L-64
	t.Parallel()
	want := permission.Config{DefaultBehavior: permission.Deny, OnDeny: permission.DenyError, Rules: []permission.Rule{
		{Tool: "read_file", Behavior: permission.Allow}, {Tool: "Bash(npm *)", Behavior: permission.Allow, Scope: permission.Run}}}
	for name, text := range map[string]string{
		"rules.yaml": "default_behavior: deny\nrules:\n  - tool: read_file\n    behavior: allow\n  - {tool: \"Bash(npm *)\", behavior: allow, scope: session}\n",
		"rules.json": `{"default_behavior":"deny","rules":[{"tool":"read_file","behavior":"allow"},{"tool":"Bash(npm *)","behavior":"allow","scope":"run"}]}`,
	} {
		got, err := permission.Load(write(t, name, text))
		if err != nil || got.DefaultBehavior != want.DefaultBehavior || got.OnDeny != want.OnDeny || !reflect.DeepEqual(got.Rules, want.Rules) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for text, want := range map[string]string{
		"rules:\n  - tool: a\n    behaviour: deny\n": "rules.yaml:3:",
		"rules:\n  - {tool: 'a(', behavior: deny}\n": "offset 1: ( is not closed",
		"rules: 3\n": "rules",
		"rules:\n  - {tool: a, behavior: deny}\nrules: []\n": "given twice",
	} {
		if _, err := permission.Load(write(t, "rules.yaml", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want %s", text, err, want)
		}
	}
	if _, err := permission.Load(filepath.Join(t.TempDir(), "none.yaml")); err == nil {
		t.Error("a file that is not there is read")
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A rule that names an argument which its tool does not have never matches. Its author
// is told when the agent is loaded.
func TestRules_ThatNameUnknownArgumentsAreWarnedAbout(t *testing.T) {
	t.Parallel()
	edit := awaken.NewTool(awaken.ToolSpec{ID: "Edit"}, func(context.Context, *awaken.ToolCall, struct {
		FilePath string `json:"file_path"`
	}) (string, error) {
		return "", nil
	})
	h := awakentest.New(t, engine.Config{
		Agents: []*awaken.AgentSpec{{ID: engine.DefaultAgentID, PluginIDs: []string{permission.Name},
			Sections: map[string]json.RawMessage{permission.Name: json.RawMessage(`{"rules":[
				{"tool":"Edit(file_path ~ 'src/**')","behavior":"allow"},{"tool":"Edit(path ~ '/etc/**')","behavior":"deny"}]}`)}}},
		Plugins: []awaken.Plugin{permission.New(permission.Config{Rules: []permission.Rule{{Tool: "E*(file ~ 'x')", Behavior: permission.Deny}}})},
		Tools:   []awaken.Tool{edit},
	})
	var got []string
	for _, d := range h.Runtime.Registry().Diagnostics() {
		got = append(got, string(d.Severity)+" "+d.Code+": "+d.Message)
	}
	want := []string{
		`warning rule_argument_unknown: pattern "E*(file ~ 'x')" names argument "file", which tool "Edit" does not have; available: ["file_path"]`,
		`warning rule_argument_unknown: pattern "Edit(path ~ '/etc/**')" names argument "path", which tool "Edit" does not have; available: ["file_path"]`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("diagnostics are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
