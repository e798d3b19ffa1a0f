package acp_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol/acp"
)

// toolbox is a server of an editor in a test.
type toolbox struct {
	tools  []awaken.Tool
	closed chan struct{}
	once   sync.Once
	silent bool // it is never connected
}

func newToolbox(tools ...awaken.Tool) *toolbox {
	return &toolbox{tools: tools, closed: make(chan struct{})}
}

func (b *toolbox) Ready(ctx context.Context) error {
	if !b.silent {
		return nil
	}
	select {
	case <-b.closed:
		return errors.New("it was closed")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *toolbox) Tools() []awaken.Tool { return b.tools }

func (b *toolbox) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// boxed connects every server to a box.
func boxed(box acp.Toolbox) func(*acp.Config) {
	return func(c *acp.Config) { c.Connect = func(acp.ToolServer) (acp.Toolbox, error) { return box, nil } }
}

const boxServer = `[{"name":"box","command":"/bin/box","args":[],"env":[]}]`

// ends fails the test if a box is not closed soon.
func (b *toolbox) ends(t *testing.T, when string) {
	t.Helper()
	select {
	case <-b.closed:
	case <-time.After(10 * time.Second):
		t.Errorf("%s: the server of the editor is not closed", when)
	}
}

// The servers of a session end with it, however it ends.
func TestToolServers_EndWithTheirSession(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, c *client, s string, store awaken.ThreadEditor){
		"closed": func(_ *testing.T, c *client, s string, _ awaken.ThreadEditor) {
			c.must("session/close", fmt.Sprintf(`{"sessionId":%q}`, s))
		},
		"deleted": func(_ *testing.T, c *client, s string, _ awaken.ThreadEditor) {
			c.must("session/delete", fmt.Sprintf(`{"sessionId":%q}`, s))
		},
		"replaced": func(_ *testing.T, c *client, s string, _ awaken.ThreadEditor) {
			c.must("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/src","mcpServers":[]}`, s))
		},
		"quit": func(_ *testing.T, c *client, _ string, _ awaken.ThreadEditor) { _ = c.in.Close(); <-c.served },
		"deleted after its thread": func(t *testing.T, c *client, s string, store awaken.ThreadEditor) {
			if err := store.DeleteThread(t.Context(), s, awaken.CascadeChildren); err != nil {
				t.Fatal(err)
			}
			c.must("session/delete", fmt.Sprintf(`{"sessionId":%q}`, s))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, box := newRig(t), newToolbox()
			box.silent = true
			c := begin(t, g.Box, `{}`, boxed(box))
			s := begun(t, c.must("session/new", `{"cwd":"/src","mcpServers":`+boxServer+`}`))
			end(t, c, s, g.Box.Tenant("").Store.(awaken.ThreadEditor))
			box.ends(t, name)
			if name != "quit" {
				c.must("session/list", `{}`)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if strings.Contains(strings.Join(c.lines, ""), "cannot be used now") {
				t.Errorf("the user is told that the server of a session which has ended cannot be used:\n%s", strings.Join(c.lines, ""))
			}
		})
	}
}

// A session that ends while its servers are being connected leaves none behind.
func TestToolServers_OfASessionThatEndsMeanwhile(t *testing.T) {
	for name, end := range map[string]string{
		"session/close":  `{"sessionId":%q}`,
		"session/delete": `{"sessionId":%q}`,
		"session/load":   `{"sessionId":%q,"cwd":"/src","mcpServers":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			g, box := newRig(t), newToolbox()
			begun, gate := make(chan struct{}), make(chan struct{})
			c := begin(t, g.Box, `{}`, func(c *acp.Config) {
				c.Connect = func(acp.ToolServer) (acp.Toolbox, error) {
					close(begun)
					<-gate
					return box, nil
				}
			})
			s := c.session("default")
			c.must("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/src","mcpServers":%s}`, s, boxServer))
			<-begun
			c.must(name, fmt.Sprintf(end, s))
			close(gate)
			box.ends(t, name)
		})
	}
}

// funcTool is a tool of a server in a test.
type funcTool struct {
	spec awaken.ToolSpec
	call func(ctx context.Context, call *awaken.ToolCall) (*awaken.ToolResult, error)
}

func (f *funcTool) Spec() awaken.ToolSpec { return f.spec }

func (f *funcTool) Call(ctx context.Context, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	return f.call(ctx, call)
}

// What a server makes of a call, the model is told: also if it is not known what became of it.
func TestToolServers_ResultsOfCalls(t *testing.T) {
	for name, test := range map[string]struct {
		call func(ctx context.Context, call *awaken.ToolCall) (*awaken.ToolResult, error)
		want []string
	}{
		"no answer": {func(ctx context.Context, _ *awaken.ToolCall) (*awaken.ToolResult, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}, []string{"did not answer within", "took effect is not known"}},
		"a question": {func(context.Context, *awaken.ToolCall) (*awaken.ToolResult, error) {
			return nil, awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{ID: "q", Message: "Your name?"}})
		}, []string{"which the editor cannot show", "took effect is not known"}},
		"data with a note": {func(context.Context, *awaken.ToolCall) (*awaken.ToolResult, error) {
			return &awaken.ToolResult{Data: []byte(`{"answer":42}`), Message: "a note"}, nil
		}, []string{"42", "a note"}},
	} {
		t.Run(name, func(t *testing.T) {
			tool := &funcTool{awaken.ToolSpec{ID: "mcp__box__do", Parameters: []byte(`{"type":"object"}`), Untrusted: true, Timeout: time.Minute}, test.call}
			if name == "no answer" {
				tool.spec.Timeout = 10 * time.Millisecond
			}
			g := newRig(t)
			c := begin(t, g.Box, `{}`, boxed(newToolbox(tool)))
			c.ask = choosing("allow_once")
			s := begun(t, c.must("session/new", `{"cwd":"/src","mcpServers":`+boxServer+`}`))
			c.prompt(s, `RUN_TOOL mcp__box__do {}`)
			if got := transcript(c.all(s)); slices.ContainsFunc(test.want, func(w string) bool { return !strings.Contains(got, w) }) {
				t.Errorf("the conversation is\n%swant %q", got, test.want)
			}
			store := g.Box.Tenant("").Store
			th, err := store.Thread(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if run, err := store.LoadRun(t.Context(), th.LatestRunID); err != nil || run.Taint == nil && name == "data with a note" {
				t.Errorf("the run has read what a server says, and is not marked: %+v, %v", run, err)
			}
		})
	}
}
