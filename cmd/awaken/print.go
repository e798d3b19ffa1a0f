package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// printer prints a run while it is in progress.
type printer interface {
	awaken.Sink
	// end prints the outcome of a run, or of an activation of it. The result may be nil.
	end(res *awaken.RunResult) error
}

// jsonPrinter prints every event as a line of JSON.
type jsonPrinter struct{ out io.Writer }

func (p jsonPrinter) Emit(_ context.Context, e awaken.Entry) error {
	body, err := awaken.AppendEvent(nil, e.Event)
	if err != nil {
		return err
	}
	b := make([]byte, 0, len(body)+64)
	b = strconv.AppendUint(append(b, `{"seq":`...), e.Seq, 10)
	b = time.UnixMilli(e.Time).UTC().AppendFormat(append(b, `,"timestamp":"`...), "2006-01-02T15:04:05.000Z07:00")
	b = append(append(b, `",`...), body[1:]...)
	_, err = p.out.Write(append(b, '\n'))
	return err
}

func (jsonPrinter) end(*awaken.RunResult) error { return nil }

// quietPrinter prints the answer and nothing else.
type quietPrinter struct{ con *console }

func (quietPrinter) Emit(context.Context, awaken.Entry) error { return nil }

func (p quietPrinter) end(res *awaken.RunResult) error {
	if res == nil || res.Response == "" || res.Termination.Type == awaken.Suspended {
		return nil
	}
	text := res.Response
	if p.con.outTTY {
		text = withoutControls(text)
	}
	_, err := io.WriteString(p.con.out, strings.TrimSuffix(text, "\n")+"\n")
	return err
}

// humanPrinter prints the answer on stdout as it arrives, and everything else on stderr.
type humanPrinter struct {
	con     *console
	verbose bool

	names   map[string]string // of tool calls, by id
	run     string
	step    int
	outOpen bool // the last line on stdout is incomplete
	errOpen bool // the same for stderr
	outErr  error
}

func newHumanPrinter(con *console, verbose bool) *humanPrinter {
	return &humanPrinter{con: con, verbose: verbose, names: map[string]string{}}
}

func (p *humanPrinter) Emit(_ context.Context, e awaken.Entry) error {
	switch ev := e.Event.(type) {
	case *awaken.TextDelta:
		p.text(ev.Delta)
	case *awaken.ReasoningDelta:
		p.aside(ev.Delta)
	case *awaken.ToolCallStreamDelta:
		p.aside(ev.Delta)
	case *awaken.ToolCallStart:
		p.names[ev.ID] = ev.Name
	case *awaken.ToolCallReady:
		p.names[ev.ID] = ev.Name
		p.note("→ %s %s", ev.Name, p.short(compact(ev.Arguments)))
	case *awaken.ToolCallDone:
		p.callDone(ev)
	case *awaken.ToolCallResumed:
		p.callResumed(ev)
	case *awaken.ToolCallCancel:
		p.note("✗ %s: %s", ev.Name, ev.Reason)
	case *awaken.StreamReset:
		p.note("↺ restarting the answer: %s", ev.Reason)
	case *awaken.ActivitySnapshot:
		p.activity(ev)
	case *awaken.ActivityDelta:
		patch, _ := json.Marshal(ev.Patch)
		p.note("• %s %s", ev.ActivityType, p.short(string(patch)))
	case *awaken.RunStart:
		if p.run != ev.RunID { // not when the run is resumed
			p.run, p.step = ev.RunID, 0
			p.detail("· thread %s, run %s", ev.ThreadID, ev.RunID)
		}
	case *awaken.InferenceComplete:
		usage := "tokens unknown"
		if ev.Usage != nil {
			usage = tokens(*ev.Usage)
		}
		p.detail("· %s: %s, %d ms", ev.Model, usage, ev.DurationMS)
	case *awaken.StepEnd:
		p.step++
		p.detail("· step %d done", p.step)
	case *awaken.RunFinish:
		p.closeLines()
		if ev.Result != nil {
			for _, d := range ev.Result.Diagnostics {
				p.note("! %s", d.Message)
			}
		}
	}
	return p.outErr // errors on stderr do not stop the run
}

// text prints a piece of the answer.
func (p *humanPrinter) text(s string) {
	if s == "" {
		return
	}
	p.closeErr()
	if p.con.outTTY {
		s = withoutControls(s)
	}
	p.write(s)
	p.outOpen = !strings.HasSuffix(s, "\n")
}

// aside prints a piece of text that is not part of the answer.
func (p *humanPrinter) aside(s string) {
	if s == "" {
		return
	}
	p.closeOut()
	s = withoutControls(s)
	fmt.Fprint(p.con.err, p.con.dim(s))
	p.errOpen = !strings.HasSuffix(s, "\n")
}

// note prints a line about the progress of the run.
func (p *humanPrinter) note(format string, args ...any) {
	p.closeLines()
	fmt.Fprintln(p.con.err, printable(fmt.Sprintf(format, args...), false))
}

// detail prints a line if verbose is set.
func (p *humanPrinter) detail(format string, args ...any) {
	if !p.verbose {
		return
	}
	p.closeLines()
	fmt.Fprintln(p.con.err, p.con.dim(printable(fmt.Sprintf(format, args...), false)))
}

func (p *humanPrinter) write(s string) {
	if p.outErr == nil {
		_, p.outErr = io.WriteString(p.con.out, s)
	}
}

func (p *humanPrinter) closeLines() {
	p.closeOut()
	p.closeErr()
}

func (p *humanPrinter) closeOut() {
	if p.outOpen {
		p.write("\n")
		p.outOpen = false
	}
}

func (p *humanPrinter) closeErr() {
	if p.errOpen {
		fmt.Fprintln(p.con.err)
		p.errOpen = false
	}
}

func (p *humanPrinter) callDone(ev *awaken.ToolCallDone) {
	name := p.name(ev.ID, ev.Result.ToolName)
	switch ev.Outcome {
	case awaken.CallSuspended:
		why := ev.Result.Message
		if t := ev.Result.Suspension; t != nil && t.Suspension.Message != "" {
			why = t.Suspension.Message
		}
		p.note("⏸ %s: %s", name, why)
	case awaken.CallSucceeded:
		p.note("✓ %s %s", name, p.short(resultText(ev.Result)))
	default:
		p.note("✗ %s: %s", name, p.short(resultText(ev.Result)))
	}
}

// callResumed prints the result of a call that was suspended. The event has no outcome, but a
// failure is an object whose only field is error.
func (p *humanPrinter) callResumed(ev *awaken.ToolCallResumed) {
	var failure map[string]json.RawMessage
	name := p.name(ev.TargetID, "")
	if json.Unmarshal(ev.Result, &failure) == nil && len(failure) == 1 && failure["error"] != nil {
		text := compact(failure["error"])
		_ = json.Unmarshal(failure["error"], &text) // usually a string
		p.note("✗ %s: %s", name, p.short(text))
		return
	}
	p.note("✓ %s %s", name, p.short(compact(ev.Result)))
}

func (p *humanPrinter) name(callID, known string) string {
	return cmp.Or(known, p.names[callID], callID)
}

// activity prints progress as a percentage, and any other activity as JSON.
func (p *humanPrinter) activity(ev *awaken.ActivitySnapshot) {
	var pr awaken.Progress
	if ev.ActivityType != awaken.ProgressActivity || json.Unmarshal(ev.Content, &pr) != nil {
		p.note("• %s %s", ev.ActivityType, p.short(compact(ev.Content)))
		return
	}
	share := pr.Progress
	if share == nil && pr.Loaded != nil && pr.Total != nil && *pr.Total > 0 {
		share = new(*pr.Loaded / *pr.Total)
	}
	text := cmp.Or(p.short(pr.Message), pr.ToolName+" "+pr.Status)
	if share == nil {
		p.note("… %s", text)
		return
	}
	p.note("… %.0f%% %s", math.Min(math.Max(*share, 0), 1)*100, text)
}

func (p *humanPrinter) end(res *awaken.RunResult) error {
	p.closeLines()
	if res != nil {
		p.detail("· %s", summary(res))
	}
	return p.outErr
}

// short truncates a long text, unless verbose is set.
func (p *humanPrinter) short(s string) string {
	const limit = 200
	if p.verbose || len(s) <= limit {
		return s
	}
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	return string(r[:limit]) + "…"
}

// summary describes a run in one line.
func summary(res *awaken.RunResult) string {
	cost := "cost unknown"
	if res.CostUSD > 0 {
		cost = fmt.Sprintf("cost $%.6f", res.CostUSD)
	}
	return fmt.Sprintf("%s: %s, %s, %s, %s", res.Status, res.Termination, count(res.Steps, "step"), tokens(res.Usage), cost)
}

func tokens(u llm.Usage) string {
	return fmt.Sprintf("%d tokens in, %d out", u.PromptTokens, u.CompletionTokens)
}

// resultText returns the data of a result, or else its message or text.
func resultText(r *awaken.ToolResult) string {
	if r.Status == awaken.ToolError && r.Message != "" {
		return r.Message
	}
	if len(r.Data) > 0 && string(r.Data) != "null" {
		return compact(r.Data)
	}
	if r.Message != "" {
		return r.Message
	}
	var sb strings.Builder
	for _, b := range r.Content {
		sb.WriteString(b.Text)
	}
	return sb.String()
}

// compact returns JSON on one line.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
