package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
)

// session is one conversation with an agent.
type session struct {
	rt     *engine.Runtime
	con    *console
	print  printer
	sig    *signals
	agent  string // "" once the thread has its agent
	thread string // "" until the first run
	kept   bool   // the thread outlives the process

	answers answers
}

// localUser is the user of runs in the terminal.
const localUser = "local"

// answers says who decides suspended calls.
type answers uint8

const (
	leaveWaiting answers = iota
	askPerson
	approveAll
	denyAll
)

// say runs one turn: the prompt, and the decisions on the way. It returns nil if the turn
// completed, and an *exitError otherwise.
func (s *session) say(ctx context.Context, prompt string) error {
	return s.turn(ctx, func(ctx context.Context) (*awaken.RunResult, error) {
		return s.rt.Run(ctx, awaken.RunRequest{AgentID: s.agent, ThreadID: s.thread, UserID: localUser, Messages: []*llm.Message{llm.UserText(prompt)}}, s.print)
	})
}

// resume is a turn without a prompt: it resumes the open run.
func (s *session) resume(ctx context.Context, l *left) error {
	return s.turn(ctx, func(ctx context.Context) (*awaken.RunResult, error) {
		if l.waits() {
			return resultOf(l.open), nil
		}
		return s.rt.Resume(ctx, l.open.RunID, s.print)
	})
}

// turn runs start and settles its result.
func (s *session) turn(ctx context.Context, start func(ctx context.Context) (*awaken.RunResult, error)) error {
	var res *awaken.RunResult
	var err error
	ctx = s.sig.during(ctx, func(ctx context.Context) {
		res, err = start(ctx)
		res, err = s.settle(ctx, res, err)
	})
	out := outcome(ctx, res, err)
	if err := written(s.print.end(res)); err != nil {
		return err
	}
	if e, ok := errors.AsType[*exitError](out); ok && e.code == exitWaiting {
		e.hint = s.waitingHint(res.Waiting)
	}
	return out
}

// waitingHint says how to decide a waiting run.
func (s *session) waitingHint(w *awaken.Waiting) string {
	switch {
	case w != nil && w.Reason == awaken.WaitBudget && s.kept:
		return fmt.Sprintf("Raise the budget of the agent, then resume with 'awaken run --thread %s'.", printable(s.thread, false))
	case w != nil && (w.Reason == awaken.WaitBudget || w.Reason == awaken.WaitPin || w.Reason == awaken.WaitRestored):
		return ""
	case s.kept:
		return fmt.Sprintf("Run 'awaken run --thread %s' on a terminal to decide, or with --approve or --deny.", printable(s.thread, false))
	case s.answers == leaveWaiting:
		return "Run it on a terminal to decide, or with --approve or --deny."
	}
	return ""
}

// awaitTasks waits for the background tasks of a run, and for the run to continue. It returns
// res if no task is in progress in this process.
func (s *session) awaitTasks(ctx context.Context, res *awaken.RunResult) *awaken.RunResult {
	if s.rt.Settle(ctx) != nil {
		return res
	}
	run, err := s.rt.Store().LoadRun(ctx, res.RunID)
	if err != nil || run.Status == awaken.RunWaiting && len(run.Waiting.Tickets) == 0 {
		return res
	}
	return resultOf(run)
}

// resultOf returns the result of a stored run.
func resultOf(run *awaken.Run) *awaken.RunResult {
	res := &awaken.RunResult{RunID: run.RunID, ThreadID: run.ThreadID, AgentID: run.AgentID, Response: run.FinalOutput, Status: run.Status,
		Termination: run.Termination, Waiting: run.Waiting, Steps: run.Steps, Usage: run.Usage, CostUSD: run.CostUSD, FinishReason: run.FinishReason, Diagnostics: run.Diagnostics}
	if run.Status == awaken.RunWaiting {
		res.Termination = awaken.Termination{Type: awaken.Suspended}
	}
	return res
}

// settle decides calls until the run no longer waits.
func (s *session) settle(ctx context.Context, res *awaken.RunResult, err error) (*awaken.RunResult, error) {
	if res == nil {
		return nil, err
	}
	if s.agent = ""; s.thread == "" {
		s.thread = res.ThreadID
	}
	asked := map[string]int{} // how often each call was decided
	for err == nil && res.Termination.Type == awaken.Suspended {
		if len(res.Waiting.Tickets) == 0 && res.Waiting.Reason == awaken.WaitBackgroundTasks {
			if next := s.awaitTasks(ctx, res); next != res {
				res = next
				continue
			}
		}
		if s.answers == leaveWaiting || len(res.Waiting.Tickets) == 0 {
			return res, nil
		}
		decisions, decideErr := s.decide(ctx, res.Waiting, asked)
		if errors.Is(decideErr, errQuit) {
			return res, nil
		}
		if decideErr != nil { // cancelled, or the terminal is gone
			return s.abandon(ctx, res, decideErr)
		}
		next, resumeErr := s.rt.Resume(ctx, res.RunID, s.print, decisions...)
		if next == nil && errors.Is(resumeErr, awaken.ErrInvalid) {
			s.complain(resumeErr.Error()) // ask again
			continue
		}
		if res, err = next, resumeErr; res == nil {
			return nil, err
		}
		for _, why := range res.Rejected {
			s.complain(why)
		}
	}
	return res, err
}

// abandon cancels a run that will not be decided.
func (s *session) abandon(ctx context.Context, res *awaken.RunResult, cause error) (*awaken.RunResult, error) {
	if err := s.rt.Cancel(context.WithoutCancel(ctx), res.RunID); err != nil {
		cause = errors.Join(cause, err)
	}
	return nil, cause
}

func (s *session) complain(text string) {
	fmt.Fprintln(s.con.err, "awaken:", printable(text, true))
}

// chatAfter resumes the open run and then starts a conversation, unless the user leaves the
// run undecided.
func (s *session) chatAfter(ctx context.Context, l *left) error {
	if err := s.resume(ctx, l); err != nil {
		if e, ok := errors.AsType[*exitError](err); !ok || e.code == exitTerminated || e.code == exitWaiting {
			return err
		}
		s.complain(err.Error())
	}
	return s.chat(ctx)
}

// chat reads prompts and answers them until the user ends the conversation.
func (s *session) chat(ctx context.Context) error {
	for {
		var prompt string
		var err error
		waited := s.sig.during(ctx, func(ctx context.Context) { prompt, err = s.con.ask(ctx, "> ") })
		if sig, ok := errors.AsType[interrupted](context.Cause(waited)); ok {
			return &exitError{code: sig.code()}
		}
		if errors.Is(err, io.EOF) || err == nil && (prompt == "" || prompt == "/quit") {
			return nil
		}
		if err != nil {
			return failed(fmt.Errorf("read the prompt: %w", err))
		}
		if prompt, err = checkPrompt(prompt, "the prompt"); err != nil {
			s.complain(err.Error())
			continue
		}
		if err := s.say(ctx, prompt); err != nil {
			e, ok := errors.AsType[*exitError](err)
			if !ok || e.code == exitTerminated {
				return err
			}
			s.complain(err.Error()) // the conversation continues
		}
	}
}

// errQuit reports that the user leaves a call undecided.
var errQuit = errors.New("left undecided")

// tooOften is how many times one call is decided automatically before it is taken to ask
// forever.
const tooOften = 5

// decide returns a decision for every waiting call.
func (s *session) decide(ctx context.Context, w *awaken.Waiting, asked map[string]int) ([]awaken.Decision, error) {
	decisions := make([]awaken.Decision, 0, len(w.Tickets))
	for i := range w.Tickets {
		t := &w.Tickets[i]
		asked[t.ToolCallID]++
		if s.answers != askPerson && asked[t.ToolCallID] > tooOften {
			s.complain(fmt.Sprintf("%s still waits after %d decisions", t.ToolName, tooOften))
			return nil, errQuit
		}
		d := awaken.Decision{Target: t.ToolCallID, Action: awaken.ActionResume}
		var err error
		switch {
		case s.answers == denyAll:
			d.Action, d.Reason = awaken.ActionCancel, "denied by --deny"
		case s.answers == approveAll && t.ResumeMode == awaken.ReplayToolCall:
		case s.answers == approveAll:
			d.Result = json.RawMessage(`{"approved":true}`)
		case t.ResumeMode == awaken.ReplayToolCall:
			err = s.askAllow(ctx, t, &d)
		default:
			err = s.askAnswer(ctx, t, &d)
		}
		if err != nil {
			return nil, err
		}
		decisions = append(decisions, d)
	}
	return decisions, nil
}

// askAllow asks whether a call may be made.
func (s *session) askAllow(ctx context.Context, t *awaken.WaitingTicket, d *awaken.Decision) error {
	always, remember := "", offersThread(t)
	if remember {
		always = " / [a]lways on this thread"
	}
	question := fmt.Sprintf("Allow %s? [y]es%s / [n]o / [e]dit arguments / [q]uit ", showCall(t), always)
	for {
		answer, err := s.ask(ctx, question)
		if err != nil {
			return err
		}
		switch strings.ToLower(answer) {
		case "y", "yes":
			return nil
		case "a", "always":
			if remember {
				d.Result = json.RawMessage(`{"remember":"thread"}`)
				return nil
			}
		case "n", "no":
			d.Action, d.Reason = awaken.ActionCancel, "denied in the terminal"
			return nil
		case "e", "edit":
			if d.Arguments, err = s.askArguments(ctx, t); err != nil || d.Arguments != nil {
				return err
			}
		case "q", "quit":
			return errQuit
		}
	}
}

// offersThread reports whether an approval of the call can be remembered for the thread.
func offersThread(t *awaken.WaitingTicket) bool {
	var asked struct {
		Remember struct {
			Scopes []string `json:"scopes"`
		} `json:"remember"`
	}
	return t.Suspension != nil && json.Unmarshal(t.Suspension.Parameters, &asked) == nil && slices.Contains(asked.Remember.Scopes, "thread")
}

// askArguments asks for new arguments. Nil means that the user keeps the old ones.
func (s *session) askArguments(ctx context.Context, t *awaken.WaitingTicket) (json.RawMessage, error) {
	for {
		answer, err := s.ask(ctx, fmt.Sprintf("New arguments of %s, as a JSON object (empty to go back): ", printable(t.ToolName, false)))
		if err != nil || answer == "" {
			return nil, err
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(answer), &fields); err != nil || fields == nil {
			s.complain("not a JSON object")
			continue
		}
		return json.RawMessage(answer), nil
	}
}

// askAnswer asks for the result of a call that the client has to make.
func (s *session) askAnswer(ctx context.Context, t *awaken.WaitingTicket, d *awaken.Decision) error {
	question := fmt.Sprintf("Answer %s (JSON or text, /no to refuse, /quit): ", showCall(t))
	for {
		answer, err := s.ask(ctx, question)
		if err != nil {
			return err
		}
		switch answer {
		case "":
			continue
		case "/quit", "/q":
			return errQuit
		case "/no", "/n":
			d.Action, d.Reason = awaken.ActionCancel, "denied in the terminal"
			return nil
		}
		if d.Result = json.RawMessage(answer); !json.Valid(d.Result) {
			d.Result, err = json.Marshal(answer)
		}
		return err
	}
}

// ask asks the user. The end of the input means that the user has left.
func (s *session) ask(ctx context.Context, question string) (string, error) {
	answer, err := s.con.ask(ctx, question)
	if errors.Is(err, io.EOF) {
		err = errQuit
	}
	return answer, err
}

// showCall describes a waiting call with all of its arguments: users must see what they
// allow.
func showCall(t *awaken.WaitingTicket) string {
	return printable(t.ToolName+" "+compact(t.Arguments), false)
}

// waitingError describes what a run waits for.
type waitingError struct{ *awaken.Waiting }

func (e waitingError) Error() string {
	switch {
	case e.Waiting == nil:
		return "the run waits"
	case e.Budget != nil:
		return e.Budget.Error()
	case len(e.Tickets) == 0:
		return "the run waits for " + strings.ReplaceAll(string(e.Reason), "_", " ")
	}
	var sb strings.Builder
	sb.WriteString("the run waits for a decision")
	for i := range e.Tickets {
		t := &e.Tickets[i]
		fmt.Fprintf(&sb, "\n  %s", showCall(t))
		if t.Reason != "" {
			fmt.Fprintf(&sb, " (%s)", printable(t.Reason, false))
		}
	}
	return sb.String()
}
