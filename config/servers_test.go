package config

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/awaken-go/awaken"
)

// line is a connection to an MCP server without tools.
type line struct {
	closed  bool
	changed func()
}

func (l *line) Tools() []awaken.Tool                                         { return nil }
func (l *line) Start()                                                       {}
func (l *line) Approve(context.Context, map[string]string) ([]string, error) { return nil, nil }
func (l *line) Status() MCPStatus                                            { return MCPStatus{Connected: !l.closed} }
func (l *line) Inventory(context.Context) (*MCPInventory, error)             { return &MCPInventory{}, nil }
func (l *line) Restart(context.Context) error                                { return nil }
func (l *line) Close() error                                                 { l.closed = true; return nil }

// exchange is a connector that records its lines. It fails with err, if set.
type exchange struct {
	lines []*line
	err   error
}

func (e *exchange) Connect(_ context.Context, _ *MCPServerSpec, changed func()) (MCPConnection, error) {
	if e.err != nil {
		return nil, e.err
	}
	l := &line{changed: changed}
	e.lines = append(e.lines, l)
	return l, nil
}

func mcpDoc(id, command string) *document {
	return newDocument(Key{MCPServers, id}, encode(map[string]any{"id": id, "transport": "stdio", "command": command}), 1)
}

func TestServers_ShareAConnectionUntilTheLastVersionDropsIt(t *testing.T) {
	x := &exchange{}
	ss := newServers(x)
	version := func(command string) (*compiled, bool) {
		s, fresh := ss.connect(t.Context(), mcpDoc("files", command), &secrets{})
		if s.err != nil {
			t.Fatal(s.err)
		}
		v := &compiled{servers: map[string]*server{"files": s}}
		ss.hold(v)
		return v, fresh
	}
	one, fresh := version("a")
	two, again := version("a")
	other, _ := version("b")
	if !fresh || again || len(x.lines) != 2 {
		t.Fatalf("%d connections, fresh %v and %v, want one for each document", len(x.lines), fresh, again)
	}
	ss.drop(one)
	if x.lines[0].closed {
		t.Error("a connection was closed that a version holds")
	}
	ss.drop(two)
	if !x.lines[0].closed || x.lines[1].closed {
		t.Error("want the connection closed that no version holds, and no other")
	}
	if _, fresh := version("a"); !fresh {
		t.Error("a connection that was closed is used again")
	}
	ss.end()
	if !x.lines[1].closed || !x.lines[2].closed || len(ss.open) != 0 {
		t.Error("end leaves connections open")
	}
	ss.drop(other) // it is closed, which is no mistake
}

func TestServers_RetryAfterAFailure(t *testing.T) {
	x := &exchange{err: errors.New("no such command")}
	ss := newServers(x)
	s, _ := ss.connect(t.Context(), mcpDoc("files", "a"), &secrets{})
	if !errors.Is(s.err, x.err) {
		t.Fatalf("the error is %v, want the connector's", s.err)
	}
	x.err = nil
	if s, fresh := ss.connect(t.Context(), mcpDoc("files", "a"), &secrets{}); s.err != nil || !fresh {
		t.Errorf("the second try has %v, fresh %v", s.err, fresh)
	}
	if s, _ := newServers(nil).connect(t.Context(), mcpDoc("files", "a"), &secrets{}); !errors.Is(s.err, ErrNoConnector) {
		t.Errorf("without a connector it is %v", s.err)
	}
}

func TestServers_ReportChangedToolsOnce(t *testing.T) {
	x := &exchange{}
	ss := newServers(x)
	for _, id := range []string{"b", "a"} {
		ss.connect(t.Context(), mcpDoc(id, "x"), &secrets{})
	}
	for _, l := range slices.Concat(x.lines, x.lines) {
		l.changed()
	}
	<-ss.wake
	if got := ss.take(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("others are %q", got)
	}
	if len(ss.wake) != 0 || len(ss.take()) != 0 {
		t.Error("it is told twice")
	}
}
