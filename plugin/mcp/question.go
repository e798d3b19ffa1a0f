//lint:file-ignore SA1019 servers of the older revisions log, sample and ask for roots; the SDK keeps these deprecated features for them

package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state"
)

// question is what a server asks in a call: the user for input, or a model for an answer. Exactly one
// of elicit and sample is set.
type question struct {
	key    string // identifies the question in its call
	elicit *sdk.ElicitParams
	sample *sdk.CreateMessageParams
	reply  chan reply // to the server that waits; nil in the newer revision, where none does
}

// reply is the answer to a question. Exactly one field is set.
type reply struct {
	elicit *sdk.ElicitResult
	sample *sdk.CreateMessageResult
	err    error
}

// newQuestion returns a question with a key that a server which is asked again asks with too.
func newQuestion(elicit *sdk.ElicitParams, sample *sdk.CreateMessageParams) *question {
	data, err := json.Marshal([]any{elicit, sample})
	if err != nil {
		data = nil // a question that cannot be encoded has the key of the others of its kind
	}
	sum := sha256.Sum256(data)
	return &question{key: hex.EncodeToString(sum[:8]), elicit: elicit, sample: sample, reply: make(chan reply, 1)}
}

// dialogue is what a suspended call has to remember.
type dialogue struct {
	Count   int                        `json:"count"`             // of questions to people
	Samples int                        `json:"samples,omitempty"` // of questions to models
	Open    string                     `json:"open,omitempty"`    // key of the question that waits
	Answers map[string]json.RawMessage `json:"answers,omitempty"` // of people, by key
	// Again says that the open question is whether to make the call again.
	Again bool `json:"again,omitempty"`
	// Unauthorized says that the open question is to authorize the server, and Answered that the call had an answer before
	// it was asked.
	Unauthorized bool `json:"unauthorized,omitempty"`
	Answered     bool `json:"answered,omitempty"`
	Refusals     int  `json:"refusals,omitempty"` // of authorizations, by the server
	// Requests and State are what the server of the newer revision wants to know, and what it wants
	// back with the answers.
	Requests json.RawMessage `json:"requests,omitempty"`
	State    string          `json:"state,omitempty"`
}

// dialogues holds the dialogues of a run's suspended calls, by call.
var dialogues = state.NewKey("mcp.questions", func(all map[string]dialogue, e dialogueOf) map[string]dialogue {
	all = maps.Clone(all)
	if e.dialogue == nil {
		delete(all, e.call)
		return all
	}
	if all == nil {
		all = map[string]dialogue{}
	}
	all[e.call] = *e.dialogue
	return all
}, state.Options{Merge: state.Commutative})

// dialogueOf sets the dialogue of a call; nil removes it.
type dialogueOf struct {
	call     string
	dialogue *dialogue
}

// Keys returns the state keys that the tools of connections need. The plugin registers them; a program that uses [Connection.Tools] without
// the plugin passes them to its registry.
func Keys() []state.AnyKey { return []state.AnyKey{dialogues} }

// suspensionID is the id of the open question of a call.
func (d *dialogue) suspensionID(callID string) string {
	return fmt.Sprintf("mcp_%s_%d", callID, d.Count)
}

// ElicitationAction, SamplingAction and AgainAction are the actions of tickets: to fill in a form of the server, to allow a model to answer
// the server, and to repeat a call that was lost while it waited for an answer.
const (
	ElicitationAction = "mcp:elicitation"
	SamplingAction    = "mcp:sampling"
	AgainAction       = "mcp:again"
)

// maxQuestions limits the questions to people in one call.
const maxQuestions = 10

// ask suspends a call with a question to a person.
func (t *tool) ask(call *awaken.ToolCall, d *dialogue, q *question) error {
	if d.Count++; d.Count > maxQuestions {
		return fmt.Errorf("MCP server %q asked more than %d questions", t.conn.server.ID, maxQuestions)
	}
	d.Open, d.Again = q.key, false
	s := awaken.Suspension{ID: d.suspensionID(call.ID)}
	if q.elicit != nil {
		s.Action, s.Message = ElicitationAction, fmt.Sprintf("MCP server %q asks: %s", t.conn.server.ID, cut(q.elicit.Message, maxLine))
		if q.elicit.RequestedSchema != nil {
			s.ResponseSchema, _ = json.Marshal(q.elicit.RequestedSchema) // it came as JSON
		}
		if q.elicit.URL != "" {
			s.Message += " (" + cut(q.elicit.URL, maxLine) + ")"
		}
		s.Parameters, _ = json.Marshal(map[string]string{"server": t.conn.server.ID, "tool": t.tool.Name, "mode": q.elicit.Mode, "url": q.elicit.URL})
	} else {
		s.Action, s.Message = SamplingAction, fmt.Sprintf("MCP server %q asks for an answer of agent %q. Allow it?", t.conn.server.ID, t.conn.server.Sampling.Agent)
		s.Parameters, _ = json.Marshal(map[string]any{"server": t.conn.server.ID, "tool": t.tool.Name, "messages": q.sample.Messages, "system_prompt": q.sample.SystemPrompt})
	}
	return suspend(call, d, s, false)
}

// askAgain suspends a call whose session was lost while its question waited: the server may have begun
// with it.
func (t *tool) askAgain(call *awaken.ToolCall, d *dialogue) error {
	d.Count++
	d.Open, d.Again = "", true
	return suspend(call, d, awaken.Suspension{ID: d.suspensionID(call.ID), Action: AgainAction, Parameters: call.Args,
		Message: awaken.DoubtQuestion(fmt.Sprintf("The connection to MCP server %q was lost before your answer about the call of %q reached it.",
			t.conn.server.ID, t.tool.Name), "Make it again, with your answer?")}, t.spec.Effect != awaken.ReadOnly)
}

// askDoubt suspends a call in which the connection was lost.
func (t *tool) askDoubt(call *awaken.ToolCall, d *dialogue, lost string) error {
	d.Count++
	d.Open, d.Again, d.Requests, d.State, d.Answers = "", true, nil, "", nil
	happened := fmt.Sprintf("The connection to MCP server %q was lost in the call of %q: %s.", t.conn.server.ID, t.tool.Name, lost)
	return suspend(call, d, awaken.Suspension{ID: d.suspensionID(call.ID), Action: awaken.ActionInDoubt, Parameters: call.Args,
		Message: awaken.DoubtQuestion(happened, "Make the call again?")}, true)
}

// end forgets the dialogue of a call that is over.
func (d *dialogue) end(call *awaken.ToolCall) {
	if d.Count > 0 {
		dialogues.Update(call, dialogueOf{call.ID, nil})
	}
}

// suspend suspends a call. InDoubt says that it may have taken effect.
func suspend(call *awaken.ToolCall, d *dialogue, s awaken.Suspension, inDoubt bool) error {
	dialogues.Update(call, dialogueOf{call.ID, d})
	return awaken.Suspend(awaken.Ticket{Suspension: s, ResumeMode: awaken.ReplayToolCall, InDoubt: inDoubt})
}

// resumed returns the dialogue of a call, with the answer that resumed it, if one did.
func resumed(call *awaken.ToolCall) (d dialogue, answered bool) {
	if call.Resume == nil {
		return dialogue{}, false // it begins
	}
	d = dialogues.Get(call)[call.ID]
	if d.Count == 0 || call.Resume.SuspensionID != d.suspensionID(call.ID) {
		return d, false
	}
	if d.Unauthorized {
		d.Unauthorized = false
		return d, d.Answered
	}
	if d.Again {
		return d, true
	}
	answer := call.Resume.Answer()
	if answer == nil {
		answer = json.RawMessage("{}")
	}
	d.Answers = maps.Clone(d.Answers)
	if d.Answers == nil {
		d.Answers = map[string]json.RawMessage{}
	}
	d.Answers[d.Open] = answer
	return d, true
}

// respond answers a question, or suspends the call to ask a person.
func (t *tool) respond(ctx context.Context, call *awaken.ToolCall, d *dialogue, q *question) (reply, error) {
	answer, known := d.Answers[q.key]
	switch {
	case q.elicit != nil && known:
		r := &sdk.ElicitResult{Action: "accept"}
		if q.elicit.Mode != "url" {
			if err := json.Unmarshal(answer, &r.Content); err != nil {
				return reply{err: fmt.Errorf("the answer is not an object: %w", err)}, nil
			}
		}
		return reply{elicit: r}, nil
	case q.elicit != nil && t.conn.server.Unattended:
		return reply{elicit: &sdk.ElicitResult{Action: "decline"}}, nil
	case q.elicit != nil:
		return reply{}, t.ask(call, d, q)
	case t.conn.server.Sampling == nil:
		return reply{err: errors.New("models do not answer this server")}, nil
	case t.conn.server.Sampling.Ask && !known && t.conn.server.Unattended:
		return reply{err: errors.New("no person can allow models to answer this server")}, nil
	case t.conn.server.Sampling.Ask && !known:
		if d.Samples >= t.conn.server.Sampling.MaxPerCall {
			return reply{err: fmt.Errorf("models answer at most %d times in a call", t.conn.server.Sampling.MaxPerCall)}, nil
		}
		return reply{}, t.ask(call, d, q)
	}
	return t.sample(ctx, call, d, q.sample), nil
}

// answerAll answers what a server of the newer revision wants to know, or suspends the call.
func (t *tool) answerAll(ctx context.Context, call *awaken.ToolCall, d *dialogue) (sdk.InputResponseMap, error) {
	var requests sdk.InputRequestMap
	if err := json.Unmarshal(d.Requests, &requests); err != nil {
		return nil, fmt.Errorf("cannot decode a question of MCP server %q: %w", t.conn.server.ID, err)
	}
	out := sdk.InputResponseMap{}
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		q := &question{key: key}
		switch p := requests[key].(type) {
		case *sdk.ElicitParams:
			q.elicit = p
		case *sdk.CreateMessageParams:
			q.sample = p
		case *sdk.ListRootsParams:
			out[key] = &sdk.ListRootsResult{Roots: t.conn.roots()}
			continue
		default:
			return nil, fmt.Errorf("MCP server %q asks for %T, which is not supported", t.conn.server.ID, p)
		}
		r, err := t.respond(ctx, call, d, q)
		switch {
		case err != nil:
			return nil, err
		case r.err != nil:
			return nil, fmt.Errorf("MCP server %q: %w", t.conn.server.ID, r.err)
		case r.elicit != nil:
			out[key] = r.elicit
		default:
			out[key] = r.sample
		}
	}
	return out, nil
}

// roots returns the roots that the server is told.
func (c *Connection) roots() []*sdk.Root {
	out := []*sdk.Root{}
	for _, uri := range c.server.Roots {
		out = append(out, &sdk.Root{URI: uri})
	}
	return out
}

// put gives a question of the server to the call that it belongs to, and returns the answer. Token is that of the call whose
// stream has carried it, or "".
func (s *session) put(ctx context.Context, token string, q *question) (reply, error) {
	x, err := s.callOf(ctx, token)
	if err != nil {
		return reply{}, err
	}
	select {
	case x.asks <- q:
	case <-x.ctx.Done():
		return reply{}, context.Cause(x.ctx)
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	}
	select {
	case r := <-q.reply:
		return r, r.err
	case <-x.ctx.Done():
		return reply{}, context.Cause(x.ctx)
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	}
}

// holdFor is how long the call of a server waits for the answer of a person. Later the call is lost, and
// is made again with the answer.
const holdFor = 15 * time.Minute

// hold keeps a call whose question waits for a person. The run may be parked meanwhile.
func (s *session) hold(x *exchange, q *question) {
	x.unhook()
	x.open = q
	x.expire = time.AfterFunc(holdFor, func() {
		s.mu.Lock()
		if s.held[x.call.Key] == x {
			delete(s.held, x.call.Key)
		}
		s.mu.Unlock()
		s.leave(x)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = map[string]*exchange{}
	}
	s.held[x.call.Key] = x
	x.waits = true
	s.signal()
}

// retake returns the call of a tool that was held under a key, when no other may be asking, or nil if it is lost.
func (s *session) retake(ctx context.Context, call *awaken.ToolCall, tool string) *exchange {
	if s.awaitTurn(ctx, tool) != nil {
		return nil
	}
	x := s.held[call.Key]
	delete(s.held, call.Key)
	if x != nil {
		x.waits = false
	}
	s.mu.Unlock()
	if x == nil || !x.expire.Stop() || x.ctx.Err() != nil {
		return nil
	}
	x.call = call
	x.unhook = context.AfterFunc(ctx, func() { x.cancel(context.Cause(ctx)) })
	return x
}

// dismiss tells the server that no person will answer the questions that wait, so that it can end its
// calls.
func (s *session) dismiss() {
	s.mu.Lock()
	held := slices.Collect(maps.Values(s.held))
	clear(s.held)
	s.mu.Unlock()
	for _, x := range held {
		if !x.expire.Stop() {
			continue
		}
		r := reply{err: errClosed}
		if x.open.elicit != nil {
			r = reply{elicit: &sdk.ElicitResult{Action: "cancel"}}
		}
		x.open.reply <- r
	}
	over := time.After(closeGrace / 4)
	for _, x := range held {
		select {
		case <-x.done:
		case <-s.lost:
			return
		case <-over:
			return
		}
	}
}
