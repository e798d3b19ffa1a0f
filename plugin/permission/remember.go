package permission

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/pattern"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/state/profile"
)

// Remembered approvals. Rules of a section are never copied here, so that removing a rule from
// the configuration removes it everywhere.
var (
	threadRules = state.NewKey("permission_policy", addRule, state.Options{Scope: state.Thread, Merge: state.Commutative})
	runRules    = state.NewKey("permission_overrides", addRule, state.Options{Merge: state.Commutative})
	// spent records which call used up a rule with scope once, by the rule's pattern.
	spent = state.NewKey("permission_spent", func(m map[string]string, u use) map[string]string {
		next := map[string]string{u.Tool: u.CallID}
		maps.Copy(next, m) // the first call wins
		return next
	}, state.Options{Merge: state.Commutative})
	// keep stores a rule in the profile once the decision is committed.
	keep = awaken.NewEffect[keptRule]("permission.keep")
)

type use struct{ Tool, CallID string }

func addRule(list []Rule, r Rule) []Rule {
	if slices.ContainsFunc(list, func(old Rule) bool { return old.equal(&r) }) {
		return list
	}
	return append(slices.Clip(list), r)
}

// remembered compiles remembered rules. Unreadable ones are skipped: since all of them allow,
// skipping is safe.
func remembered(rules []Rule) []rule {
	var out []rule
	for _, r := range rules {
		if p, err := pattern.Compile(r.Tool); err == nil && r.Behavior == Allow {
			out = append(out, rule{Rule: r, pattern: p, at: -1})
		}
	}
	return out
}

// choice is what a person may have remembered about a call.
type choice struct {
	Scopes []Scope  `json:"scopes"`
	Tools  []string `json:"tools"` // patterns; the first is the default
	// Shared reports that project may also be chosen by a person who acts for a single user.
	Shared bool `json:"shared,omitempty"`
}

// offers returns what can be remembered about the call that rule r, or the default, asks
// about: everything that matches the rule, the tool, or exactly this call.
func (g *guard) offers(h *awaken.HookCall, r *rule) choice {
	o := choice{Scopes: []Scope{}, Tools: []string{}, Shared: slices.Contains(g.remember, Project)}
	for _, s := range scopes {
		can := s != Once && (g.remember == nil || slices.Contains(g.remember, s))
		switch s {
		case Project:
			can = can && h.Profile != nil && (o.Shared || h.Run.Adapter == "" || h.Run.Adapter == "acp")
		case User:
			can = can && h.Profile != nil && h.Run.UserID != ""
		}
		if can {
			o.Scopes = append(o.Scopes, s)
		}
	}
	texts := []string{pattern.Exactly(h.Tool.Tool), exactCall(h.Tool)}
	if r != nil {
		texts = slices.Insert(texts, 0, r.pattern.String()) // may match the call only as a rule that asks
	}
	c := pattern.NewCall(g.names.Tool(h.Tool.Tool), h.Tool.Args)
	for _, text := range texts {
		if p, err := pattern.Compile(text); err == nil && p.Match(c) && !slices.Contains(o.Tools, text) {
			o.Tools = append(o.Tools, text)
		}
	}
	return o
}

// exactCall returns a pattern that matches only calls with the same arguments, or "" if it
// would be too long to read.
func exactCall(c *awaken.ToolCall) string {
	var args map[string]json.RawMessage
	if json.Unmarshal(c.Args, &args) != nil || len(args) == 0 {
		return ""
	}
	var conds []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		conds = append(conds, name+" = "+pattern.Quote(pattern.Text(args[name])))
	}
	if text := pattern.Exactly(c.Tool) + "(" + strings.Join(conds, ", ") + ")"; len(text) <= 200 {
		return text
	}
	return ""
}

// schema returns the response schema of the question. It constrains only the field remember.
func (o choice) schema() json.RawMessage {
	scope := map[string]any{"enum": o.Scopes}
	var answer any = map[string]any{
		"anyOf": []any{scope, map[string]any{
			"type":                 "object",
			"properties":           map[string]any{"scope": scope, "tool": map[string]any{"enum": o.Tools}},
			"required":             []string{"scope"},
			"additionalProperties": false,
		}},
	}
	if len(o.Scopes) == 0 {
		answer = false
	}
	data, _ := json.Marshal(map[string]any{"properties": map[string]any{"remember": answer}}) // cannot fail
	return data
}

// askedWith returns the parameters of one of the plugin's questions.
func askedWith(question *awaken.Suspension) (p parameters) {
	_ = json.Unmarshal(question.Parameters, &p) // written by this plugin
	return p
}

// choiceOf returns what one of the plugin's questions offers.
func choiceOf(question *awaken.Suspension) choice { return askedWith(question).Remember }

// Offers returns the scopes that an approval can be remembered for, the narrowest first. There are none if the
// question is not one of this plugin.
func Offers(question *awaken.Suspension) []Scope {
	if question == nil || question.Action != action {
		return nil
	}
	return choiceOf(question).Scopes
}

// wish is what the result of a decision wants remembered.
type wish struct {
	Scope Scope  `json:"scope"`
	Tool  string `json:"tool"` // a pattern; "" means the first one offered
}

// wishOf decodes the result of a decision. Field names are case-sensitive, as in the
// question's schema, so that the schema has checked everything that counts.
func wishOf(result json.RawMessage) (want wish) {
	var answer map[string]json.RawMessage
	if json.Unmarshal(result, &answer) != nil || len(answer["remember"]) == 0 {
		return wish{}
	}
	if json.Unmarshal(answer["remember"], &want.Scope) != nil && json.Unmarshal(answer["remember"], &want) != nil {
		return wish{}
	}
	return want
}

// Reach returns the scope that the result of a decision wants its approval remembered for, or
// "".
func Reach(result json.RawMessage) Scope { return wishOf(result).Scope }

// Remembers returns the scope in which the plugin remembers an approval with that result, or "" if
// it remembers none or the question is not one of this plugin.
func Remembers(question *awaken.Suspension, result json.RawMessage) Scope {
	if question == nil || question.Action != action {
		return ""
	}
	return Reach(result)
}

// Vet rejects the result of a decision that exceeds the authority of its author. User is the
// user that the author acts for, or "" if unknown; of is the user that the run is for.
// Question is the question that was asked. If it is nil, the question is unknown, and Vet
// assumes one of this plugin that does not offer project.
func Vet(question *awaken.Suspension, result json.RawMessage, user, of string) error {
	var asked choice
	if question != nil {
		if question.Action != action {
			return nil
		}
		asked = choiceOf(question)
	}
	switch scope := Reach(result); {
	case scope == Project && !asked.Shared:
		return errors.New(`remember is "project", which applies to all users of the agent: a user cannot choose it unless the agent's permission section lists it under "remember"`)
	case scope == User && user == "":
		return errors.New(`remember is "user", but the request has no user`)
	case scope == User && user != of:
		return fmt.Errorf(`remember is "user", but the request is made by user %q and the run is for another user`, user)
	}
	return nil
}

// remember records what the result of an approval wants remembered. The result satisfies the
// question's schema.
func remember(h *awaken.HookCall, result json.RawMessage) {
	want := wishOf(result)
	if want.Scope == "" {
		return
	}
	r := Rule{Tool: want.Tool, Behavior: Allow, Scope: want.Scope}
	for _, c := range builtin.ToolCallStates.Get(h) { // the ledger has the question
		if c.CallID != h.Tool.ID || c.Ticket == nil {
			continue
		}
		asked := askedWith(&c.Ticket.Suspension)
		if asked.TaintedBy != nil {
			r.When = Tainted
		}
		if tools := asked.Remember.Tools; r.Tool == "" && len(tools) > 0 {
			r.Tool = tools[0] // the default is the first pattern that the question offered
		}
	}
	switch want.Scope {
	case Run:
		runRules.Update(h, r)
	case Thread:
		threadRules.Update(h, r)
	case Project:
		keep.Emit(h, keptRule{r, profile.AgentType(h.Agent.ID)})
	case User:
		keep.Emit(h, keptRule{r, profile.User(h.Run.UserID)})
	}
}

// keptRule is a rule and its owner.
type keptRule struct {
	Rule
	Of string // the owner, a profile key
}

// namespace returns the profile namespace of an owner's rules. Each has a key of its own, so
// concurrent approvals do not conflict.
func namespace(of string) string { return "permission.rules/" + of }

func keepRule(ctx context.Context, h *awaken.HookCall, k keptRule) error {
	data, err := json.Marshal(k.Rule)
	if err != nil {
		return err
	}
	key := k.Tool
	if k.When != "" {
		key += " when " + string(k.When)
	}
	return profile.Unmarked(h.Profile).Set(ctx, namespace(k.Of), key, data) // the decision of a person
}

// keptRules returns the rules that were kept for the agent and for the user.
func keptRules(ctx context.Context, h *awaken.HookCall) ([]rule, error) {
	if h.Profile == nil {
		return nil, nil
	}
	values := profile.Unmarked(h.Profile)
	rules, err := Remembered(ctx, values, profile.AgentType(h.Agent.ID))
	if err == nil && h.Run.UserID != "" {
		var own []Rule
		own, err = Remembered(ctx, values, profile.User(h.Run.UserID))
		rules = append(rules, own...)
	}
	return remembered(rules), err
}

// Remembered returns the rules that approvals left in a profile, for an agent
// (profile.AgentType) or a user (profile.User).
func Remembered(ctx context.Context, s profile.Store, of string) ([]Rule, error) {
	list, err := Approvals(ctx, s, of)
	var rules []Rule
	for _, a := range list {
		rules = append(rules, a.Rule)
	}
	return rules, err
}

// Approval is a rule that an approval left in a profile.
type Approval struct {
	Rule
	ID string    // names it among those of its owner
	At time.Time // of the latest approval that wanted it
}

// Approvals returns what [Remembered] returns, with the names of the rules.
func Approvals(ctx context.Context, s profile.Store, of string) ([]Approval, error) {
	entries, err := s.List(ctx, namespace(of))
	if err != nil {
		return nil, err
	}
	var out []Approval
	for _, e := range entries {
		a := Approval{ID: approvalID(e.Key), At: e.UpdatedAt}
		if json.Unmarshal(e.Value, &a.Rule) == nil {
			out = append(out, a)
		}
	}
	return out, nil
}

// approvalID returns the name of a rule, which fits into a URL as patterns do not.
func approvalID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:12])
}

// ForgetApproval deletes one of the rules that [Approvals] returns. It returns awaken.ErrNotFound if there is none of that
// name.
func ForgetApproval(ctx context.Context, s profile.Store, of, id string) error {
	entries, err := s.List(ctx, namespace(of))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if approvalID(e.Key) == id {
			return s.Delete(ctx, namespace(of), e.Key)
		}
	}
	return fmt.Errorf("remembered approval %q: %w", id, awaken.ErrNotFound)
}

// Forget deletes the rules that [Remembered] returns.
func Forget(ctx context.Context, s profile.Store, of string) error {
	entries, err := s.List(ctx, namespace(of))
	for _, e := range entries {
		err = errors.Join(err, s.Delete(ctx, namespace(of), e.Key))
	}
	return err
}
