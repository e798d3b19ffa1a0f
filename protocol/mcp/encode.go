package mcp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/protocol"
)

// Options configures an [Encoder].
type Options struct {
	// RunID and ThreadID identify the run.
	RunID, ThreadID string
	// Request is the id of the JSON-RPC request that the stream answers.
	Request json.RawMessage
	// Modern selects the era of revision 2026-07-28.
	Modern bool
	// Progress is the token of progress notifications. Nil means none.
	Progress json.RawMessage
	// Level is the level of the least severe messages of the log that are sent. "" means none.
	Level string
	// Elicits says that the client can be asked.
	Elicits bool
	// State returns the requestState of questions with certain tickets, in the newer era.
	State func(tickets []string) string
	// Prefix begins the ids of frames.
	Prefix string

	cfg *Config
}

// place is what the prefix of a frame's id says.
type place struct {
	RunID    string          `json:"r"`
	Request  json.RawMessage `json:"i"`
	Progress json.RawMessage `json:"p,omitempty"`
	Level    string          `json:"l,omitempty"`
	Elicits  bool            `json:"e,omitempty"`
}

// prefix returns the prefix of the ids of a stream's frames. With the position, it is all that is needed to continue
// the stream.
func (o *Options) prefix() string {
	data, _ := json.Marshal(place{o.RunID, o.Request, o.Progress, o.Level, o.Elicits}) // parts are valid JSON
	return base64.RawURLEncoding.EncodeToString(data) + "~"
}

// parsePrefix returns the options and the position that the id of a frame names.
func parsePrefix(id string) (o Options, at protocol.Position, err error) {
	wrong := protocol.BadRequest("Last-Event-ID is %.80q, want the id of a frame of this server", id)
	text, position, ok := strings.Cut(id, "~")
	data, err := base64.RawURLEncoding.DecodeString(text)
	var p place
	if !ok || len(id) > maxToken || err != nil || json.Unmarshal(data, &p) != nil {
		return o, at, wrong
	}
	if !validID(p.Request) || len(p.Progress) > 0 && !validID(p.Progress) {
		return o, at, wrong
	}
	if position != startPosition {
		if at, err = protocol.ParsePosition(position); err != nil {
			return o, at, wrong
		}
	}
	return Options{RunID: p.RunID, Request: p.Request, Progress: p.Progress, Level: p.Level, Elicits: p.Elicits, Prefix: text + "~"}, at, nil
}

// startPosition is the position before the first frame.
const startPosition = "0"

// prime adds the first frame of a stream, which has only an id: a client that is cut off before anything else can resume.
func (o *Options) prime(f *protocol.Frames) {
	prime(f, o.Prefix+startPosition)
}

// prime adds a frame that has only an id.
func prime(f *protocol.Frames, id string) {
	f.Into(append(append(append(f.Bytes(), "id: "...), id...), "\ndata: \n\n"...))
}

// Encoder translates the entries of a run into the messages that answer a tools/call.
type Encoder struct {
	opts   Options
	frames *protocol.Frames
	err    error

	agent    string
	epoch    uint64   // of the latest entry
	settled  bool     // nothing of the epoch can be lost
	progress int64    // of the latest notification
	reported *float64 // the same, of a planned call
	steps    int
	names    map[string]string // tools of calls, by id
	asked    []string          // ids of the tickets that the client was asked for
	called   *called           // the call of a run that consists of one
	final    *callResult       // the result, once it is known
}

// called is the outcome of a planned call.
type called struct {
	result *awaken.ToolResult
	value  json.RawMessage // if it was suspended
	failed bool
}

// NewEncoder returns an encoder at the start of a run.
func NewEncoder(opts Options) *Encoder { return &Encoder{opts: opts, names: map[string]string{}} }

// ownerJump is how far progress jumps where the owner of a run is lost: notifications with the next numbers
// may have been lost with it.
const ownerJump = 1_000_000

// Encode implements [protocol.Encoder].
func (e *Encoder) Encode(f *protocol.Frames, entry *awaken.Entry) error {
	e.frames, e.err = f, nil
	if e.opts.Modern {
		f.Bare()
	} else {
		f.Prefix(e.opts.Prefix)
	}
	if _, reset := entry.Event.(*awaken.StreamReset); !reset {
		if e.epoch != 0 && entry.Epoch != e.epoch && !e.settled {
			e.progress = (e.progress/ownerJump + 1) * ownerJump
		}
		e.epoch, e.settled = entry.Epoch, false
	}
	e.event(entry)
	e.frames = nil
	return e.err
}

// End implements [protocol.Encoder].
func (e *Encoder) End(f *protocol.Frames, fl *protocol.Failure) {
	if fl == nil {
		return
	}
	data, _ := json.Marshal(failed(e.opts.Request, fl)) // strings can always be encoded
	f.Data(data)
}

func (e *Encoder) event(entry *awaken.Entry) {
	switch ev := entry.Event.(type) {
	case *awaken.RunStart:
		if ev.Identity != nil {
			e.agent = ev.Identity.AgentID
		}
		e.log("info", "starting agent run")
	case *awaken.StepStart:
		e.steps++
		e.log("debug", fmt.Sprintf("step %d", e.steps))
	case *awaken.TextDelta:
		e.advance(ev.Delta)
	case *awaken.ToolCallReady:
		e.names[ev.ID] = ev.Name
		if e.planned(ev.ID) { // its progress is what the tool says
			break
		}
		e.log("info", "calling tool: "+ev.Name)
		e.advance("calling tool: " + ev.Name)
	case *awaken.ToolCallStreamDelta:
		e.logAs("info", "tool/"+ev.Name, ev.Delta)
	case *awaken.ActivitySnapshot:
		e.activity(ev)
	case *awaken.InferenceComplete:
		e.log("debug", "inference complete: "+ev.Model)
	case *awaken.ToolCallDone:
		if e.planned(ev.ID) {
			e.called = &called{result: ev.Result, failed: ev.Outcome == awaken.CallFailed}
		}
		if ev.Outcome != awaken.CallSuspended {
			e.done(ev.ID, ev.Outcome, ev.Result.InDoubt())
		}
	case *awaken.ToolCallResumed:
		if e.planned(ev.TargetID) {
			e.called = &called{value: ev.Result, failed: ev.Outcome != awaken.CallSucceeded}
		}
		e.done(ev.TargetID, ev.Outcome, ev.Doubt.Open())
	case *awaken.RunFinish:
		e.settled = true
		e.finish(ev)
	case *awaken.Error:
		e.answer(failedResult("agent run failed: " + ev.Message))
	}
}

// planned reports whether a call is that of a run without a model.
func (e *Encoder) planned(callID string) bool { return callID == "call_"+e.opts.RunID }

func (e *Encoder) done(callID string, how awaken.CallStatus, inDoubt bool) {
	if inDoubt {
		e.log("info", awaken.OutcomeInDoubt.LogLine(e.names[callID]))
		return
	}
	word := map[awaken.CallStatus]string{awaken.CallSucceeded: "success"}[how]
	e.log("info", "tool "+e.names[callID]+" completed: "+cmp.Or(word, "error"))
}

// levels are those of messages, the least severe first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// log sends a message of the log.
func (e *Encoder) log(level, text string) { e.logAs(level, "agent/"+e.agent, text) }

func (e *Encoder) logAs(level, logger, text string) {
	if e.opts.Level == "" || slices.Index(levels, level) < slices.Index(levels, e.opts.Level) {
		return
	}
	buf := append(e.frames.Open(), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"`...)
	buf = appendjson.Text(append(append(buf, level...), '"'), `,"logger":`, logger)
	e.frames.Close(append(appendjson.Text(buf, `,"data":`, text), "}}"...))
}

// advance sends that something has happened.
func (e *Encoder) advance(text string) {
	e.progress++
	if len(e.opts.Progress) == 0 {
		return
	}
	buf := append(e.frames.Open(), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
	buf = appendjson.Int(append(buf, e.opts.Progress...), `,"progress":`, e.progress)
	e.frames.Close(append(appendjson.TextIf(buf, `,"message":`, text), "}}"...))
}

// activity sends the progress that a tool tells.
func (e *Encoder) activity(ev *awaken.ActivitySnapshot) {
	var p awaken.Progress
	if ev.ActivityType != awaken.ProgressActivity || json.Unmarshal(ev.Content, &p) != nil {
		return
	}
	if !e.planned(p.CallID) {
		e.advance(cmp.Or(p.Message, p.ToolName))
		return
	}
	n, total := p.Loaded, p.Total
	if n == nil {
		n, total = p.Progress, new(1.0)
	}
	if n == nil || e.reported != nil && *n <= *e.reported || len(e.opts.Progress) == 0 {
		return
	}
	e.reported = n
	e.write(progressNotification{"2.0", "notifications/progress", progressParams{e.opts.Progress, *n, total, p.Message}})
}

// progressNotification is the progress of a tool that is called without a model.
type progressNotification struct {
	Version string         `json:"jsonrpc"`
	Method  string         `json:"method"`
	Params  progressParams `json:"params"`
}

type progressParams struct {
	Token    json.RawMessage `json:"progressToken"`
	Progress float64         `json:"progress"`
	Total    *float64        `json:"total,omitempty"`
	Message  string          `json:"message,omitempty"`
}

// write writes a frame.
func (e *Encoder) write(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		e.err = err
		return
	}
	e.frames.Data(data)
}

// answer sends the result.
func (e *Encoder) answer(r *callResult) {
	e.final = r
	if e.frames == nil { // it is only collected
		return
	}
	cfg := e.opts.cfg
	if cfg == nil {
		cfg = &Config{}
	}
	e.write(response{Version: "2.0", ID: e.opts.Request, Result: cfg.mark(r, e.opts.Modern)})
}

// finish ends an activation.
func (e *Encoder) finish(fin *awaken.RunFinish) {
	if fin.Termination.Type == awaken.Suspended {
		e.wait(fin)
		return
	}
	out := fin.Result
	if out == nil {
		out = &awaken.RunOutput{}
	}
	if e.frames != nil {
		e.log("notice", "completed")
	}
	if e.called != nil {
		e.answer(e.called.callResult(out.Response))
		return
	}
	e.answer(e.agentResult(fin, out))
}

// agentResult returns the result of an agent's tool.
func (e *Encoder) agentResult(fin *awaken.RunFinish, out *awaken.RunOutput) *callResult {
	switch t := fin.Termination; t.Type {
	case awaken.Failed:
		return failedResult("agent run failed: " + t.Message)
	case awaken.Blocked:
		return failedResult("agent run blocked: " + t.Message)
	case awaken.Cancelled:
		return failedResult("agent run cancelled")
	case awaken.Stopped:
		if out.Response == "" {
			return failedResult("agent run stopped: " + t.String())
		}
	}
	r := &callResult{Structured: &outcome{ThreadID: fin.ThreadID, RunID: fin.RunID, Status: "completed", Response: out.Response, Output: out.StructuredOutput}}
	text := out.Response
	if text == "" && len(out.StructuredOutput) > 0 {
		text = compact(out.StructuredOutput)
	}
	r.Content = []content{{Type: "text", Text: new(cmp.Or(text, "(no response)"))}}
	return r
}

// wait asks what the run waits for, or says so if the client cannot be asked.
func (e *Encoder) wait(fin *awaken.RunFinish) {
	w := waitingOf(fin)
	if w == nil {
		w = &awaken.Waiting{}
	}
	switch {
	case len(w.Tickets) == 0 && w.Reason == awaken.WaitBackgroundTasks:
	case len(w.Tickets) == 0 || !e.opts.Elicits:
		e.answer(waitingResult(fin, w))
	case e.opts.Modern:
		r := &callResult{result: result{Type: "input_required"}, State: e.opts.State(w.TicketIDs), Requests: map[string]elicitation{}}
		for i := range w.Tickets {
			r.Requests[w.Tickets[i].TicketID] = question(&w.Tickets[i])
		}
		e.answer(r)
	default:
		for i := range w.Tickets {
			t := &w.Tickets[i]
			if e.frames == nil || slices.Contains(e.asked, t.TicketID) {
				continue
			}
			e.asked = append(e.asked, t.TicketID)
			e.write(struct {
				Version string `json:"jsonrpc"`
				ID      string `json:"id"`
				elicitation
			}{"2.0", elicitID(e.opts.RunID, t.TicketID), question(t)})
		}
	}
}

var _ protocol.Encoder = (*Encoder)(nil)
