package config_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/configtest"
	"github.com/awaken-go/awaken/internal/bubbletest"
)

const mcpSpec = `"transport":"stdio","command":"serve","env":{"TOKEN":"mcp-env-secret"}`

func (r *rig) connections() (envs []string, made int) {
	specs, made := r.mcp.Open()
	for _, s := range specs {
		envs = append(envs, s.Command+" "+s.Env["TOKEN"].Expose())
	}
	return envs, made
}

func TestMCP_ConnectionsLiveAsLongAsTheirDocument(t *testing.T) {
	r := newRig(t, nil, nil)
	r.mcp.Server("files", "", "read", "write")
	r.basics()
	r.put("mcp-servers/files", mcpSpec)
	r.wantAnswer("[sk-first-secret]one up 4 tools", "4")
	if got := r.tools(); !strings.Contains(got, "mcp__files__read: tool read.") {
		t.Errorf("tools are %q", got)
	}
	r.put("agents/a", `"model_id":"m","system_prompt":"two"`)
	if envs, made := r.connections(); made != 1 || !slices.Equal(envs, []string{"serve mcp-env-secret"}) {
		t.Errorf("connections are %q, made %d: want one", envs, made)
	}
	r.put("mcp-servers/files", `"transport":"stdio","command":"serve","timeout_secs":7`) // keeps its env
	if envs, made := r.connections(); made != 2 || !slices.Equal(envs, []string{"serve mcp-env-secret"}) {
		t.Errorf("connections are %q, made %d: want the new one only", envs, made)
	}
	r.put("mcp-servers/files", `"transport":"stdio","command":"serve2","env":{"TOKEN":"other-env-secret"}`)
	if envs, _ := r.connections(); !slices.Equal(envs, []string{"serve2 other-env-secret"}) {
		t.Errorf("connections are %q, want one with the new secret", envs)
	}
	// A refused or dry write leaves nothing behind.
	k := key("mcp-servers/more")
	if _, err := r.Validate(t.Context(), k, doc(k, mcpSpec)); err != nil {
		t.Fatal(err)
	}
	_, err := r.Apply(t.Context(), documents("mcp-servers/more "+mcpSpec, `agents/bad "model_id":"none"`), false, false, me)
	wantErr(t, err, awaken.ErrInvalid)
	if envs, _ := r.connections(); len(envs) != 1 {
		t.Errorf("connections are %q, want one", envs)
	}
	if n := r.mcp.Started(); n != 3 {
		t.Errorf("%d connections were started, want the 3 that were published", n)
	}
	// A run pinned to an older version keeps the server of that version.
	if got, _ := r.ask(awaken.RunRequest{ResolutionID: "4"}); got != "[sk-first-secret]one up 4 tools" {
		t.Errorf("the pinned run says %q", got)
	}
	if err := r.Delete(t.Context(), k, false, config.Condition{}, me); err == nil {
		t.Error("what is not there is deleted")
	}
	if err := r.Delete(t.Context(), key("mcp-servers/files"), false, config.Condition{}, me); err != nil {
		t.Fatal(err)
	}
	r.wantAnswer("[sk-first-secret]two up 2 tools", "8")
	r.Close()
	if envs, _ := r.connections(); len(envs) != 0 {
		t.Errorf("connections are %q after Close", envs)
	}
}

// A name that means no tool is reported where it is written. While a server that may have the tool is away, it is not known
// yet; when the server is back, only what matches nothing is reported.
func TestMCP_NamesOfToolsOfAServerThatIsAwayAreNotKnownYet(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		r.mcp.Server("files", "no route to host", "read-all")
		r.basics()
		r.put("mcp-servers/files", mcpSpec)
		v := r.put("agents/a", `"model_id":"m","excluded_tools":["mcp__files__read-all","read-all","mcp__gone__x"]`)
		told := func(list []awaken.Diagnostic) string {
			var out []string
			for _, d := range list {
				if d.Namespace == "agents" {
					out = append(out, d.Code+" "+d.Message)
				}
			}
			return strings.Join(out, "\n")
		}
		const away = ` matches no tool that is known yet: the tools of MCP server "files" are not known, because it is not connected`
		gone := `catalog_literal_matches_nothing excluded_tools has "mcp__gone__x", which is not a registered tool`
		got := told(v.Diagnostics)
		if !strings.HasPrefix(got, `catalog_literal_unknown_yet excluded_tools has "mcp__files__read-all"`+away+"\n"+`catalog_literal_unknown_yet excluded_tools has "read-all"`+away+"\n"+gone) {
			t.Errorf("the write is answered with\n%s", got)
		}
		if all := told(r.Diagnostics()); all != got {
			t.Errorf("the diagnostics are\n%s", all)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go r.Work(ctx)
		r.mcp.Server("files", "", "read-all", "write")
		synctest.Wait()
		if got := told(r.Diagnostics()); !strings.HasPrefix(got, gone) || strings.Contains(got, "\n") {
			t.Errorf("when the server is back, the diagnostics are\n%s", got)
		}
		if v, err := r.Get(t.Context(), key("agents/a")); err != nil || !strings.HasPrefix(told(v.Diagnostics), gone) {
			t.Errorf("%v, %v", v, err)
		}
		cancel()
		synctest.Wait()
	})
}

func TestMCP_AServerThatIsDownDoesNotBlockWrites(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		r.mcp.Server("files", "no route to host", "read")
		r.basics()
		r.put("mcp-servers/files", mcpSpec)
		r.wantAnswer("[sk-first-secret]one up 2 tools", "4")
		d := r.Diagnostics()
		if len(d) != 1 || d[0].Code != "mcp_unavailable" || !strings.Contains(d[0].Message, "no route") {
			t.Errorf("diagnostics are %v", d)
		}
		c, err := r.Connections().MCP("files")
		if err != nil || c.Status().Connected {
			t.Errorf("the status is %+v (%v)", c.Status(), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go r.Work(ctx)
		r.mcp.Server("files", "", "read")
		synctest.Wait()
		r.wantAnswer("[sk-first-secret]one up 3 tools", "4") // the same version
		r.mcp.Server("files", "", "write", "more")
		synctest.Wait()
		if got := r.tools(); strings.Contains(got, "read") || !strings.Contains(got, "mcp__files__more") {
			t.Errorf("tools are %q", got)
		}
		if d := r.Diagnostics(); len(d) > 0 {
			t.Errorf("diagnostics are %v", d)
		}
		_, err = r.Connections().MCP("none")
		wantErr(t, err, awaken.ErrNotFound)
		cancel()
		synctest.Wait()
	})
}

func TestServers_WithoutConnectors(t *testing.T) {
	r := newRig(t, nil, func(o *config.Options) { o.MCP, o.A2A = nil, nil })
	r.put("mcp-servers/files", mcpSpec)
	r.put("a2a-servers/far", `"base_url":"https://far.example"`)
	_, err := r.Connections().MCP("files")
	wantErr(t, err, config.ErrNoConnector)
	_, err = r.Connections().A2A(t.Context(), "far")
	wantErr(t, err, config.ErrNoConnector)
	if d := r.Diagnostics(); len(d) != 1 || d[0].Code != "mcp_unavailable" {
		t.Errorf("diagnostics are %v", d)
	}
}

func TestA2A_Status(t *testing.T) {
	r := newRig(t, nil, func(o *config.Options) { o.A2A = configtest.A2A{Down: map[string]string{"gone": "no route"}} })
	r.put("a2a-servers/far", `"base_url":"https://far.example"`)
	r.put("a2a-servers/gone", `"base_url":"https://gone.example"`)
	if s, err := r.Connections().A2A(t.Context(), "far"); err != nil || !s.Connected {
		t.Errorf("%+v (%v)", s, err)
	}
	if s, err := r.Connections().A2A(t.Context(), "gone"); err != nil || s.Connected || *s.LastError != "no route" {
		t.Errorf("%+v (%v)", s, err)
	}
	_, err := r.Connections().A2A(t.Context(), "none")
	wantErr(t, err, awaken.ErrNotFound)
}
