package control

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/pattern"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/state/profile"
)

const (
	maxTrials       = 500  // calls that are judged at once
	maxTrialRuns    = 2000 // runs whose calls are looked for
	maxTrialThreads = 1000 // threads whose messages are read for that
	trialMessages   = 2 * maxTrials
	trialPage       = 200
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
	// Tainted means that the run has read untrusted content. It is not set in answers for calls that only read and carry no
	// data out.
	Tainted bool `json:"tainted,omitempty"`
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
	// Complete says that there were no further calls since the time that was asked for: those of the newest 2000 runs and
	// 1000 threads are looked for.
	Complete bool `json:"complete"`
}

// trialResult is the decision of the rules on a call.
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
	Tool       string   `json:"tool"`
	Behavior   string   `json:"behavior"`
	When       string   `json:"when,omitempty"`
	AllowHosts []string `json:"allow_hosts,omitempty"`
	Scope      string   `json:"scope,omitempty"`
	Source     string   `json:"source"`
	Index      int      `json:"index"` // in the rules of its source
}

// try says what the rules of an agent decide about calls.
func (h *permissions) try(req *server.Request, body *trialBody) error {
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
	spec, err := server.AgentIn(req, body.Agent, h.registry(), h.control)
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
			if judges[user], err = permission.Try(h.plugin, spec, kept, h.registry().Names(spec.ID)); err != nil {
				return err
			}
		}
		c.decide(judges[user], h.registry(), spec.ID)
		out.Totals[c.Behavior]++
	}
	return req.Reply(200, out)
}

// decide fills in what a judge decides.
func (c *trialResult) decide(judge func(permission.Trial) permission.Ruling, reg *registry.Registry, agentID string) {
	effect, egress := reg.Reach(agentID, c.Tool, c.Arguments)
	c.Tainted = c.Tainted && (effect != awaken.ReadOnly || !egress.None)
	r := judge(permission.Trial{Tool: c.Tool, Args: c.Arguments, Tainted: c.Tainted, Egress: egress})
	show := func(m permission.Matched) matchedRule {
		return matchedRule{m.Tool, string(m.Rule.Behavior), string(m.When), m.AllowHosts, string(m.Scope), string(m.Source), m.Index}
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
func keptApprovals(req *server.Request, agentID, user string) ([]permission.Rule, error) {
	values := server.RuntimeOf(req.Tenant()).Profile()
	if values == nil {
		return nil, nil
	}
	kept, err := permission.Remembered(req.Context(), values, profile.AgentType(agentID))
	if err != nil || user == "" {
		return kept, err
	}
	own, err := permission.Remembered(req.Context(), values, profile.User(user))
	return append(kept, own...), err
}

// recent returns the latest calls of the runs of an agent in the tenant, the latest first, and the user of each.
func (h *permissions) recent(req *server.Request, spec *awaken.AgentSpec, q *recentCalls) (out []trialResult, users []string, complete bool, err error) {
	if q == nil {
		q = &recentCalls{}
	}
	since, err := server.TimeOf("recent.since", q.Since)
	if err != nil {
		return nil, nil, false, err
	}
	r := trialReader{req: req, limit: cmp.Or(q.Limit, maxTrials), threads: map[string]map[string][]trialResult{}}
	if !since.IsZero() {
		r.since = since.UnixMilli()
	}
	if complete, err = r.read(spec.ID); err != nil {
		return nil, nil, false, err
	}
	slices.SortStableFunc(r.found, func(a, b userCall) int { return cmp.Compare(b.At, a.At) })
	out, users = make([]trialResult, len(r.found)), make([]string, len(r.found))
	for i, c := range r.found {
		out[i], users[i] = c.trialResult, c.user
	}
	return out, users, complete, nil
}

// trialReader collects the calls of the newest runs.
type trialReader struct {
	req     *server.Request
	since   int64 // Unix ms
	limit   int   // of calls
	threads map[string]map[string][]trialResult
	found   []userCall
	cut     bool // a thread has older messages than were read
}

// userCall is a call of a run of a user.
type userCall struct {
	trialResult
	user string
}

// read collects the calls of the runs of an agent. It reads a bounded number of runs and threads, and reports whether
// these were all.
func (t *trialReader) read(agentID string) (complete bool, err error) {
	at := ""
	for range maxTrialRuns / trialPage {
		page, err := t.req.Tenant().Store.ListRuns(t.req.Context(), awaken.RunQuery{AgentID: agentID, Limit: trialPage, At: &at})
		if err != nil {
			return false, err
		}
		for _, run := range page {
			if run.UpdatedAt < t.since || madeNoCalls(run) {
				continue
			}
			if len(t.threads) == maxTrialThreads && t.threads[run.ThreadID] == nil {
				return false, nil
			}
			calls, err := t.calls(run)
			if err != nil {
				return false, err
			}
			for _, c := range slices.Backward(calls) {
				if len(t.found) == t.limit {
					return false, nil
				}
				c.Tainted = run.Taint != nil && c.At > run.Taint.At
				t.found = append(t.found, userCall{c, run.UserID})
			}
		}
		if at == "" {
			return !t.cut, nil
		}
	}
	return false, nil
}

// madeNoCalls reports whether the record of a run says that it called no tool: the model's first answer was its last.
func madeNoCalls(run *awaken.Run) bool {
	return run.Status == awaken.RunDone && run.Termination.Type == awaken.NaturalEnd && run.Steps <= 1 && run.Call == nil
}

// calls returns the calls of a run as the model made them, the oldest first. It reads the messages of a thread once.
func (t *trialReader) calls(run *awaken.Run) ([]trialResult, error) {
	if byRun := t.threads[run.ThreadID]; byRun != nil {
		return byRun[run.RunID], nil
	}
	byRun := map[string][]trialResult{}
	t.threads[run.ThreadID] = byRun
	records, err := t.req.Tenant().Store.Messages(t.req.Context(), run.ThreadID, awaken.MessageQuery{Limit: trialMessages, Last: true})
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, nil // it was deleted in between
	}
	if err != nil {
		return nil, err
	}
	t.cut = t.cut || len(records) == trialMessages && records[0].Created >= t.since
	for _, rec := range records {
		if rec.Created < t.since {
			continue
		}
		for _, c := range rec.Message.ToolCalls {
			byRun[rec.RunID] = append(byRun[rec.RunID], trialResult{trialCall: trialCall{Tool: c.Name, Arguments: c.Arguments}, RunID: rec.RunID, CallID: c.ID, At: rec.Created})
		}
	}
	return byRun[run.RunID], nil
}

type patternBody struct {
	Pattern string      `json:"pattern"`
	Calls   []trialCall `json:"calls,omitempty"`
	// AgentID is the agent whose tools are meant. Without it, tools of plugins have their ids only.
	AgentID string `json:"agent_id,omitempty"`
}

type patternReply struct {
	Pattern string         `json:"pattern"`
	Items   []patternMatch `json:"items"`
	// Permits and Restricts are the ids of the known tools that the pattern means in a rule that allows calls, and in one
	// that denies them.
	Permits   []string `json:"permits"`
	Restricts []string `json:"restricts"`
	// Problem says why the pattern means no tool, or other tools than it seems to.
	Problem string `json:"problem,omitempty"`
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

func (h *permissions) match(req *server.Request, body *patternBody) error {
	if len(body.Calls) > maxTrials {
		return protocol.BadRequest("calls has %d calls, want at most %d", len(body.Calls), maxTrials)
	}
	p, err := pattern.Compile(body.Pattern)
	if err != nil {
		return protocol.BadRequest("pattern is not valid: %s", server.Plain(err.Error()))
	}
	names := h.registry().Names(body.AgentID)
	out := patternReply{
		Pattern:   p.String(),
		Items:     []patternMatch{},
		Permits:   append([]string{}, names.IDs(p.Permits)...),
		Restricts: append([]string{}, names.IDs(p.Restricts)...),
	}
	if s := p.Stray(names, true); s != nil {
		out.Problem = "pattern " + s.Text
	}
	for _, c := range body.Calls {
		call := pattern.NewCall(names.Tool(names.Resolve(c.Tool)), c.Arguments)
		m := patternMatch{Tool: c.Tool, Match: p.Match(call), Restricts: p.MatchAny(call), Parts: []patternPart{}}
		for _, part := range p.Explain(call) {
			m.Parts = append(m.Parts, patternPart{part.Name, part.Wants, append([]string{}, part.Found...), part.OK})
		}
		out.Items = append(out.Items, m)
	}
	return req.Reply(200, out)
}
