package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/awaken-go/awaken"
)

// Export holds spans in the JSON encoding of the OpenTelemetry protocol (OTLP), which collectors read from files and over HTTP.
type Export struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resource     `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
}

type resource struct {
	Attributes []attribute `json:"attributes"`
}

type scopeSpans struct {
	Scope scope  `json:"scope"`
	Spans []span `json:"spans"`
}

type scope struct {
	Name string `json:"name"`
}

type span struct {
	TraceID      string      `json:"traceId"`
	SpanID       string      `json:"spanId"`
	ParentSpanID string      `json:"parentSpanId,omitempty"`
	Name         string      `json:"name"`
	Kind         int         `json:"kind"` // 1 internal, 3 client
	Start        string      `json:"startTimeUnixNano"`
	End          string      `json:"endTimeUnixNano"`
	Attributes   []attribute `json:"attributes"`
	Status       status      `json:"status"`
}

type status struct {
	Code    int    `json:"code,omitempty"` // 2 is an error
	Message string `json:"message,omitempty"`
}

type attribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

func text(key, value string) attribute { return attribute{key, map[string]any{"stringValue": value}} }
func number(key string, value int64) attribute {
	return attribute{key, map[string]any{"intValue": strconv.FormatInt(value, 10)}}
}
func decimal(key string, value float64) attribute {
	return attribute{key, map[string]any{"doubleValue": value}}
}

// OTLP returns the spans of a run and its descendants: one for each run, model request and tool call. Span IDs are derived from the run ID,
// so the same run always gives the same spans. Spans contain no texts.
func OTLP(rec *Recording) *Export {
	x := &exporter{trace: digest("trace "+rec.Run.RunID, 16)}
	x.run(rec, "")
	return &Export{[]resourceSpans{{Resource: resource{[]attribute{text("service.name", "awaken")}}, ScopeSpans: []scopeSpans{{scope{"github.com/awaken-go/awaken"}, x.spans}}}}}
}

type exporter struct {
	trace string
	spans []span
}

func digest(of string, n int) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:n])
}

func (x *exporter) run(rec *Recording, parent string) {
	run := rec.Run
	id := digest("run "+run.RunID, 8)
	s := x.span(id, parent, "invoke_agent "+run.AgentID, 1, run.StartedAt, max(run.FinishedAt, run.UpdatedAt))
	s.Attributes = append(s.Attributes, text("gen_ai.operation.name", "invoke_agent"), text("gen_ai.agent.id", run.AgentID), text("gen_ai.conversation.id", run.ThreadID),
		text("awaken.run.id", run.RunID), text("awaken.version", run.ResolutionID), text("awaken.outcome", string(run.Termination.Type)), decimal("awaken.cost_usd", run.CostUSD))
	if run.Termination.Type == awaken.Failed {
		s.Status = status{2, run.Termination.Message}
	}
	x.spans = append(x.spans, s)
	for i, ev := range rec.Lines(false) {
		switch {
		case ev.Inference != nil:
			in := ev.Inference
			s := x.span(digest(fmt.Sprintf("inference %s %d", run.RunID, i), 8), id, "chat "+in.Model, 3, ev.StartedAtMS, ev.EndedAtMS)
			s.Attributes = append(s.Attributes, text("gen_ai.operation.name", "chat"), text("gen_ai.response.model", in.Model), number("gen_ai.usage.input_tokens", in.InputTokens),
				number("gen_ai.usage.output_tokens", in.OutputTokens), decimal("awaken.cost_usd", in.CostUSD), number("awaken.step", int64(*ev.StepIndex)))
			if in.ErrorType != "" {
				s.Attributes, s.Status = append(s.Attributes, text("error.type", in.ErrorType)), status{Code: 2}
			}
			x.spans = append(x.spans, s)
		case ev.Tool != nil:
			s := x.span(toolSpan(run.RunID, ev.Tool.CallID), id, "execute_tool "+ev.Tool.Name, 1, ev.StartedAtMS, ev.EndedAtMS)
			s.Attributes = append(s.Attributes, text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", ev.Tool.Name), text("gen_ai.tool.call.id", ev.Tool.CallID))
			if ev.Tool.Outcome != "" {
				s.Attributes = append(s.Attributes, text("awaken.tool.outcome", string(ev.Tool.Outcome)))
			}
			if ev.Tool.Error != "" {
				s.Attributes, s.Status = append(s.Attributes, text("error.type", ev.Tool.Error)), status{Code: 2}
			}
			x.spans = append(x.spans, s)
		}
	}
	for _, c := range rec.Children {
		above := id
		if c.Run.ParentToolCallID != "" {
			above = toolSpan(run.RunID, c.Run.ParentToolCallID)
		}
		x.run(c, above)
	}
}

func toolSpan(runID, callID string) string { return digest("tool "+runID+" "+callID, 8) }

func (x *exporter) span(id, parent, name string, kind int, start, end int64) span {
	end = max(start, end)
	return span{TraceID: x.trace, SpanID: id, ParentSpanID: parent, Name: name, Kind: kind, Start: nano(start), End: nano(end)}
}

func nano(ms int64) string { return strconv.FormatInt(ms*1_000_000, 10) }
