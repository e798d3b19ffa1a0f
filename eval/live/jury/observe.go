package jury

import (
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/trace"
)

// observe returns the observation of a recorded run for scorers. Calls of child runs do not count.
func observe(rec *trace.Recording) *eval.Observation {
	run := rec.Run
	o := &eval.Observation{Inferences: len(rec.Turns), Steps: run.Steps, DurationMS: max(0, run.FinishedAt-run.StartedAt),
		InputTokens: int(run.Usage.PromptTokens + run.ChildUsage.PromptTokens), OutputTokens: int(run.Usage.CompletionTokens + run.ChildUsage.CompletionTokens)}
	if usd := run.CostUSD + run.ChildCostUSD; usd > 0 {
		o.CostUSD = &usd
	}
	for i := range rec.Turns {
		t := &rec.Turns[i]
		if t.Error != "" {
			o.InferenceErrors++
		}
		if t.Text != "" && len(t.ToolCalls) == 0 {
			o.FinalText = t.Text
		}
	}
	if run.FinalOutput != "" {
		o.FinalText = run.FinalOutput
	}
	for _, c := range rec.Calls {
		if c.IsHeld() {
			continue
		}
		call := eval.Call{Agent: run.AgentID, Name: c.ToolName, Arguments: c.Arguments, Failed: c.Status == awaken.CallFailed}
		if r := c.Result; r != nil {
			if call.Result = r.Data; len(r.Data) == 0 || string(r.Data) == "null" {
				call.Result, _ = json.Marshal(r.Text())
			}
		}
		o.Calls = append(o.Calls, call)
	}
	if run.Termination.Type == awaken.Failed {
		if o.ErrorType = "error"; run.ErrorPayload != nil && run.ErrorPayload.Code != "" {
			o.ErrorType = run.ErrorPayload.Code
		}
	}
	return o
}
