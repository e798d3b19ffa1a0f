package awaken

import (
	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/llm"
)

// The encoders of what is written with every commit. They append what json.Marshal
// returns, byte for byte, but do not look types up, and check raw JSON once instead of
// once for each value it is in. What few runs have is left to encoding/json.

// AppendJSON appends what json.Marshal returns. After an error, buf is as it was.
func (r *Run) AppendJSON(buf []byte) ([]byte, error) {
	out, err := r.appendFields(appendjson.Text(buf, `{"run_id":`, r.RunID))
	if err != nil {
		return buf, err
	}
	return append(out, '}'), nil
}

func (r *Run) appendFields(buf []byte) (_ []byte, err error) {
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
	if r.Call != nil {
		if buf, err = appendjson.Value(buf, `,"call":`, r.Call); err != nil {
			return nil, err
		}
	}
	if r.Overrides != nil {
		if buf, err = appendjson.Value(buf, `,"overrides":`, r.Overrides); err != nil {
			return nil, err
		}
	}
	if len(r.FrontendTools) > 0 {
		if buf, err = appendjson.Value(buf, `,"frontend_tools":`, r.FrontendTools); err != nil {
			return nil, err
		}
	}
	if buf, err = appendjson.RawIf(buf, `,"output_schema":`, r.OutputSchema); err != nil {
		return nil, err
	}
	if r.Budget != nil {
		if buf, err = appendjson.Value(buf, `,"budget":`, r.Budget); err != nil {
			return nil, err
		}
	}
	buf = appendjson.TrueIf(buf, `,"budgeted":`, r.Budgeted)
	buf = appendjson.IntIf(buf, `,"output_repairs":`, r.OutputRepairs)
	buf = appendjson.TrueIf(buf, `,"activated":`, r.Activated)
	buf = appendjson.Text(buf, `,"status":`, r.Status)
	buf = appendjson.TextIf(buf, `,"status_reason":`, r.StatusReason)
	if r.Termination != (Termination{}) {
		buf = r.Termination.append(append(buf, `,"termination_reason":`...))
	}
	buf = appendjson.TextIf(buf, `,"final_output":`, r.FinalOutput)
	if buf, err = appendjson.RawIf(buf, `,"structured_output":`, r.StructuredOutput); err != nil {
		return nil, err
	}
	if r.ErrorPayload != nil {
		if buf, err = appendjson.Value(buf, `,"error_payload":`, r.ErrorPayload); err != nil {
			return nil, err
		}
	}
	if buf, err = r.Waiting.appendField(buf); err != nil {
		return nil, err
	}
	if r.Input != (llm.Interval{}) {
		buf = r.Input.AppendJSON(append(buf, `,"input":`...))
	}
	if r.Output != (llm.Interval{}) {
		buf = r.Output.AppendJSON(append(buf, `,"output":`...))
	}
	buf = appendjson.Int(buf, `,"created_at":`, r.CreatedAt)
	buf = appendjson.IntIf(buf, `,"started_at":`, r.StartedAt)
	buf = appendjson.IntIf(buf, `,"finished_at":`, r.FinishedAt)
	buf = appendjson.Int(buf, `,"updated_at":`, r.UpdatedAt)
	buf = appendjson.Int(buf, `,"steps":`, r.Steps)
	buf = appendjson.Int(buf, `,"input_tokens":`, r.InputTokens)
	buf = appendjson.Int(buf, `,"output_tokens":`, r.OutputTokens)
	if r.Usage != (llm.Usage{}) {
		buf = r.Usage.AppendJSON(append(buf, `,"usage":`...))
	}
	if buf, err = appendjson.FloatIf(buf, `,"cost_usd":`, r.CostUSD); err != nil {
		return nil, err
	}
	if r.ChildUsage != (llm.Usage{}) {
		buf = r.ChildUsage.AppendJSON(append(buf, `,"child_usage":`...))
	}
	return appendjson.FloatIf(buf, `,"child_cost_usd":`, r.ChildCostUSD)
}

// AppendJSON appends what json.Marshal returns. After an error, buf is as it was.
func (s *CallState) AppendJSON(buf []byte) ([]byte, error) {
	out, err := s.appendFields(appendjson.Text(buf, `{"call_id":`, s.CallID))
	if err != nil {
		return buf, err
	}
	return append(out, '}'), nil
}

func (s *CallState) appendFields(buf []byte) (_ []byte, err error) {
	buf = appendjson.Text(buf, `,"tool_name":`, s.ToolName)
	if buf, err = appendjson.Raw(buf, `,"arguments":`, s.Arguments); err != nil {
		return nil, err
	}
	buf = appendjson.Text(buf, `,"status":`, s.Status)
	buf = appendjson.Int(buf, `,"updated_at":`, s.UpdatedAt)
	buf = appendjson.TextIf(buf, `,"resume_mode":`, s.ResumeMode)
	if s.Ticket != nil {
		if buf, err = appendjson.Value(buf, `,"ticket":`, s.Ticket); err != nil {
			return nil, err
		}
	}
	buf = appendjson.TrueIf(buf, `,"escalated":`, s.Escalated)
	if s.Decision != nil {
		if buf, err = appendjson.Value(buf, `,"resume_input":`, s.Decision); err != nil {
			return nil, err
		}
	}
	if len(s.Approved) > 0 {
		if buf, err = appendjson.Value(buf, `,"approved":`, s.Approved); err != nil {
			return nil, err
		}
	}
	if s.Held != nil {
		if buf, err = appendjson.Value(buf, `,"held":`, s.Held); err != nil {
			return nil, err
		}
	}
	if s.Message != nil {
		if buf, err = appendjson.Value(buf, `,"held_message":`, s.Message); err != nil {
			return nil, err
		}
	}
	buf = appendjson.TextIf(buf, `,"run_id":`, s.RunID)
	buf = appendjson.Int(buf, `,"step":`, s.Step)
	buf = appendjson.Int(buf, `,"index":`, s.Index)
	buf = appendjson.TextIf(buf, `,"key":`, s.Key)
	buf = appendjson.TextIf(buf, `,"effect":`, s.Effect)
	buf = appendjson.IntIf(buf, `,"started_at":`, s.StartedAt)
	buf = appendjson.TextIf(buf, `,"child_run_id":`, s.Child)
	if s.Result == nil {
		return buf, nil
	}
	return s.Result.appendField(buf)
}

// appendField appends a field "result".
func (r *ToolResult) appendField(buf []byte) (_ []byte, err error) {
	buf = append(buf, `,"result":`...)
	if r == nil {
		return append(buf, "null"...), nil
	}
	status, data := r.Status, r.Data
	if status == "" {
		status = ToolSuccess
	}
	if len(data) == 0 {
		data = nil
	}
	buf = appendjson.Text(buf, `{"tool_name":`, r.ToolName)
	buf = appendjson.Text(buf, `,"status":`, status)
	if buf, err = appendjson.Raw(buf, `,"data":`, data); err != nil {
		return nil, err
	}
	buf = appendjson.TextIf(buf, `,"message":`, r.Message)
	if r.Suspension != nil {
		if buf, err = appendjson.Value(buf, `,"suspension":`, r.Suspension); err != nil {
			return nil, err
		}
	}
	if len(r.Metadata) > 0 {
		if buf, err = appendjson.Value(buf, `,"metadata":`, r.Metadata); err != nil {
			return nil, err
		}
	}
	if len(r.Content) > 0 {
		if buf, err = appendjson.List(buf, `,"content":`, r.Content, (*llm.Block).AppendJSON); err != nil {
			return nil, err
		}
	}
	return append(buf, '}'), nil
}

// appendField appends a field "result", unless o is nil.
func (o *RunOutput) appendField(buf []byte) (_ []byte, err error) {
	if o == nil {
		return buf, nil
	}
	buf = appendjson.Text(append(buf, `,"result":`...), `{"response":`, o.Response)
	buf = appendjson.Text(buf, `,"status":`, o.Status)
	buf = appendjson.TextIf(buf, `,"status_reason":`, o.StatusReason)
	if buf, err = o.Waiting.appendField(buf); err != nil {
		return nil, err
	}
	if buf, err = appendjson.RawIf(buf, `,"structured_output":`, o.StructuredOutput); err != nil {
		return nil, err
	}
	if o.Usage != (llm.Usage{}) {
		buf = o.Usage.AppendJSON(append(buf, `,"usage":`...))
	}
	if buf, err = appendjson.FloatIf(buf, `,"cost_usd":`, o.CostUSD); err != nil {
		return nil, err
	}
	return append(buf, '}'), nil
}

// appendField appends a field "waiting", unless w is nil.
func (w *Waiting) appendField(buf []byte) ([]byte, error) {
	if w == nil {
		return buf, nil
	}
	return appendjson.Value(buf, `,"waiting":`, w)
}

// appendField appends a field "identity", unless i is nil.
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
	return append(buf, '}')
}
