package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/bubbletest"
)

// odd is a connector to servers with an additional, unusable tool.
type odd struct{ config.MCPConnector }

type oddConnection struct{ config.MCPConnection }

type oddTool struct{ awaken.Tool }

func (o odd) Connect(ctx context.Context, spec *config.MCPServerSpec, changed func()) (config.MCPConnection, error) {
	c, err := o.MCPConnector.Connect(ctx, spec, changed)
	return oddConnection{c}, err
}

func (c oddConnection) Tools() []awaken.Tool {
	return append(c.MCPConnection.Tools(), oddTool{noop("mcp__files__odd")})
}

func (t oddTool) Spec() awaken.ToolSpec {
	s := t.Tool.Spec()
	s.Parameters = json.RawMessage(`{"type":"nonsense"}`)
	return s
}

func TestMCP_AnUnusableToolIsSkipped(t *testing.T) {
	r := newRig(t, nil, nil)
	r.o.MCP = odd{r.mcp}
	r.mcp.Server("files", "", "read", "read", "write")
	r.open()
	r.basics()
	r.put("mcp-servers/files", mcpSpec)
	for range 2 {
		r.wantAnswer("[sk-first-secret]one up 4 tools", "4")
		d := r.Diagnostics()
		if len(d) != 2 || d[0].Code != "tool_invalid" || d[1].Code != "tool_invalid" || d[0].Namespace != "mcp-servers" || d[0].Severity != awaken.Warning {
			t.Errorf("diagnostics are %v, want the tool that is there twice and the odd one", d)
		}
		r.open() // a process can start, whatever servers say
	}
}

// moody is a connector to servers with one tool whose description is unusable once.
type moody struct {
	config.MCPConnector
	bad *int // calls of Spec until then
}

type moodyConnection struct {
	config.MCPConnection
	bad *int
}

type moodyTool struct {
	awaken.Tool
	bad *int
}

func (o moody) Connect(ctx context.Context, spec *config.MCPServerSpec, changed func()) (config.MCPConnection, error) {
	c, err := o.MCPConnector.Connect(ctx, spec, changed)
	return moodyConnection{c, o.bad}, err
}

func (c moodyConnection) Tools() []awaken.Tool {
	var out []awaken.Tool
	for _, t := range c.MCPConnection.Tools() {
		out = append(out, moodyTool{t, c.bad})
	}
	return out
}

func (t moodyTool) Spec() awaken.ToolSpec {
	s := t.Tool.Spec()
	if *t.bad--; *t.bad == 0 {
		s.Parameters = json.RawMessage(`{"type":"nonsense"}`)
	}
	return s
}

// Tools that a version does not compile with are tried again, and are not forgotten.
func TestMCP_ToolsThatDoNotCompileAreTriedAgain(t *testing.T) {
	failures := 0
	for n := 1; n < 20; n++ {
		bubbletest.Test(t, func(t *testing.T) {
			r := newRig(t, nil, nil)
			bad := -1
			var log strings.Builder
			r.o.MCP, r.o.Logger = moody{r.mcp, &bad}, slog.New(slog.NewTextHandler(&log, nil))
			r.open()
			r.basics()
			r.put("mcp-servers/files", mcpSpec)
			ctx, cancel := context.WithCancel(t.Context())
			go r.Work(ctx)
			synctest.Wait()
			bad = n
			r.mcp.Server("files", "", "read")
			synctest.Wait()
			if strings.Contains(log.String(), "cannot update the tools of MCP servers") {
				failures++
				time.Sleep(time.Minute) // the next poll
				synctest.Wait()
			}
			cancel()
			synctest.Wait()
			got, _ := r.ask(awaken.RunRequest{})
			if skipped := len(r.Diagnostics()) > 0; got != "[sk-first-secret]one up 3 tools" && !skipped {
				t.Errorf("unusable at call %d: the run says %q, and no diagnostic says why", n, got)
			}
		})
	}
	if failures == 0 {
		t.Error("no version failed to compile")
	}
}

func TestOpen_SkillsThatCannotBeMadeAreReported(t *testing.T) {
	r := newRig(t, nil, nil)
	r.basics()
	r.put("skills/s", `"name":"s","description":"s","instructions_md":"s"`)
	r.o.Skills = func([]*config.SkillSpec) ([]awaken.Plugin, error) { return nil, errors.New("no skills today") }
	r.open()
	r.wantAnswer("[sk-first-secret]one up 2 tools", "4")
	if d := r.Diagnostics(); len(d) != 1 || d[0].Code != "skills_failed" {
		t.Errorf("diagnostics are %v", d)
	}
	r.o.Skills = func([]*config.SkillSpec) ([]awaken.Plugin, error) { return []awaken.Plugin{plugin("skills")}, nil }
	r.open()
	if d := r.Diagnostics(); len(d) > 0 {
		t.Errorf("diagnostics are %v", d)
	}
}

func TestMCP_ToolProblemsAreReportedOnce(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		r.mcp.Server("files", "", "read", "read")
		r.basics()
		r.put("mcp-servers/files", mcpSpec)
		ctx, cancel := context.WithCancel(t.Context())
		go r.Work(ctx)
		for range 3 {
			r.mcp.Server("files", "", "read", "read", "write")
			synctest.Wait()
			if d := r.Diagnostics(); len(d) != 1 {
				t.Errorf("diagnostics are %v, want one", d)
			}
		}
		r.mcp.Server("files", "", "read")
		synctest.Wait()
		if d := r.Diagnostics(); len(d) > 0 {
			t.Errorf("diagnostics are %v, want none", d)
		}
		cancel()
		synctest.Wait()
	})
}

func TestMCP_NewToolsReachPinnedVersionsAndCanary(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		r.mcp.Server("files", "it starts")
		r.basics()
		r.put("mcp-servers/files", mcpSpec)                       // 4
		r.put("agents/a", `"model_id":"m","system_prompt":"two"`) // 5
		r.draft("agents/a", `"model_id":"m","system_prompt":"canary"`)
		if _, err := r.Drafts().Publish(t.Context(), nil, &config.Canary{Share: 1}, "", me); err != nil { // 6
			t.Fatal(err)
		}
		r.ask(awaken.RunRequest{ResolutionID: "4"})
		ctx, cancel := context.WithCancel(t.Context())
		go r.Work(ctx)
		r.mcp.Server("files", "", "read")
		synctest.Wait()
		if got, _ := r.ask(awaken.RunRequest{ResolutionID: "4"}); got != "[sk-first-secret]one up 3 tools" {
			t.Errorf("the pinned run says %q", got)
		}
		r.wantAnswer("[sk-first-secret]canary up 3 tools", "6")
		if _, made := r.connections(); made != 1 {
			t.Errorf("%d connections were made, want one", made)
		}
		cancel()
		synctest.Wait()
	})
}
