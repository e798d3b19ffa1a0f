package awaken

import (
	"cmp"

	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/llm"
)

// Hand-written encoders of the values that every commit stores. Their output equals that of
// json.Marshal byte for byte, but they use no reflection, and check raw JSON once instead of
// once per enclosing value. Rare fields are left to encoding/json.

// firstError keeps the first error of a series of append calls.
type firstError struct{ err error }

func (e *firstError) keep(buf []byte, err error) []byte {
	if e.err == nil {
		e.err = err
	}
	return buf
}

// valueIf appends a field encoded by json.Marshal, if it is present.
func (e *firstError) valueIf(present bool, buf []byte, name string, v any) []byte {
	if !present {
		return buf
	}
	return e.keep(appendjson.Value(buf, name, v))
}

// close ends the object that was appended to dst. After an error it returns dst unchanged.
func (e *firstError) close(dst, object []byte) ([]byte, error) {
	if e.err != nil {
		return dst, e.err
	}
	return append(object, '}'), nil
}

// AppendJSON appends the record to dst: what json.Marshal makes of its fields, with times in seconds, and then the
// times in milliseconds. After an error it returns dst unchanged.
func (r *Run) AppendJSON(dst []byte) ([]byte, error) {
	var e firstError
	buf := appendjson.Text(dst, `{"run_id":`, r.RunID)
	buf = appendjson.Text(buf, `,"thread_id":`, r.ThreadID)
	buf = appendjson.Text(buf, `,"agent_id":`, r.AgentID)
	buf = appendjson.TextIf(buf, `,"first_agent_id":`, r.FirstAgentID)
	buf = appendjson.TextIf(buf, `,"parent_run_id":`, r.ParentRunID)
	buf = appendjson.TextIf(buf, `,"parent_thread_id":`, r.ParentThreadID)
	buf = appendjson.TextIf(buf, `,"parent_tool_call_id":`, r.ParentToolCallID)
	buf = appendjson.TextIf(buf, `,"resolution_id":`, r.ResolutionID)
	buf = appendjson.TextIf(buf, `,"dispatch_id":`, r.DispatchID)
	buf = appendjson.TextIf(buf, `,"session_id":`, r.SessionID)
	buf = appendjson.TextIf(buf, `,"user_id":`, r.UserID)
	buf = appendjson.TextIf(buf, `,"transport_request_id":`, r.TransportRequestID)
	buf = appendjson.TextIf(buf, `,"origin":`, r.Origin)
	buf = appendjson.TextIf(buf, `,"run_mode":`, r.Mode)
	buf = appendjson.TextIf(buf, `,"adapter":`, r.Adapter)
	buf = appendjson.IntIf(buf, `,"depth":`, r.Depth)
	buf = appendjson.TextIf(buf, `,"trace":`, r.Trace)
	buf = e.valueIf(r.Call != nil, buf, `,"call":`, r.Call)
	buf = e.valueIf(r.Overrides != nil, buf, `,"overrides":`, r.Overrides)
	buf = e.valueIf(len(r.FrontendTools) > 0, buf, `,"frontend_tools":`, r.FrontendTools)
	buf = appendjson.TrueIf(buf, `,"untrusted":`, r.Untrusted)
	buf = e.keep(appendjson.RawIf(buf, `,"output_schema":`, r.OutputSchema))
	buf = e.valueIf(r.Budget != nil, buf, `,"budget":`, r.Budget)
	buf = e.valueIf(r.Taint != nil, buf, `,"taint":`, r.Taint)
	buf = appendjson.IntIf(buf, `,"output_repairs":`, r.OutputRepairs)
	buf = appendjson.TrueIf(buf, `,"budgeted":`, r.Budgeted)
	buf = appendjson.TrueIf(buf, `,"activated":`, r.Activated)
	buf = appendjson.IntIf(buf, `,"calls_in_doubt":`, int64(r.InDoubt))
	buf = appendjson.TextIf(buf, `,"question":`, r.Question)
	buf = e.valueIf(len(r.Tools) > 0, buf, `,"tools":`, r.Tools)
	buf = appendjson.Text(buf, `,"status":`, r.Status)
	buf = appendjson.TextIf(buf, `,"status_reason":`, r.StatusReason)
	if r.Termination != (Termination{}) {
		buf = r.Termination.append(append(buf, `,"termination_reason":`...))
	}
	buf = appendjson.TextIf(buf, `,"final_output":`, r.FinalOutput)
	buf = e.keep(appendjson.RawIf(buf, `,"structured_output":`, r.StructuredOutput))
	buf = e.valueIf(r.ErrorPayload != nil, buf, `,"error_payload":`, r.ErrorPayload)
	buf = e.valueIf(r.Waiting != nil, buf, `,"waiting":`, r.Waiting)
	buf = e.valueIf(r.Restored != nil, buf, `,"restored":`, r.Restored)
	buf = appendjson.TextIf(buf, `,"finish_reason":`, r.FinishReason)
	buf = e.valueIf(len(r.Diagnostics) > 0, buf, `,"diagnostics":`, r.Diagnostics)
	if r.Input != (llm.Interval{}) {
		buf = r.Input.AppendJSON(append(buf, `,"input":`...))
	}
	if r.Output != (llm.Interval{}) {
		buf = r.Output.AppendJSON(append(buf, `,"output":`...))
	}
	buf = appendjson.Int(buf, `,"created_at":`, r.CreatedAt/1000)
	buf = appendjson.IntIf(buf, `,"started_at":`, r.StartedAt/1000)
	buf = appendjson.IntIf(buf, `,"finished_at":`, r.FinishedAt/1000)
	buf = appendjson.Int(buf, `,"updated_at":`, r.UpdatedAt/1000)
	buf = appendjson.Int(buf, `,"steps":`, r.Steps)
	buf = appendjson.Int(buf, `,"input_tokens":`, r.InputTokens)
	buf = appendjson.Int(buf, `,"output_tokens":`, r.OutputTokens)
	if r.Usage != (llm.Usage{}) {
		buf = r.Usage.AppendJSON(append(buf, `,"usage":`...))
	}
	buf = e.keep(appendjson.FloatIf(buf, `,"cost_usd":`, r.CostUSD))
	if r.ChildUsage != (llm.Usage{}) {
		buf = r.ChildUsage.AppendJSON(append(buf, `,"child_usage":`...))
	}
	buf = e.keep(appendjson.FloatIf(buf, `,"child_cost_usd":`, r.ChildCostUSD))
	buf = appendjson.IntIf(buf, `,"created_at_ms":`, r.CreatedAt)
	buf = appendjson.IntIf(buf, `,"started_at_ms":`, r.StartedAt)
	buf = appendjson.IntIf(buf, `,"finished_at_ms":`, r.FinishedAt)
	buf = appendjson.IntIf(buf, `,"updated_at_ms":`, r.UpdatedAt)
	return e.close(dst, buf)
}

// AppendJSON appends the result of json.Marshal to dst. After an error it returns dst
// unchanged.
func (s *CallState) AppendJSON(dst []byte) ([]byte, error) {
	var e firstError
	buf := appendjson.Text(dst, `{"call_id":`, s.CallID)
	buf = appendjson.Text(buf, `,"tool_name":`, s.ToolName)
	buf = e.keep(appendjson.Raw(buf, `,"arguments":`, s.Arguments))
	buf = appendjson.Text(buf, `,"status":`, s.Status)
	buf = appendjson.Int(buf, `,"updated_at":`, s.UpdatedAt)
	buf = appendjson.TextIf(buf, `,"resume_mode":`, s.ResumeMode)
	buf = e.valueIf(s.Ticket != nil, buf, `,"ticket":`, s.Ticket)
	buf = appendjson.TrueIf(buf, `,"escalated":`, s.Escalated)
	buf = appendjson.TextIf(buf, `,"probe":`, s.Probed.String())
	buf = appendjson.TrueIf(buf, `,"ask_in_doubt":`, s.AskInDoubt)
	buf = appendjson.IntIf(buf, `,"attempts":`, int64(s.Attempts))
	buf = e.valueIf(s.Doubt != nil, buf, `,"in_doubt":`, s.Doubt)
	buf = e.valueIf(s.Decision != nil, buf, `,"resume_input":`, s.Decision)
	buf = e.valueIf(len(s.Earlier) > 0, buf, `,"earlier_decisions":`, s.Earlier)
	buf = e.valueIf(len(s.Approved) > 0, buf, `,"approved":`, s.Approved)
	buf = e.valueIf(s.HeldResult != nil, buf, `,"held":`, s.HeldResult)
	buf = e.valueIf(s.Message != nil, buf, `,"held_message":`, s.Message)
	buf = appendjson.TextIf(buf, `,"run_id":`, s.RunID)
	buf = appendjson.Int(buf, `,"step":`, s.Step)
	buf = appendjson.Int(buf, `,"index":`, s.Index)
	buf = appendjson.TextIf(buf, `,"key":`, s.Key)
	buf = appendjson.TextIf(buf, `,"effect":`, s.Effect)
	buf = appendjson.IntIf(buf, `,"started_at":`, s.StartedAt)
	buf = appendjson.TextIf(buf, `,"child_run_id":`, s.Child)
	if s.Result != nil {
		buf = e.keep(s.Result.appendField(buf))
	}
	buf = e.valueIf(len(s.Steps) > 0, buf, `,"steps":`, s.Steps)
	return e.close(dst, buf)
}

// appendField appends the field "result".
func (r *ToolResult) appendField(dst []byte) ([]byte, error) {
	buf := append(dst, `,"result":`...)
	if r == nil {
		return append(buf, "null"...), nil
	}
	var e firstError
	data := r.Data
	if len(data) == 0 {
		data = nil
	}
	buf = appendjson.Text(buf, `{"tool_name":`, r.ToolName)
	buf = appendjson.Text(buf, `,"status":`, cmp.Or(r.Status, ToolSuccess))
	buf = e.keep(appendjson.Raw(buf, `,"data":`, data))
	buf = appendjson.TextIf(buf, `,"message":`, r.Message)
	buf = e.valueIf(r.Suspension != nil, buf, `,"suspension":`, r.Suspension)
	buf = e.valueIf(len(r.Metadata) > 0, buf, `,"metadata":`, r.Metadata)
	if len(r.Content) > 0 {
		buf = e.keep(appendjson.List(buf, `,"content":`, r.Content, (*llm.Block).AppendJSON))
	}
	buf = e.valueIf(r.Replaces != nil, buf, `,"replaces":`, r.Replaces)
	return e.close(dst, buf)
}

// appendField appends the field "result", unless o is nil.
func (o *RunOutput) appendField(dst []byte) ([]byte, error) {
	if o == nil {
		return dst, nil
	}
	var e firstError
	buf := appendjson.Text(append(dst, `,"result":`...), `{"response":`, o.Response)
	buf = appendjson.Text(buf, `,"status":`, o.Status)
	buf = appendjson.TextIf(buf, `,"status_reason":`, o.StatusReason)
	buf = e.valueIf(o.Waiting != nil, buf, `,"waiting":`, o.Waiting)
	buf = e.keep(appendjson.RawIf(buf, `,"structured_output":`, o.StructuredOutput))
	if o.Usage != (llm.Usage{}) {
		buf = o.Usage.AppendJSON(append(buf, `,"usage":`...))
	}
	buf = e.keep(appendjson.FloatIf(buf, `,"cost_usd":`, o.CostUSD))
	buf = appendjson.TextIf(buf, `,"finish_reason":`, o.FinishReason)
	buf = e.valueIf(len(o.Diagnostics) > 0, buf, `,"diagnostics":`, o.Diagnostics)
	return e.close(dst, buf)
}

// appendField appends the field "identity", unless i is nil.
func (i *RunInfo) appendField(buf []byte) []byte {
	if i == nil {
		return buf
	}
	buf = appendjson.Text(append(buf, `,"identity":`...), `{"thread_id":`, i.ThreadID)
	buf = appendjson.TextIf(buf, `,"parent_thread_id":`, i.ParentThreadID)
	buf = appendjson.Text(buf, `,"run_id":`, i.RunID)
	buf = appendjson.TextIf(buf, `,"parent_run_id":`, i.ParentRunID)
	buf = appendjson.Text(buf, `,"agent_id":`, i.AgentID)
	buf = appendjson.TextIf(buf, `,"parent_tool_call_id":`, i.ParentToolCallID)
	buf = appendjson.TextIf(buf, `,"dispatch_id":`, i.DispatchID)
	buf = appendjson.TextIf(buf, `,"session_id":`, i.SessionID)
	buf = appendjson.TextIf(buf, `,"user_id":`, i.UserID)
	buf = appendjson.TextIf(buf, `,"transport_request_id":`, i.TransportRequestID)
	buf = appendjson.Text(buf, `,"origin":`, i.Origin)
	buf = appendjson.TextIf(buf, `,"run_mode":`, i.Mode)
	buf = appendjson.TextIf(buf, `,"adapter":`, i.Adapter)
	return append(appendjson.IntIf(buf, `,"depth":`, i.Depth), '}')
}

func (t *Termination) append(buf []byte) []byte {
	buf = appendjson.Text(buf, `{"type":`, t.Type)
	switch t.Type {
	case Stopped:
		buf = appendjson.Text(append(buf, `,"value":`...), `{"code":`, t.Code)
		buf = append(appendjson.TextIf(buf, `,"detail":`, t.Detail), '}')
	case Blocked, Failed:
		buf = appendjson.Text(buf, `,"value":`, t.Message)
	}
	if d := t.Details; d != nil {
		buf = appendjson.TextIf(buf, `,"point":`, d.Point)
		buf = appendjson.TextIf(buf, `,"call_id":`, d.CallID)
		buf = appendjson.TextIf(buf, `,"kind":`, d.Kind)
		buf = appendjson.IntIf(buf, `,"cause_at":`, d.CauseAt)
	}
	return append(buf, '}')
}
