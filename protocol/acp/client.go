package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/permission"
)

// Tools that the client runs: its file system, with what the user has not saved yet, and its terminal.
const (
	readTool  = "editor_read_file"
	writeTool = "editor_write_file"
	runTool   = "editor_run_command"
)

// clientTools returns the tools that the client offers: its own, and those of its MCP servers.
func (s *session) clientTools(ctx context.Context) (out []awaken.ToolSpec) {
	can, _ := s.capabilities()
	add := func(offered bool, id, description, parameters string) {
		if offered {
			out = append(out, awaken.ToolSpec{ID: id, Name: id, Description: description, Parameters: json.RawMessage(parameters)})
		}
	}
	add(can.FS.Read, readTool, "Reads a text file in the user's editor, with changes that are not saved yet.",
		`{"type":"object","properties":{"path":{"type":"string","description":"absolute, or relative to the user's folder"},"line":{"type":"integer","minimum":1,"description":"first line, counted from 1"},"limit":{"type":"integer","minimum":1,"description":"number of lines"}},"required":["path"],"additionalProperties":false}`)
	add(can.FS.Write, writeTool, "Writes a text file in the user's editor. It replaces what the file has.",
		`{"type":"object","properties":{"path":{"type":"string","description":"absolute, or relative to the user's folder"},"content":{"type":"string","description":"the whole new text"}},"required":["path","content"],"additionalProperties":false}`)
	add(can.Terminal, runTool, "Runs a command in the user's terminal and returns its output.",
		`{"type":"object","properties":{"command":{"type":"string","description":"the program"},"args":{"type":"array","items":{"type":"string"}},"cwd":{"type":"string","description":"folder; default the user's"},"timeout_seconds":{"type":"integer","minimum":1,"maximum":3600,"description":"default 120"}},"required":["command"],"additionalProperties":false}`)
	for _, t := range s.serverTools(ctx) {
		spec := t.Spec()
		out = append(out, awaken.ToolSpec{ID: spec.ID, Name: spec.Name, Description: spec.Description, Parameters: spec.Parameters, Untrusted: spec.Untrusted})
	}
	return out
}

// isClientCall reports whether a ticket is a call of one of the client's tools that this client has.
func (t *turn) isClientCall(ticket *awaken.WaitingTicket) bool {
	can, _ := t.capabilities()
	offered := map[string]bool{readTool: can.FS.Read, writeTool: can.FS.Write, runTool: can.Terminal}
	return ticket.RunID == "" && ticket.ResumeMode == awaken.UseDecisionAsToolResult && ticket.Suspension != nil &&
		ticket.Suspension.Action == "tool:"+ticket.ToolName && (offered[ticket.ToolName] || t.hasServer(ticket.ToolName))
}

// clientCall holds the arguments of a call of a tool of the client.
type clientCall struct {
	Path    string   `json:"path"`
	Line    *int     `json:"line"`
	Limit   *int     `json:"limit"`
	Content string   `json:"content"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Cwd     string   `json:"cwd"`
	Timeout int      `json:"timeout_seconds"`
}

// perform makes a call of a tool of the client and decides the ticket with its result.
func (t *turn) perform(ctx context.Context, ticket *awaken.WaitingTicket, late bool) {
	var tool awaken.Tool // of an MCP server of the editor; nil for the editor's own
	var c clientCall
	if t.hasServer(ticket.ToolName) {
		if tool = t.serverTool(ctx, ticket.ToolName); tool == nil {
			t.decide(ctx, ticket.Reject("No MCP server of the editor has this tool now."))
			return
		}
	} else if err := json.Unmarshal(ticket.Arguments, &c); err != nil { // the schema was checked
		t.decide(ctx, ticket.Reject("the arguments cannot be read: "+err.Error()))
		return
	}
	if c.Path != "" {
		c.Path = absolute(t.cwd, c.Path)
	}
	c.Cwd = absolute(t.cwd, c.Cwd)
	ok, err := t.agreed(ctx, ticket, &c, late, tool)
	switch {
	case err != nil:
		t.unasked(ctx, err)
		return
	case !ok:
		return
	}
	var result any
	switch ticket.ToolName {
	case readTool:
		result, err = t.readFile(ctx, &c)
	case writeTool:
		result, err = empty{}, t.Conn.call(ctx, methodWriteFile, map[string]any{"sessionId": t.id, "path": c.Path, "content": c.Content}, nil)
	case runTool:
		result, err = t.runCommand(ctx, ticket, &c)
	default:
		result, err = t.callServer(ctx, tool, ticket)
	}
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, errClosed)):
		return // the client is gone, or the run has ended; the ticket stays, and the next client is asked
	case err != nil:
		t.decide(ctx, ticket.Reject(err.Error()))
		return
	}
	data, err := json.Marshal(result)
	if err != nil {
		t.decide(ctx, ticket.Reject(err.Error()))
		return
	}
	t.decide(ctx, ticket.Answer(data))
}

// agreed asks the user whether a call may be made. Files below the session's folder can be read without
// asking. Otherwise the permission rules of the agent decide, which have let the call pass; a user whose
// agent has none is asked. Calls of the editor's MCP servers are asked about in any case, because the author of
// the rules does not know these servers, unless the rules have asked the user already. A call that has an effect
// and may have been made by a connection before this one is always asked about. If the user refuses, the ticket is decided.
func (t *turn) agreed(ctx context.Context, ticket *awaken.WaitingTicket, c *clientCall, late bool, of awaken.Tool) (bool, error) {
	tool, question := ticket.ToolName, ""
	reads := tool == readTool || of != nil && of.Spec().Effect == awaken.ReadOnly
	switch {
	case late && !reads:
		question = "May have been done already. Do it again? "
	case tool == readTool && below(t.cwd, c.Path), t.allowed(tool), of == nil && t.governed(ctx), of != nil && t.approved(ctx, ticket):
		return true, nil
	}
	args := argumentsOf(ticket.Arguments, t.cwd)
	title := question + args.title(tool, t.cwd)
	if tool == runTool {
		title = question + strings.Join(append([]string{c.Command}, c.Args...), " ")
	}
	options := []permissionOption{{allowOnce, "Allow once", "allow_once"}, {allowThread, "Always allow " + tool + " in this session", "allow_always"}, {rejectOnce, "Reject", "reject_once"}}
	chosen, err := t.request(ctx, ticket, title, t.change(ctx, tool, c), options)
	if err != nil {
		return false, err
	}
	switch chosen {
	case allowOnce:
		return true, nil
	case allowThread:
		return true, t.allow(ctx, tool)
	case rejectOnce:
		t.decide(ctx, ticket.Reject("The user rejected the call."))
	default:
		t.cancel()
	}
	return false, nil
}

// below reports whether a path is in a folder, and does not lead out of it by a symbolic link.
func below(folder, path string) bool {
	if !within(folder, path) {
		return false
	}
	root, err := filepath.EvalSymlinks(folder)
	if err != nil { // not a folder of this machine
		return true
	}
	for ; within(folder, path); path = filepath.Dir(path) { // a file may not exist yet
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return within(root, real)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return false // a link to what cannot be seen
		}
	}
	return false
}

func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// governed reports whether the agent that the run has now, which need not be the one that it began with, has
// permission rules.
func (t *turn) governed(ctx context.Context) bool {
	run, err := t.Tenant.Store.LoadRun(ctx, t.runID)
	if err != nil {
		return false // the user is asked
	}
	spec := t.Catalogue().Agent(run.AgentID)
	return spec != nil && slices.Contains(spec.PluginIDs, permission.Name)
}

// approved reports whether a person has approved the call of the ticket before, because a permission rule asked.
func (t *turn) approved(ctx context.Context, ticket *awaken.WaitingTicket) bool {
	decided, err := t.Tenant.Store.Decisions(ctx, mailbox.DecisionQuery{RunIDs: []string{t.runID}, Tool: ticket.ToolName, Limit: 1000})
	return err == nil && slices.ContainsFunc(decided, func(d *awaken.Decided) bool {
		return d.ToolCallID == ticket.ToolCallID && d.TicketID != ticket.TicketID && d.Action == awaken.ActionResume
	})
}

// allowed reports whether the user has allowed a tool of the client for the session.
func (s *session) allowed(tool string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.options.Allowed, tool)
}

// allow remembers that a tool of the client may be used in the session.
func (s *session) allow(ctx context.Context, tool string) error {
	s.mu.Lock()
	if !slices.Contains(s.options.Allowed, tool) {
		s.options.Allowed = append(slices.Clip(s.options.Allowed), tool)
	}
	s.mu.Unlock()
	return s.keep(ctx, "")
}

// change returns what a write would change, with the text that the file has now if the client lets it be
// read.
func (t *turn) change(ctx context.Context, tool string, c *clientCall) []callContent {
	if tool != writeTool {
		return nil
	}
	out := callContent{Type: "diff", Path: c.Path, NewText: &c.Content}
	if can, _ := t.capabilities(); can.FS.Read {
		if old, err := t.readFile(ctx, &clientCall{Path: c.Path}); err == nil { // a file that does not exist has none
			out.OldText = &old
		}
	}
	return []callContent{out}
}

func (t *turn) readFile(ctx context.Context, c *clientCall) (string, error) {
	var out struct {
		Content string `json:"content"`
	}
	err := t.Conn.call(ctx, methodReadFile, struct {
		SessionID string `json:"sessionId"`
		Path      string `json:"path"`
		Line      *int   `json:"line,omitempty"`
		Limit     *int   `json:"limit,omitempty"`
	}{t.id, c.Path, c.Line, c.Limit}, &out)
	return out.Content, err
}

// commandResult is what the model is told about a command.
type commandResult struct {
	Output    string  `json:"output"`
	Truncated bool    `json:"truncated,omitempty"`
	ExitCode  *int    `json:"exit_code,omitempty"`
	Signal    *string `json:"signal,omitempty"`
	TimedOut  bool    `json:"timed_out,omitempty"`
}

// runCommand runs a command in the client's terminal, which it shows.
func (t *turn) runCommand(ctx context.Context, ticket *awaken.WaitingTicket, c *clientCall) (*commandResult, error) {
	var made struct {
		ID string `json:"terminalId"`
	}
	if c.Args == nil {
		c.Args = []string{}
	}
	if err := t.Conn.call(ctx, methodTerminal, map[string]any{"sessionId": t.id, "command": c.Command, "args": c.Args, "cwd": c.Cwd, "env": []struct{}{}, "outputByteLimit": 64 << 10}, &made); err != nil {
		return nil, err
	}
	in := map[string]string{"sessionId": t.id, "terminalId": made.ID}
	release := func() { // also if the turn is over
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = t.Conn.call(ctx, methodRelease, in, nil)
	}
	defer release()
	t.mu.Lock()
	id := t.wire[ticket.TicketID]
	t.mu.Unlock()
	t.update(&Update{SessionUpdate: "tool_call_update", CallID: id, Status: "in_progress", Content: []callContent{{Type: "terminal", TerminalID: made.ID}}})
	limit := 120 * time.Second
	if c.Timeout > 0 {
		limit = time.Duration(c.Timeout) * time.Second
	}
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out commandResult
	var exit struct {
		Code   *int    `json:"exitCode"`
		Signal *string `json:"signal"`
	}
	err := t.Conn.call(wait, methodExit, in, &exit)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case errors.Is(err, context.DeadlineExceeded):
		out.TimedOut = true
		if err := t.Conn.call(ctx, methodKill, in, nil); err != nil {
			return nil, fmt.Errorf("the command takes longer than %v and cannot be ended: %w", limit, err)
		}
	case err != nil:
		return nil, err
	}
	out.ExitCode, out.Signal = exit.Code, exit.Signal
	var shown struct {
		Output    string `json:"output"`
		Truncated bool   `json:"truncated"`
	}
	if err := t.Conn.call(ctx, methodOutput, in, &shown); err != nil {
		return nil, err
	}
	out.Output, out.Truncated = shown.Output, shown.Truncated
	return &out, nil
}
