package engine

import (
	"context"
	"errors"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// about is what the hooks of a phase are told beyond the run itself.
type about struct {
	tool   *awaken.ToolCall
	result *awaken.ToolResult
	reply  *llm.Reply
}

// hooks makes what hooks are given, and does the effects that they ask for.
type hooks struct {
	*core

	effects []awaken.ScheduledEffect // to be done after the next commit
}

func (hk *hooks) call(p awaken.Phase, in about) *awaken.HookCall {
	hk.ledger.derive()
	return &awaken.HookCall{Phase: p, Run: hk.info, Agent: hk.agent.Spec, Step: hk.step.index, Messages: hk.conv.msgs.Clip(), Tools: hk.tools.offered,
		Profile: hk.rt.cfg.Profile, Tool: in.tool, Result: in.result, Reply: in.reply, Snapshot: hk.st.Snapshot()}
}

// runEffects does what committed commands asked for outside the run. Failures are
// logged; they do not end the run.
func (hk *hooks) runEffects(ctx context.Context) {
	effects := hk.effects
	hk.effects = nil
	for _, e := range effects {
		atEffect.Hit()
		if err := hk.runEffect(ctx, e); err != nil {
			hk.rt.cfg.Logger.Warn("effect failed", "run", hk.info.RunID, "effect", e.Name, "error", err)
		}
		atEffectDone.Hit()
	}
}

func (hk *hooks) runEffect(ctx context.Context, e awaken.ScheduledEffect) (err error) {
	h, ok := hk.agent.Effects[e.Name]
	if !ok {
		return errors.New("no handler") // after a handoff
	}
	defer caught(&err, "effect %q of plugin %q", e.Name, h.Plugin)
	return h.EffectHandler.Run(ctx, hk.call(awaken.PhaseStepEnd, about{}), e)
}
