package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/demo"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

// person is a user at a terminal made of pipes.
type person struct {
	t      *testing.T
	typed  *io.PipeWriter
	screen *bufio.Reader // stderr
	out    *syncBuffer   // stdout
	sig    chan os.Signal
	status chan int
}

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// sit starts a session with the scenario agent on a terminal: a conversation, or
// one turn if there is a prompt.
func sit(t *testing.T, prompt string, change ...func(*engine.Config)) *person {
	t.Helper()
	cfg := demo.Config()
	cfg.Store = memory.New()
	for _, c := range change {
		c(&cfg)
	}
	rt, err := engine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	in, typed := io.Pipe()
	screen, stderr := io.Pipe()
	p := &person{t: t, typed: typed, screen: bufio.NewReader(screen), out: &syncBuffer{},
		sig: make(chan os.Signal, 2), status: make(chan int, 1)}
	con := &console{in: in, out: p.out, err: stderr, inTTY: true}
	s := &session{rt: rt, con: con, print: newHumanPrinter(con, false), agent: demo.ScenarioAgentID, answers: askPerson,
		sig: &signals{got: p.sig, kill: func(code int) { t.Errorf("killed with status %d", code) }}}
	ctx := t.Context()
	go func() {
		defer stderr.Close()
		var err error
		if prompt == "" {
			err = s.chat(ctx)
		} else {
			err = s.say(ctx, prompt)
		}
		code := exitOK
		if e, ok := errors.AsType[*exitError](err); ok {
			code = e.code
			if e.err != nil {
				s.complain(e.err.Error())
			}
		} else if err != nil {
			code = -1
		}
		p.status <- code
	}()
	t.Cleanup(func() {
		typed.Close()
		screen.Close()
	})
	return p
}

// sees reads the screen until text is there.
func (p *person) sees(text string) {
	p.t.Helper()
	var got strings.Builder
	for !strings.HasSuffix(got.String(), text) {
		b, err := p.screen.ReadByte()
		if err != nil {
			p.t.Fatalf("%q is not on the screen, but %q", text, got.String())
		}
		got.WriteByte(b)
	}
}

// types types a line, once text is on the screen.
func (p *person) types(after, text string) {
	p.t.Helper()
	p.sees(after)
	if _, err := io.WriteString(p.typed, text+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// ends reads the rest of the screen and checks the exit status.
func (p *person) ends(want int) string {
	p.t.Helper()
	rest, _ := io.ReadAll(p.screen)
	if got := <-p.status; got != want {
		p.t.Fatalf("exit status %d, want %d; screen: %q", got, want, rest)
	}
	return string(rest)
}

func (p *person) said(want string) {
	p.t.Helper()
	if got := p.out.String(); !strings.Contains(got, want) {
		p.t.Errorf("stdout is %q, want %q in it", got, want)
	}
}

const (
	allow  = `Allow delete_file {"path":"/tmp/x"}? [y]es / [n]o / [e]dit arguments / [q]uit `
	newArg = "New arguments of delete_file, as a JSON object (empty to go back): "
	answer = "Answer get_user_location {} (JSON or text, /no to refuse, /quit): "
)

func TestApproval_Yes(t *testing.T) {
	p := sit(t, "scenario:approval")
	p.types(allow, "YES")
	p.ends(exitOK)
	p.said("deleted")
}

func TestApproval_NoTellsTheModel(t *testing.T) {
	p := sit(t, "scenario:approval")
	p.types(allow, "n")
	p.ends(exitOK)
	p.said("refused: denied in the terminal")
	if strings.Contains(p.out.String(), "deleted") {
		t.Errorf("denied, but stdout is %q", p.out)
	}
}

func TestApproval_RepeatsTheQuestionUntilAnswered(t *testing.T) {
	p := sit(t, "scenario:approval")
	for _, s := range []string{"", "perhaps", "yn"} {
		p.types(allow, s)
	}
	p.types(allow, "y")
	p.ends(exitOK)
}

func TestApproval_EditedArgumentsAreUsed(t *testing.T) {
	p := sit(t, "scenario:approval")
	p.types(allow, "e")
	p.types(newArg, "") // thought better of it
	p.types(allow, "e")
	p.types(newArg, "/tmp/y") // no JSON
	p.types(newArg, "[1]")    // no object
	p.types(newArg, "null")
	p.types(newArg, `{"path":5}`) // does not fit the tool's schema
	p.sees("arguments do not fit")
	p.types(allow, "edit")
	p.types(newArg, `{"path":"/tmp/y"}`)
	p.ends(exitOK)
	p.said(`{"path":"/tmp/y","status":"deleted"}`)
}

func TestApproval_QuitAndEndOfInputLeaveTheRunWaiting(t *testing.T) {
	for name, leave := range map[string]func(p *person){
		"quit":             func(p *person) { p.types(allow, "q") },
		"end of input":     func(p *person) { p.sees(allow); p.typed.Close() },
		"end in arguments": func(p *person) { p.types(allow, "e"); p.sees(newArg); p.typed.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			p := sit(t, "scenario:approval")
			leave(p)
			if rest := p.ends(exitWaiting); !strings.Contains(rest, `delete_file {"path":"/tmp/x"}`) {
				t.Errorf("screen is %q, want what is waiting", rest)
			}
		})
	}
}

func TestApproval_SignalCancels(t *testing.T) {
	for sig, want := range map[os.Signal]int{os.Interrupt: exitInterrupted, syscall.SIGTERM: exitTerminated} {
		t.Run(sig.String(), func(t *testing.T) {
			p := sit(t, "scenario:approval")
			p.sees(allow)
			p.sig <- sig
			if rest := p.ends(want); !strings.Contains(rest, "cancelled") {
				t.Errorf("screen is %q", rest)
			}
		})
	}
}

func TestAnswer_IsTheResultOfAFrontendTool(t *testing.T) {
	for typed, want := range map[string]string{
		"Berlin":          "answered: Berlin\n",
		`{"city":"Rome"}`: `answered: {"city":"Rome"}`,
		"21":              "answered: 21\n",
		"/no":             "refused: denied in the terminal",
	} {
		p := sit(t, "scenario:frontend-tool")
		p.types(answer, "")
		p.types(answer, typed)
		p.ends(exitOK)
		p.said(want)
	}
}

func TestAnswer_Quit(t *testing.T) {
	p := sit(t, "scenario:frontend-tool")
	p.types(answer, "/quit")
	p.ends(exitWaiting)
}

// A tool may say what answers it takes. Another answer is asked for again.
func TestAnswer_InvalidAnswersAreAskedForAgain(t *testing.T) {
	choose := awaken.NewTool(awaken.ToolSpec{ID: "choose"}, func(context.Context, *awaken.ToolCall, struct{}) (any, error) {
		return nil, awaken.Suspend(awaken.Ticket{ResumeMode: awaken.UseDecisionAsToolResult,
			Suspension: awaken.Suspension{ResponseSchema: []byte(`{"enum":["red","blue"]}`)}})
	})
	p := sit(t, "RUN_TOOL choose", func(cfg *engine.Config) { cfg.Tools = append(cfg.Tools, choose) })
	p.types("Answer choose {} (JSON or text, /no to refuse, /quit): ", "green")
	p.sees("result does not fit")
	p.types("Answer choose {} (JSON or text, /no to refuse, /quit): ", "blue")
	p.ends(exitOK)
	p.said("answered: blue")
}

// Two calls that wait at the same time are asked about one after the other.
func TestApproval_SeveralCalls(t *testing.T) {
	p := sit(t, "go", func(cfg *engine.Config) {
		scenarioOf(cfg).ToolExecutionMode = awaken.ParallelBatchApproval
		cfg.Providers[demo.ProviderID] = llmtest.NewScript(
			llmtest.Turn{ToolCalls: []llmtest.Call{
				{Name: "delete_file", Arguments: []byte(`{"path":"/a"}`)}, {Name: "delete_file", Arguments: []byte(`{"path":"/b"}`)}}},
			llmtest.Say("done"))
	})
	p.types(`Allow delete_file {"path":"/a"}? [y]es / [n]o / [e]dit arguments / [q]uit `, "y")
	p.types(`Allow delete_file {"path":"/b"}? [y]es / [n]o / [e]dit arguments / [q]uit `, "n")
	rest := p.ends(exitOK)
	for _, want := range []string{`✓ delete_file {"path":"/a","status":"deleted"}`, "✗ delete_file: The call"} {
		if !strings.Contains(rest, want) {
			t.Errorf("screen is %q, want %q", rest, want)
		}
	}
	p.said("done")
}

// A tool that never stops asking is not approved forever.
func TestAutoApprove_GivesUpOnACallThatKeepsAsking(t *testing.T) {
	cfg := demo.Config()
	cfg.Store = memory.New()
	calls := 0
	cfg.Tools = append(cfg.Tools, awaken.NewTool(awaken.ToolSpec{ID: "never"}, func(context.Context, *awaken.ToolCall, struct{}) (any, error) {
		calls++
		return nil, awaken.Suspend(awaken.Ticket{})
	}))
	rt, err := engine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	con := &console{in: strings.NewReader(""), out: io.Discard, err: &stderr}
	s := &session{rt: rt, con: con, print: newHumanPrinter(con, false), answers: approveAll, sig: &signals{}}
	err = s.say(t.Context(), "RUN_TOOL never")
	if e, ok := errors.AsType[*exitError](err); !ok || e.code != exitWaiting {
		t.Errorf("say = %v, want exit status %d", err, exitWaiting)
	}
	if calls != tooOften+1 || !strings.Contains(stderr.String(), "never still waits after 5 decisions") {
		t.Errorf("called %d times; stderr: %s", calls, &stderr)
	}
}

func TestChat_KeepsTheThread(t *testing.T) {
	p := sit(t, "")
	p.types("> ", "hello")
	p.types("> ", `RUN_TOOL append_note {"note":"one"}`)
	p.types("> ", `RUN_TOOL append_note {"note":"two"}`)
	p.types("> ", "/quit")
	p.ends(exitOK)
	p.said(`append_note answered: {"notes":["one","two"],"count":2}`)
}

func TestChat_EndsWithAnEmptyLineOrTheInput(t *testing.T) {
	p := sit(t, "")
	p.types("> ", "  ")
	p.ends(exitOK)
	p = sit(t, "")
	p.sees("> ")
	p.typed.Close()
	p.ends(exitOK)
}

func TestChat_ContinuesAfterAFailure(t *testing.T) {
	p := sit(t, "")
	p.types("> ", "scenario:error")
	p.sees("boom")
	p.types("> ", "a\xffb")
	p.sees("the prompt is not UTF-8 text")
	p.types("> ", "scenario:approval")
	p.types(allow, "q")
	p.sees("waits for a decision")
	p.types("> ", "never mind") // takes the place of what waited
	p.types("> ", "")
	p.ends(exitOK)
	p.said("Scripted response to: never mind")
}

func TestChat_CtrlCCancelsTheTurnAndThenTheChat(t *testing.T) {
	p := sit(t, "", func(cfg *engine.Config) {
		cfg.Providers[demo.ProviderID] = llmtest.NewScript(llmtest.Turn{Text: llmtest.Text{"half"}, Reasoning: llmtest.Text{"hm"}, Hang: true}, llmtest.Say("more"))
	})
	p.types("> ", "hello")
	p.sees("hm") // it has begun
	p.sig <- os.Interrupt
	p.sees("awaken: cancelled\n")
	p.types("> ", "and now?")
	p.sees("> ")
	p.said("more")
	p.sig <- os.Interrupt
	p.ends(exitInterrupted)
}

// The question that was given up still holds the terminal; what is typed then is
// the next message.
func TestChat_CtrlCAtAQuestionCancelsTheTurn(t *testing.T) {
	p := sit(t, "")
	p.types("> ", "scenario:approval")
	p.sees(allow)
	p.sig <- os.Interrupt
	p.sees("awaken: cancelled\n")
	p.types("> ", "y")
	p.sees("> ")
	p.said("Scripted response to: y")
	if _, err := io.WriteString(p.typed, "scenario:text"); err != nil { // the last line has no end
		t.Fatal(err)
	}
	p.typed.Close()
	p.ends(exitOK)
	p.said("This is a short text that arrives in a few pieces.")
}

func TestChat_SIGTERMEndsIt(t *testing.T) {
	p := sit(t, "")
	p.types("> ", "scenario:approval")
	p.sees(allow)
	p.sig <- syscall.SIGTERM
	p.ends(exitTerminated)
}

func TestSignals_ASecondSignalExitsAtOnce(t *testing.T) {
	got := make(chan os.Signal)
	killed := make(chan int, 1)
	s := &signals{got: got, kill: func(code int) { killed <- code }}
	ctx := s.during(t.Context(), func(ctx context.Context) {
		got <- os.Interrupt
		<-ctx.Done()
		got <- syscall.SIGTERM
		if code := <-killed; code != exitTerminated {
			t.Errorf("killed with status %d, want %d", code, exitTerminated)
		}
	})
	if sig, ok := errors.AsType[interrupted](context.Cause(ctx)); !ok || sig.Signal != os.Interrupt {
		t.Errorf("cause is %v, want the first signal", context.Cause(ctx))
	}
}

// Blocking ends the run with a status of its own.
func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		term awaken.TerminationType
		want int
	}{
		{awaken.NaturalEnd, exitOK}, {awaken.BehaviorRequested, exitOK}, {awaken.Suspended, exitWaiting},
		{awaken.Stopped, exitStopped}, {awaken.Blocked, exitBlocked}, {awaken.Cancelled, exitFailed}, {awaken.Failed, exitFailed},
	} {
		err := outcome(t.Context(), &awaken.RunResult{Termination: awaken.Termination{Type: c.term}}, nil)
		got := exitOK
		if e, ok := errors.AsType[*exitError](err); ok {
			got = e.code
		}
		if got != c.want {
			t.Errorf("%s: exit status %d, want %d", c.term, got, c.want)
		}
	}
	for err, want := range map[error]int{awaken.ErrInvalid: exitUsage, awaken.ErrNotFound: exitUsage, &awaken.ConfigError{}: exitUsage,
		awaken.ErrBusy: exitFailed, &llm.Error{Kind: llm.Provider}: exitFailed} {
		e, ok := errors.AsType[*exitError](outcome(t.Context(), nil, err))
		if !ok || e.code != want {
			t.Errorf("%v: %v, want exit status %d", err, e, want)
		}
	}
}

func TestBlocked(t *testing.T) {
	p := sit(t, "scenario:tool", func(cfg *engine.Config) {
		cfg.Plugins = append(cfg.Plugins, blocker{})
		scenarioOf(cfg).PluginIDs = append(scenarioOf(cfg).PluginIDs, "blocker")
	})
	if rest := p.ends(exitBlocked); !strings.Contains(rest, "awaken: blocked: no weather today") {
		t.Errorf("screen is %q", rest)
	}
}

type blocker struct{}

func (blocker) Name() string { return "blocker" }
func (blocker) Register(r *awaken.Registrar) error {
	r.Gate(func(context.Context, *awaken.HookCall) (awaken.Verdict, error) {
		return awaken.Block("no weather today"), nil
	})
	return nil
}

// scenarioOf returns the agent that the tests talk to.
func scenarioOf(cfg *engine.Config) *awaken.AgentSpec {
	return cfg.Agents[slices.IndexFunc(cfg.Agents, func(a *awaken.AgentSpec) bool { return a.ID == demo.ScenarioAgentID })]
}
