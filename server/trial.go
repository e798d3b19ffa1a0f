package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/pattern"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/profile"
	"github.com/awaken-go/awaken/protocol"
)

const (
	maxTrials       = 500 // calls that are judged at once
	maxTrialRuns    = 2000
	maxTrialThreads = 200
)

type trialBody struct {
	// Agent is the id of an agent, or the document of one that need not be saved.
	Agent json.RawMessage `json:"agent"`
	// Calls are judged as the first of their run. Without them, recent ones are.
	Calls  []trialCall  `json:"calls,omitempty"`
	Recent *recentCalls `json:"recent,omitempty"`
	// UserID is the user whose remembered approvals count for Calls.
	UserID string `json:"user_id,omitempty"`
}

type trialCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Tainted   bool            `json:"tainted,omitempty"` // the run has read untrusted content, and the tool is not read-only
}

// recentCalls selects the latest calls of the agent's runs in the tenant.
type recentCalls struct {
	Since string `json:"since,omitempty"` // RFC 3339
	Limit int    `json:"limit,omitempty"` // default and maximum 500
}

type trialReply struct {
	AgentID string         `json:"agent_id"`
	Totals  map[string]int `json:"totals"` // calls by behavior
	Items   []trialResult  `json:"items"`
	// Complete says that there were no further calls since the time that was asked for.
	Complete bool `json:"complete"`
}

// trialResult is what the rules decide about a call.
type trialResult struct {
	trialCall
	RunID    string        `json:"run_id,omitempty"`
	CallID   string        `json:"call_id,omitempty"`
	At       int64         `json:"at,omitempty"` // Unix ms
	Behavior string        `json:"behavior"`
	Rule     *matchedRule  `json:"rule"` // null if the default decides
	Others   []matchedRule `json:"others"`
}

// matchedRule is a rule that matches a call.
type matchedRule struct {
	Tool     string `json:"tool"`
	Behavior string `json:"behavior"`
	When     string `json:"when,omitempty"`
	Scope    string `json:"scope,omitempty"`
	Source   string `json:"source"`
	Index    int    `json:"index"` // in the rules of its source
}

// try says what the rules of an agent decide about calls.
func (h *permissions) try(req *request, body *trialBody) error {
	if h.plugin == nil {
		return errNoPermissions
	}
	switch {
	case len(body.Calls) > maxTrials:
		return protocol.BadRequest("calls has %d calls, want at most %d", len(body.Calls), maxTrials)
	case len(body.Calls) > 0 && body.Recent != nil:
		return protocol.BadRequest("calls and recent are both set, want only one of them")
	case body.Recent != nil && (body.Recent.Limit < 0 || body.Recent.Limit > maxTrials):
		return protocol.BadRequest("recent.limit is %d, want 1 to %d", body.Recent.Limit, maxTrials)
	}
	spec, err := h.agent(req, body.Agent)
	if err != nil {
		return err
	}
	out := trialReply{AgentID: spec.ID, Totals: map[string]int{string(permission.Allow): 0, string(permission.Ask): 0, string(permission.Deny): 0}, Items: []trialResult{}, Complete: true}
	users := []string{}
	if len(body.Calls) > 0 {
		for i, c := range body.Calls {
			if c.Tool == "" {
				return protocol.BadRequest("calls[%d].tool is empty", i)
			}
			out.Items = append(out.Items, trialResult{trialCall: c})
			users = append(users, body.UserID)
		}
	} else if out.Items, users, out.Complete, err = h.recent(req, spec, body.Recent); err != nil {
		return err
	}
	judges := map[string]func(permission.Trial) permission.Ruling{} // by user
	for i := range out.Items {
		c, user := &out.Items[i], users[i]
		if judges[user] == nil {
			kept, err := keptApprovals(req, spec.ID, user)
			if err != nil {
				return err
			}
			if judges[user], err = permission.Try(h.plugin, spec, kept); err != nil {
				return err
			}
		}
		c.decide(judges[user])
		out.Totals[c.Behavior]++
	}
	return req.Reply(200, out)
}

// decide fills in what a judge decides.
func (c *trialResult) decide(judge func(permission.Trial) permission.Ruling) {
	r := judge(permission.Trial{Tool: c.Tool, Args: c.Arguments, Tainted: c.Tainted})
	show := func(m permission.Matched) matchedRule {
		return matchedRule{m.Tool, string(m.Rule.Behavior), string(m.When), string(m.Scope), string(m.Source), m.Index}
	}
	c.Behavior, c.Others = string(r.Behavior), []matchedRule{}
	if r.Rule != nil {
		m := show(*r.Rule)
		c.Rule = &m
	}
	for _, m := range r.Others {
		c.Others = append(c.Others, show(m))
	}
}

// keptApprovals returns the rules that approvals left for an agent and a user of the tenant.
func keptApprovals(req *request, agentID, user string) ([]permission.Rule, error) {
	values := runtimeOf(req.tenant).Profile()
	if values == nil {
		return nil, nil
	}
	kept, err := permission.Remembered(req.ctx, values, profile.AgentType(agentID))
	if err != nil || user == "" {
		return kept, err
	}
	own, err := permission.Remembered(req.ctx, values, profile.User(user))
	return append(kept, own...), err
}

// agent returns the agent that a request is about: a live one by its id, or an unsaved document.
func (h *permissions) agent(req *request, raw json.RawMessage) (*awaken.AgentSpec, error) {
	var id string
	if json.Unmarshal(raw, &id) == nil {
		if spec := h.registry().Agent(id); spec != nil {
			return spec, nil
		}
		return nil, protocol.NotFound("agent", id)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return nil, protocol.BadRequest("agent is missing, want the id of an agent or the document of one")
	}
	var body struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(raw, &body) // Validate reports any mistake
	v, err := h.control.Validate(req.ctx, config.Key{Namespace: config.Agents, ID: body.ID}, raw)
	if err != nil {
		return nil, err
	}
	spec := new(awaken.AgentSpec)
	return spec, json.Unmarshal(v.Normalized, spec)
}

// recent returns the latest calls of the runs of an agent in the tenant, newest run first, and the user of each.
func (h *permissions) recent(req *request, spec *awaken.AgentSpec, q *recentCalls) (out []trialResult, users []string, complete bool, err error) {
	if q == nil {
		q = &recentCalls{}
	}
	limit := q.Limit
	if limit == 0 {
		limit = maxTrials
	}
	since, err := timeOf("recent.since", q.Since)
	if err != nil {
		return nil, nil, false, err
	}
	reads := map[string]bool{} // tools without effects
	for _, t := range h.registry().Tools() {
		reads[t.ID] = t.Effect == awaken.ReadOnly
	}
	out, users = []trialResult{}, []string{}
	runs, complete, err := recentRuns(req, spec.ID, since)
	threads := map[string]bool{}
	for _, run := range runs {
		if threads[run.ThreadID] {
			continue
		}
		if threads[run.ThreadID] = true; len(threads) > maxTrialThreads {
			return out, users, false, nil
		}
		records, err := req.tenant.Store.Messages(req.ctx, run.ThreadID, awaken.MessageQuery{Limit: 2 * maxTrials, Last: true})
		if errors.Is(err, awaken.ErrNotFound) {
			continue // it was deleted in between
		}
		if err != nil {
			return nil, nil, false, err
		}
		byID := map[string]*awaken.Run{}
		for _, r := range runs {
			if r.ThreadID == run.ThreadID {
				byID[r.RunID] = r
			}
		}
		for _, rec := range records {
			r := byID[rec.RunID]
			if r == nil || rec.Created < since.UnixMilli() && !since.IsZero() {
				continue
			}
			for _, c := range rec.Message.ToolCalls {
				if len(out) == limit {
					return out, users, false, nil
				}
				tainted := r.Taint != nil && rec.Created > r.Taint.At && !reads[c.Name]
				out = append(out, trialResult{trialCall: trialCall{c.Name, c.Arguments, tainted}, RunID: r.RunID, CallID: c.ID, At: rec.Created})
				users = append(users, r.UserID)
			}
		}
	}
	return out, users, complete, err
}

// recentRuns returns the runs of an agent since a time, newest first. It reads a bounded number of runs, and reports
// whether these were all.
func recentRuns(req *request, agentID string, since time.Time) (out []*awaken.Run, complete bool, err error) {
	at := ""
	for range maxTrialRuns / 200 {
		page, err := req.tenant.Store.ListRuns(req.ctx, awaken.RunQuery{AgentID: agentID, Limit: 200, At: &at})
		if err != nil {
			return nil, false, err
		}
		for _, r := range page {
			if since.IsZero() || r.UpdatedAt >= since.UnixMilli() {
				out = append(out, r)
			}
		}
		if at == "" {
			return out, true, nil
		}
	}
	return out, false, nil
}

type patternBody struct {
	Pattern string      `json:"pattern"`
	Calls   []trialCall `json:"calls,omitempty"`
}

type patternReply struct {
	Pattern string         `json:"pattern"`
	Items   []patternMatch `json:"items"`
}

// patternMatch says whether a pattern matches a call.
type patternMatch struct {
	Tool  string `json:"tool"`
	Match bool   `json:"match"`
	// Restricts says whether it matches as the pattern of a rule that denies, which looks for its argument in every value.
	Restricts bool          `json:"restricts"`
	Parts     []patternPart `json:"parts"`
}

// patternPart is one condition of a pattern.
type patternPart struct {
	Name  string   `json:"name"`  // tool, argument, or the path of a field
	Wants string   `json:"wants"` // operator and value
	Found []string `json:"found"`
	OK    bool     `json:"ok"`
}

func matchPattern(req *request, body *patternBody) error {
	if len(body.Calls) > maxTrials {
		return protocol.BadRequest("calls has %d calls, want at most %d", len(body.Calls), maxTrials)
	}
	p, err := pattern.Compile(body.Pattern)
	if err != nil {
		return protocol.BadRequest("pattern is not valid: %s", plain(err.Error()))
	}
	out := patternReply{Pattern: p.String(), Items: []patternMatch{}}
	for _, c := range body.Calls {
		call := pattern.NewCall(c.Tool, c.Arguments)
		m := patternMatch{Tool: c.Tool, Match: p.Match(call), Restricts: p.MatchAny(call), Parts: []patternPart{}}
		for _, part := range p.Explain(call) {
			m.Parts = append(m.Parts, patternPart{part.Name, part.Wants, append([]string{}, part.Found...), part.OK})
		}
		out.Items = append(out.Items, m)
	}
	return req.Reply(200, out)
}
