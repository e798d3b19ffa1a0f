package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken"
)

const forkHelp = `Repeat a run from one of its steps, with changes, on a new thread of a server.

Calls before the step are history: their results are in the conversation, and they are never
repeated. RUN is the ID of a run, or of a thread, whose latest run is forked.

--set changes the agent of the run's version for this fork only:
  model=ID  prompt=TEXT  temperature=N  top_p=N  max_tokens=N  reasoning_effort=LEVEL
  upstream_model=NAME  agent=ID  version=N (or live)
--result and --decision change the history before the step: the result of a call, or its
decision (refuse, or refuse:REASON). Values that begin with @ name a file.

--tools decides how calls in the fork are handled:
  recorded  a call with the same tool and arguments as in the run gets its result, others are refused
  fixture   only the results of --fixtures are used
  refuse    all calls are refused
  readonly  tools without side effects are called, others refused
  approval  as readonly, but other calls ask a person

The server is AWAKEN_URL, or http://127.0.0.1:3000. AWAKEN_KEY is an admin key that belongs to
no tenant.

Exit status:
  0  the fork has ended, or the command did not wait
  1  it failed, or the server refused it
  2  invalid command line
  3  it waits for a decision
  4  a stop condition ended it
  5  a gate or a guard blocked it`

func forkCommand(con *console) *cobra.Command {
	f := &forkFlags{con: con}
	cmd := &cobra.Command{Use: "fork RUN", Short: "Repeat a run from a step, with changes", Long: forkHelp, Args: cobra.ExactArgs(1),
		Example: "  awaken fork 019a2b6e-6f7e-7c1d-a6a5-5d3a3a8f2f60 --step 1 --set prompt=@better.txt --set temperature=0"}
	fl := cmd.Flags()
	fl.IntVar(&f.step, "step", 0, "step to begin with, from 0")
	fl.StringArrayVar(&f.set, "set", nil, "`NAME=VALUE` of the agent or its parameters")
	fl.StringArrayVar(&f.results, "result", nil, "`CALL=RESULT` replaces the result of a call before the step: a text, or a result in JSON")
	fl.StringArrayVar(&f.decisions, "decision", nil, "`CALL=DECISION` replaces the decision on a call before the step: refuse or refuse:REASON")
	fl.StringVar(&f.tools, "tools", "recorded", "how to handle calls in the fork: recorded, fixture, refuse, readonly or approval")
	fl.StringVar(&f.fixtures, "fixtures", "", `JSON `+"`file`"+` with results of calls in the fork: [{"tool", "arguments", "result"}]`)
	f.server.add(fl)
	fl.BoolVar(&f.asJSON, "json", false, "print the server's answer as JSON, and do not wait")
	fl.DurationVar(&f.wait, "wait", 10*time.Minute, "how long to wait for the end; 0s does not wait")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return withStatus(f.run(cmd.Context(), args[0])) }
	return cmd
}

// forkFlags are the flags of awaken fork.
type forkFlags struct {
	con                     *console
	step                    int
	set, results, decisions []string
	tools, fixtures         string
	server                  serverFlags
	asJSON                  bool
	wait                    time.Duration
}

// forkModes are the values of --tools, and what the server calls them.
var forkModes = map[string]string{"recorded": "recorded", "fixture": "fixture", "refuse": "refuse", "readonly": "read_only", "approval": "real"}

// body returns the request.
func (f *forkFlags) body() (map[string]any, error) {
	mode, ok := forkModes[f.tools]
	if !ok {
		return nil, usageError("--tools is %q; want recorded, fixture, refuse, readonly or approval", f.tools)
	}
	out := map[string]any{"from_step": f.step, "tools": mode}
	overrides := map[string]any{}
	for _, text := range f.set {
		if err := setFork(out, overrides, text); err != nil {
			return nil, err
		}
	}
	if len(overrides) > 0 {
		out["overrides"] = overrides
	}
	results, err := pairs("--result", f.results, func(_, value string) (any, error) {
		if json.Valid([]byte(value)) && strings.HasPrefix(strings.TrimSpace(value), "{") {
			return json.RawMessage(value), nil
		}
		return value, nil
	})
	if err != nil {
		return nil, err
	}
	refused, err := pairs("--decision", f.decisions, func(call, value string) (any, error) {
		word, reason, _ := strings.Cut(value, ":")
		if word != "refuse" {
			return nil, usageError("--decision of call %s is %q; want refuse or refuse:REASON. To make a refused call, fork at its step with --tools approval", call, value)
		}
		return reason, nil
	})
	if err != nil {
		return nil, err
	}
	for name, list := range map[string]map[string]any{"results": results, "refused": refused} {
		if len(list) > 0 {
			out[name] = list
		}
	}
	if f.fixtures != "" {
		data, err := os.ReadFile(f.fixtures)
		if err != nil {
			return nil, configError("%w", err)
		}
		if !json.Valid(data) {
			return nil, configError("%s is not JSON; want a list of {\"tool\", \"arguments\", \"result\"}", f.fixtures)
		}
		out["fixtures"] = json.RawMessage(data)
	}
	return out, nil
}

// pairs reads NAME=VALUE flags.
func pairs(flag string, list []string, read func(name, value string) (any, error)) (map[string]any, error) {
	out := map[string]any{}
	for _, text := range list {
		name, value, err := pair(flag, text)
		if err != nil {
			return nil, err
		}
		if out[name] != nil {
			return nil, usageError("%s has %s twice; want it once", flag, name)
		}
		if out[name], err = read(name, value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// pair cuts NAME=VALUE. A value that begins with @ is the content of a file.
func pair(flag, text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return "", "", usageError("%s is %q; want NAME=VALUE", flag, text)
	}
	if file, ok := strings.CutPrefix(value, "@"); ok {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", "", configError("%s %s: %w", flag, name, err)
		}
		value = strings.TrimSuffix(string(data), "\n")
	}
	return name, value, nil
}

// setFork adds a change to a request.
func setFork(out, overrides map[string]any, text string) error {
	name, value, err := pair("--set", text)
	if err != nil {
		return err
	}
	texts := map[string]string{"model": "model_id", "prompt": "system_prompt", "agent": "agent", "version": "version"}
	switch name {
	case "model", "prompt", "agent", "version":
		out[texts[name]] = value
	case "upstream_model":
		overrides[name] = value
	case "temperature", "top_p":
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return usageError("--set %s is %q; want a number", name, value)
		}
		overrides[name] = n
	case "max_tokens":
		n, err := strconv.Atoi(value)
		if err != nil {
			return usageError("--set %s is %q; want a whole number", name, value)
		}
		overrides[name] = n
	case "reasoning_effort":
		overrides[name] = value
		if n, err := strconv.Atoi(value); err == nil {
			overrides[name] = map[string]int{"budget": n}
		}
	default:
		return usageError("--set has %q; want model, prompt, temperature, top_p, max_tokens, reasoning_effort, upstream_model, agent or version", name)
	}
	return nil
}

// run forks a run.
func (f *forkFlags) run(ctx context.Context, id string) error {
	body, err := f.body()
	if err != nil {
		return err
	}
	c, run, err := f.server.run(ctx, id)
	if err != nil {
		return err
	}
	var made struct {
		ThreadID string `json:"thread_id"`
		RunID    string `json:"run_id"`
		AgentID  string `json:"agent_id"`
		Version  string `json:"version"`
	}
	answer, err := c.call(ctx, "POST", "/v1/runs/"+url.PathEscape(run)+"/fork", body, &made)
	if err != nil {
		return err
	}
	if f.asJSON {
		_, err := fmt.Fprintf(f.con.out, "%s\n", bytes.TrimSpace(answer))
		return written(err)
	}
	if _, err := fmt.Fprintf(f.con.out, "run %s of thread %s, agent %s of version %s\n", cell(made.RunID), cell(made.ThreadID), cell(made.AgentID), cell(made.Version)); err != nil {
		return written(err)
	}
	if f.wait <= 0 {
		return nil
	}
	return f.await(ctx, c, made.RunID)
}

// forked is a run as the server shows it, as far as the command needs it.
type forked struct {
	Status      awaken.RunStatus   `json:"status"`
	Termination awaken.Termination `json:"termination_reason"`
	Answer      string             `json:"final_output"`
	Waiting     *awaken.Waiting    `json:"waiting"`
}

// await waits for the end of a fork and prints its answer. The exit status is the one of `awaken run`.
func (f *forkFlags) await(ctx context.Context, c *client, runID string) error {
	limited, cancel := context.WithTimeout(ctx, f.wait)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		var run forked
		if _, err := c.call(limited, "GET", "/v1/runs/"+url.PathEscape(runID), nil, &run); err != nil {
			return err
		}
		switch run.Status {
		case awaken.RunDone:
			if run.Answer != "" {
				fmt.Fprintln(f.con.out, printable(run.Answer, true))
			}
			return outcome(ctx, &awaken.RunResult{Termination: run.Termination}, nil)
		case awaken.RunWaiting:
			return outcome(ctx, &awaken.RunResult{Termination: awaken.Termination{Type: awaken.Suspended}, Waiting: run.Waiting}, nil)
		}
		select {
		case <-limited.Done():
			return failed(fmt.Errorf("run %s is %s after %s; it continues", runID, run.Status, f.wait))
		case <-time.After(pause):
		}
	}
}
