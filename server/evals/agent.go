package evals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/archive"
	"github.com/awaken-go/awaken/eval/runner"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
)

// evalAgent selects the agents, versions and variants of an evaluation, and its limits.
type evalAgent struct {
	// Models are asked instead of the agent's own.
	Models         []string        `json:"models,omitzero"`
	AgentID        string          `json:"agent_id,omitempty"`
	AgentOverrides json.RawMessage `json:"agent_overrides,omitempty"` // fields of the agent
	// Agents are several agents, instead of one, to compare.
	Agents []string `json:"agents,omitempty"`
	// Variants are prompts and parameters to compare.
	Variants []evalVariant `json:"variants,omitempty"`
	Samples  *int          `json:"samples,omitempty"`
	Judge    *evalJudge    `json:"judge,omitempty"`
	// Limits. Those that are open are estimated from the cases, with room to spare; see POST /v1/eval/runs/estimate.
	MaxWalltime *int64   `json:"max_walltime_secs,omitempty"` // default no limit with Prefer: respond-async
	MaxTokens   *int64   `json:"max_total_tokens,omitempty"`
	MaxCostUSD  *float64 `json:"max_cost_usd,omitempty"` // default no limit if a model has no prices
}

// evalVariant is one variant of an agent.
type evalVariant runner.Choice

type evalJudge struct {
	ModelID    string `json:"model_id"`
	Rubric     string `json:"rubric,omitempty"`
	MaxRetries int    `json:"revise_max_retries,omitempty"`
	Votes      int    `json:"votes,omitempty"` // how often it is asked about an answer; default 1
}

// check reports what is wrong with the limits and models of a live evaluation.
func (b *evalAgent) check(l *Limits) error {
	alone := b.AgentID == "" && len(b.Agents) == 0
	switch {
	case b.AgentID != "" && b.Agents != nil:
		return protocol.BadRequest("agent_id and agents: want one of them")
	case b.Samples != nil && len(b.Models) == 0 && alone:
		return protocol.BadRequest("samples is set without models; want the models to ask")
	case len(b.Models) == 0 && alone:
		return protocol.BadRequest("models is empty; want the ids of the models to ask, or an agent_id")
	case b.Samples != nil && (*b.Samples < 1 || *b.Samples > l.Samples):
		return protocol.BadRequest("samples is %d; want 1 to %d", *b.Samples, l.Samples)
	case b.MaxWalltime != nil && (*b.MaxWalltime < 1 || *b.MaxWalltime > 7*24*3600):
		return protocol.BadRequest("max_walltime_secs is %d; want 1 to %d", *b.MaxWalltime, 7*24*3600)
	case b.MaxTokens != nil && *b.MaxTokens < 1:
		return protocol.BadRequest("max_total_tokens is %d; want 1 or more", *b.MaxTokens)
	case b.MaxCostUSD != nil && !(*b.MaxCostUSD > 0):
		return protocol.BadRequest("max_cost_usd is %g; want more than 0", *b.MaxCostUSD)
	}
	if err := b.checkVariants(); err != nil {
		return err
	}
	if j := b.Judge; j != nil {
		switch {
		case j.ModelID == "":
			return protocol.BadRequest("judge.model_id is missing; want the id of a model")
		case j.MaxRetries < 0 || j.MaxRetries > l.Revisions:
			return protocol.BadRequest("judge.revise_max_retries is %d; want 0 to %d", j.MaxRetries, l.Revisions)
		case j.Votes < 0 || j.Votes > 9:
			return protocol.BadRequest("judge.votes is %d; want 1 to 9", j.Votes)
		}
	}
	return nil
}

// tenantFields are the fields of an agent that admins of a tenant override. Others could give it tools, plugins and agents that the administrators
// of the server have not given to the tenant.
var tenantFields = []string{"system_prompt", "model_id", "reasoning_effort", "max_rounds", "max_continuation_retries", "context_policy", "output_schema", "max_output_repairs"}

// permit refuses overrides that only administrators of the server make.
func (b *evalAgent) permit(req *server.Request) error {
	if req.Tenant().Name() == "" {
		return nil
	}
	all := []json.RawMessage{b.AgentOverrides}
	for i := range b.Variants {
		all = append(all, b.Variants[i].AgentOverrides)
	}
	for _, overrides := range all {
		fields := map[string]json.RawMessage{}
		if json.Unmarshal(overrides, &fields) != nil {
			continue // none, or a mistake that the plan names
		}
		for name := range fields {
			if !slices.Contains(tenantFields, name) {
				return server.Forbidden("agent_overrides has %q; only administrators of the server override it. Admins of a tenant override %s", name, strings.Join(tenantFields, ", "))
			}
		}
	}
	return nil
}

// checkVariants reports what is there twice or has no name.
func (b *evalAgent) checkVariants() error {
	variants := make([]string, len(b.Variants))
	for i := range b.Variants {
		if variants[i] = b.Variants[i].ID; variants[i] == "" || len(variants[i]) > 100 {
			return protocol.BadRequest("variants[%d].id is %.100q; want a name of up to 100 bytes", i, variants[i])
		}
	}
	for _, l := range []struct {
		name string
		ids  []string
	}{{"models", b.Models}, {"agents", b.Agents}, {"variants", variants}} {
		for i, id := range l.ids {
			if slices.Contains(l.ids[:i], id) {
				return protocol.BadRequest("%s[%d] is %q, which is listed before; want different %s", l.name, i, id, l.name)
			}
		}
	}
	return nil
}

// plan makes a plan of cases, with each of some versions. Live says that models are asked.
func (b *evalAgent) plan(regs []*registry.Registry, cases []eval.Fixture, live bool) (*runner.Plan, error) {
	p := &runner.Plan{Fixtures: cases}
	judged := live && b.Judge != nil
	for i := range cases {
		if cases[i].Expect.MinJudgeScore != nil && !judged {
			return nil, protocol.BadRequest("fixture %q has expect.min_judge_score; want a judge, in mode %s", cases[i].ID, liveMode)
		}
	}
	if !live {
		p.Variants = []runner.Variant{runner.Scripted()}
		return p, nil
	}
	for _, reg := range regs {
		if err := b.vary(p, reg, len(regs) > 1); err != nil {
			return nil, err
		}
	}
	if b.Samples != nil {
		p.Samples = *b.Samples
	}
	if b.MaxTokens != nil {
		p.Limits.Tokens = *b.MaxTokens
	}
	if b.MaxCostUSD != nil {
		p.Limits.USD = *b.MaxCostUSD
	}
	if b.MaxWalltime != nil {
		p.Limits.Time = time.Duration(*b.MaxWalltime) * time.Second
	}
	if j := b.Judge; j != nil {
		if !regs[0].HasModel(j.ModelID) {
			return nil, absent("judge.model_id", j.ModelID)
		}
		p.Judge = &runner.Judge{Registry: regs[0], ModelID: j.ModelID, Rubric: j.Rubric, Revisions: j.MaxRetries, Votes: j.Votes}
	}
	return p, nil
}

// absent answers that what a field names is not there.
func absent(field, id string) error {
	return server.Fail(http.StatusNotFound, "not_found", "%s is %q, which the version of the configuration does not have", field, id)
}

// vary adds the variants of a version to a plan: every agent with every model and every variant. Several says that there are other versions.
func (b *evalAgent) vary(p *runner.Plan, reg *registry.Registry, several bool) error {
	agents, models, variants := b.Agents, b.Models, b.Variants
	if len(agents) == 0 {
		agents = []string{b.AgentID}
	}
	if len(models) == 0 {
		models = []string{""} // the agent's own
	}
	if len(variants) == 0 {
		variants = []evalVariant{{}}
	}
	for i, agent := range agents {
		if agent != "" && reg.Agent(agent) == nil {
			field := "agent_id"
			if len(b.Agents) > 0 {
				field = fmt.Sprintf("agents[%d]", i)
			}
			return absent(field, agent)
		}
		for i, model := range models {
			if model != "" && !reg.HasModel(model) {
				return absent(fmt.Sprintf("models[%d]", i), model)
			}
			for i := range variants {
				v, err := variants[i].of(reg, agent, model, b.AgentOverrides)
				if err != nil {
					return err
				}
				if len(b.Agents) > 0 {
					v.Cell.AgentID = agent
				}
				if several {
					v.Cell.Version = reg.ID()
				}
				p.Variants = append(p.Variants, v)
			}
		}
	}
	return nil
}

// of returns the variant of an agent and a model.
func (v *evalVariant) of(reg *registry.Registry, agent, model string, overrides json.RawMessage) (out runner.Variant, err error) {
	if overrides, err = (*runner.Choice)(v).Overrides(overrides); err != nil {
		return out, err
	}
	if out, err = runner.Live(reg, agent, model, overrides); err != nil {
		return out, err
	}
	if v.Parameters != nil {
		if err := protocol.CheckOverride(fmt.Sprintf("variant %q: parameters", v.ID), v.Parameters, out.Registry, out.AgentID); err != nil {
			return out, err
		}
	}
	out.Cell.Variant, out.Parameters = v.ID, v.Parameters
	return out, nil
}

// maxVersions is how many versions a run compares.
const maxVersions = 20

// versions returns the registries of the versions that a run is about, and writes their ids into the body.
func (h *evaluations) versions(req *server.Request, body *evalRunBody) (out []*registry.Registry, err error) {
	wanted := body.Versions
	switch {
	case wanted == nil:
		wanted = []string{body.Version}
	case body.Version != "":
		return nil, protocol.BadRequest("version and versions: want one of them")
	case len(wanted) == 0 || len(wanted) > maxVersions:
		return nil, protocol.BadRequest("versions has %d of them; want 1 to %d", len(wanted), maxVersions)
	}
	for i, v := range wanted {
		reg, err := h.version(req, body, v)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(other *registry.Registry) bool { return other.ID() == reg.ID() }) {
			return nil, protocol.BadRequest("versions[%d] is %q, which is listed before; want different versions", i, v)
		}
		if out = append(out, reg); body.Versions != nil {
			body.Versions[i] = reg.ID()
		}
	}
	return out, nil
}

// version returns the registry of a version. Only administrators of the server see versions that are not live.
func (h *evaluations) version(req *server.Request, body *evalRunBody, v string) (*registry.Registry, error) {
	switch {
	case v == "" || v == config.LiveSide:
		return h.registry(), nil
	case body.AgentID == "" && len(body.Agents) == 0:
		return nil, protocol.BadRequest("version is %q without an agent_id; want the agent that the version has", v)
	case h.control == nil:
		return nil, protocol.BadRequest("version is %q, but this server has no versions; want %s", v, config.LiveSide)
	case req.Tenant().Name() != "":
		return nil, server.Forbidden("version is %q; only administrators of the server evaluate versions that are not live", v)
	case v == config.DraftSide:
		pub, err := h.control.Drafts().Preview(req.Context(), server.ActorOf(req))
		if err != nil {
			return nil, err
		}
		return h.control.Pinned(req.Context(), pub.ResolutionID())
	default:
		n, err := server.VersionOf(v)
		if err != nil {
			return nil, protocol.BadRequest("version is %q; want a number, %s or %s", v, config.LiveSide, config.DraftSide)
		}
		reg, err := h.control.Pinned(req.Context(), strconv.FormatInt(n, 10))
		if errors.Is(err, awaken.ErrNotFound) {
			return nil, server.Fail(http.StatusNotFound, "not_found", "version is %q, which does not exist; want the number of a version, %s or %s", v, config.LiveSide, config.DraftSide)
		}
		return reg, err
	}
}

// identify says in a run which agent it is about, if it is about one.
func (h *evaluations) identify(ctx context.Context, run *archive.Run, b *evalRunBody, reg *registry.Registry) (err error) {
	if b.AgentID == "" {
		return nil
	}
	run.AgentID = b.AgentID
	if h.control == nil || len(b.Versions) > 1 {
		return nil
	}
	run.Version = reg.ID()
	n, err := strconv.ParseInt(reg.ID(), 10, 64)
	if err == nil && b.AgentOverrides == nil && b.Variants == nil {
		run.AgentDigest, err = h.control.Versions().Digest(ctx, n, b.AgentID)
	}
	return err
}
