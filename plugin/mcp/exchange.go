//lint:file-ignore SA1019 servers of the older revisions log, sample and ask for roots; the SDK keeps these deprecated features for them

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/tracecontext"
)

// exchange is a call of a tool, while the server works on it.
type exchange struct {
	call  *awaken.ToolCall
	tool  string // the server's name of what is called
	token string // by which the server reports progress
	news  chan struct{}

	ctx    context.Context // done when the call is cancelled or the session ends
	cancel context.CancelCauseFunc
	unhook func() bool
	done   chan answer

	waits  bool           // for a person, under the session's mu
	asks   chan *question // of the server
	open   *question      // that waits for a person
	expire *time.Timer    // of a call that is held

	mu       sync.Mutex
	progress *awaken.Progress // to show; nil if there is nothing new
	lines    []logLine        // to show
	shown    bool             // the lines are old
}

// answer is how a call ends.
type answer struct {
	res *sdk.CallToolResult
	err error
}

// LogActivity is the activity type of the log messages of a server.
const LogActivity = "mcp-log"

// logLine is a log message of a server.
type logLine struct {
	Level  string `json:"level"`
	Logger string `json:"logger,omitempty"`
	Text   string `json:"text"`
}

const (
	// reportEvery is the least time between two reports of a call.
	reportEvery = 100 * time.Millisecond
	// maxLines and maxLine limit the log messages that are shown: the last ones, and the bytes of one.
	maxLines = 20
	maxLine  = 2 << 10
)

var tokens atomic.Int64

// enter begins a call. It requires s.mu.
func (s *session) enter(ctx context.Context, call *awaken.ToolCall, tool string) *exchange {
	x := &exchange{
		call:  call,
		tool:  tool,
		token: strconv.FormatInt(tokens.Add(1), 10),
		news:  make(chan struct{}, 1),
		asks:  make(chan *question),
	}
	x.ctx, x.cancel = context.WithCancelCause(context.WithValue(s.ctx, callToken{}, x.token))
	x.unhook = context.AfterFunc(ctx, func() { x.cancel(context.Cause(ctx)) })
	s.calls[x.token] = x
	return x
}

// leave ends a call.
func (s *session) leave(x *exchange) {
	x.unhook()
	x.cancel(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, x.token)
	s.signal()
}

// busy reports whether the session has calls in flight.
func (s *session) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls) > 0
}

// logLevel is the lowest level of the log messages that servers are asked for.
const logLevel sdk.LoggingLevel = "info"

// askForLogs asks a server of the older revisions for its log messages. Those of the newer one are asked
// with each call.
func (s *session) askForLogs() {
	if s.modern() || s.InitializeResult().Capabilities.Logging == nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.conn.server.OpenTimeout)
	defer cancel()
	if err := s.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: logLevel}); err != nil {
		s.conn.log.Debug("an MCP server does not send its log", "error", s.conn.server.hide(err.Error()))
	}
}

// meta returns what the server is told about a call.
func (s *session) meta(x *exchange, at tracecontext.Context) sdk.Meta {
	m := sdk.Meta{"progressToken": x.token, "awaken/idempotency_key": x.call.Key}
	if s.modern() {
		m[sdk.MetaKeyLogLevel] = logLevel
	}
	if r := x.call.Run; r != nil {
		about := map[string]string{"agent_id": r.AgentID, "thread_id": r.ThreadID, "run_id": r.RunID, "call_id": x.call.ID}
		if r.ParentRunID != "" {
			about["parent_run_id"], about["parent_call_id"] = r.ParentRunID, r.ParentToolCallID
		}
		m["awaken/attribution"] = about
	}
	at.Inject(func(key, value string) { m[strings.ToLower(key)] = value })
	return m
}

// progress takes a report of the server. Only the latest of a call is kept.
func (s *session) progress(p *sdk.ProgressNotificationParams) {
	token := fmt.Sprint(p.ProgressToken)
	s.mu.Lock()
	x := s.calls[token]
	s.mu.Unlock()
	if x == nil || math.IsNaN(p.Progress) || math.IsInf(p.Progress, 0) {
		return // it comes too late
	}
	out := &awaken.Progress{Message: cut(p.Message, maxLine), Loaded: &p.Progress}
	if p.Total > 0 && !math.IsInf(p.Total, 0) {
		share := min(max(p.Progress/p.Total, 0), 1)
		out.Progress, out.Total = &share, &p.Total
	}
	x.mu.Lock()
	x.progress = out
	x.mu.Unlock()
	x.tell()
}

// logged takes a log message of the server. It belongs to a call if there is only one; the protocol
// does not say to which.
func (s *session) logged(p *sdk.LoggingMessageParams) {
	text, ok := p.Data.(string)
	if !ok {
		data, err := json.Marshal(p.Data)
		if err != nil {
			return
		}
		text = string(data)
	}
	line := logLine{Level: string(p.Level), Logger: cut(p.Logger, 100), Text: cut(s.conn.server.hide(text), maxLine)}
	s.conn.log.Debug("MCP server", "level", line.Level, "logger", line.Logger, "message", line.Text)
	s.mu.Lock()
	var x *exchange
	if len(s.calls) == 1 {
		for _, x = range s.calls {
		}
	}
	s.mu.Unlock()
	if x == nil {
		return
	}
	x.mu.Lock()
	if x.lines = append(x.lines, line); len(x.lines) > maxLines {
		x.lines = append(x.lines[:0], x.lines[len(x.lines)-maxLines:]...)
	}
	x.shown = false
	x.mu.Unlock()
	x.tell()
}

// tell says that there is something to report.
func (x *exchange) tell() {
	select {
	case x.news <- struct{}{}:
	default:
	}
}

// report shows what the server has said since the last report.
func (x *exchange) report() {
	x.mu.Lock()
	p, lines := x.progress, x.lines
	if x.progress = nil; x.shown {
		lines = nil
	} else {
		x.shown = true
		lines = append([]logLine(nil), lines...)
	}
	x.mu.Unlock()
	if p != nil {
		x.call.Progress(*p)
	}
	if len(lines) > 0 {
		_ = x.call.Activity(LogActivity, map[string]any{"lines": lines}) // lines have a JSON form
	}
}
