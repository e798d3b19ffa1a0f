package skills

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/plugin/internal/childrun"
	"github.com/awaken-go/awaken/state/builtin"
)

// maxForks is how deep forked skills may be below the root run.
const maxForks = 5

// ChildRun returns the id of the run that a call starts for a skill that is forked.
func (t *skillTool) ChildRun(call *awaken.ToolCall) string {
	var in skillCall
	if call.Host == nil || json.Unmarshal(call.Args, &in) != nil {
		return ""
	}
	if s, _ := t.find(call, in.Skill); s == nil || !s.Fork {
		return ""
	}
	return awaken.ChildID(call.Key)
}

// fork runs the skill in a run of its own, with the same agent. The instructions are the run's first
// message; the skill is active until the run's end, so its limits on tools and its model apply.
func (t *skillTool) fork(ctx context.Context, call *awaken.ToolCall, s *Skill, act *active) (*awaken.ToolResult, error) {
	if call.Host == nil {
		return nil, fmt.Errorf("skill %q runs on its own, which needs a runtime: the call has no host", s.Name)
	}
	child := childrun.Child{Call: call, Name: fmt.Sprintf("Skill '%s'", s.Name),
		Start: func(context.Context) (awaken.RunRequest, error) { return t.below(call, act) },
		Sink: func() awaken.Sink {
			call.Progress(awaken.Progress{Status: "running", Message: s.Name})
			return awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
				if d, ok := e.Event.(*awaken.TextDelta); ok {
					call.Output(d.Delta)
				}
				return nil
			})
		}}
	run, err := child.Run(ctx)
	if err != nil {
		return nil, err
	}
	call.Spend(run.Total())
	call.Progress(awaken.Progress{Status: "done", Message: s.Name})
	res, err := reply(struct {
		SkillID  string `json:"skill_id"`
		Response string `json:"response"`
		Steps    int    `json:"steps"`
	}{s.Name, run.FinalOutput, run.Steps}, "")
	if err != nil {
		return nil, err
	}
	res.Metadata = map[string]any{"child_run_id": run.RunID, "child_thread_id": run.ThreadID}
	switch run.Termination.Type {
	case awaken.Cancelled, awaken.Failed, awaken.Blocked:
		res.Status, res.Message = awaken.ToolError, fmt.Sprintf("skill %q ended: %s", s.Name, run.Termination)
	}
	return res, nil
}

// below returns the request that starts the skill's run.
func (t *skillTool) below(call *awaken.ToolCall, act *active) (awaken.RunRequest, error) {
	if call.Run.Depth >= maxForks {
		return awaken.RunRequest{}, fmt.Errorf("[skill_limit] skills run on their own at most %d runs deep: do the work here", maxForks)
	}
	own := *act
	own.Instructions, own.Own = "", true
	state, err := json.Marshal(use{Active: []active{own}})
	if err != nil {
		return awaken.RunRequest{}, err
	}
	req := childrun.Below(call)
	req.AgentID, req.Messages = call.Agent.ID, []*llm.Message{llm.UserText(act.Instructions)}
	req.Seed = map[string]json.RawMessage{used.Name(): state}
	if t.cfg.Grant && len(act.Tools) > 0 {
		if req.Seed[builtin.Grants.Name()], err = json.Marshal(map[string][]string{grantor(act.Name): act.Tools}); err != nil {
			return awaken.RunRequest{}, err
		}
	}
	return req, nil
}
