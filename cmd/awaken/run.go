package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/demo"
	"github.com/awaken-go/awaken/cmd/awaken/internal/specfile"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
)

const runHelp = `Run an agent and print its answer.

Without a file, a demo agent answers; its scripted model needs no network and no key. -f
reads the agent from a YAML or JSON file. --model uses a real model; its key comes from
--key-file or from the provider's environment variable, such as OPENAI_API_KEY. --record
writes the traffic with the provider to a file, and --playback answers from that file without
network or key.

The arguments are the prompt. Without arguments, the prompt is read from standard input. On
a terminal, that starts a conversation; an empty line, /quit or Ctrl-D ends it.

Threads are stored in $AWAKEN_STORAGE_DIR/awaken.db, or ./.awaken/awaken.db. --thread
continues a thread, --continue the one used last. Without a prompt, they resume the
thread's last run if it waits for a decision or was interrupted.

The answer goes to standard output, everything else to standard error. When a call waits
for a decision, you are asked on the terminal; --approve and --deny decide every call
instead.

Exit status:
  0    the run completed
  1    the run failed
  2    invalid command line or configuration
  3    the run waits for a decision, and there is no terminal to ask on
  4    a stop condition ended the run, for example --max-rounds
  5    the run was blocked
  130  cancelled by Ctrl-C (a second Ctrl-C exits immediately)
  143  cancelled by SIGTERM`

const runExamples = `  awaken run "hello"
  awaken run RUN_WEATHER_TOOL
  awaken run --agent scenario scenario:approval
  awaken run -f agent.yaml "What is new?"
  OPENAI_API_KEY=... awaken run --model openai:gpt-5.5 "What is new?"
  awaken run --model openai:gpt-5.5 --playback answer.jsonl "What is new?"
  awaken run --continue "And now?"
  echo "hello" | awaken run --json`

// runFlags are the flags of awaken run.
type runFlags struct {
	file, agent, thread  string
	json, quiet, verbose bool
	approve, deny        bool
	maxRounds            int
	store                string
	memory, resume       bool
	model, keyFile       string
	record, playback     string
}

func runCommand(con *console) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:     "run [flags] [prompt...]",
		Short:   "Run an agent",
		Long:    runHelp,
		Example: runExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("max-rounds") && f.maxRounds < 1 {
				return usageError("--max-rounds is %d, want 1 or more", f.maxRounds)
			}
			for _, name := range []string{"agent", "thread", "file", "store", "model", "key-file", "record", "playback"} {
				if v, _ := cmd.Flags().GetString(name); cmd.Flags().Changed(name) && strings.TrimSpace(v) == "" {
					return usageError("--%s is empty", name)
				}
			}
			for _, pair := range [][2]string{{"approve", "deny"}, {"json", "quiet"}, {"json", "verbose"}, {"quiet", "verbose"},
				{"thread", "continue"}, {"memory", "store"}, {"memory", "continue"}, {"record", "playback"}, {"key-file", "playback"}} {
				if cmd.Flags().Changed(pair[0]) && cmd.Flags().Changed(pair[1]) {
					return usageError("--%s and --%s cannot be used together", pair[0], pair[1])
				}
			}
			for _, name := range []string{"record", "playback"} {
				if cmd.Flags().Changed(name) && f.model == "" && f.file == "" {
					return usageError("--%s needs --model or --file: the demo model sends no requests", name)
				}
			}
			return run(cmd.Context(), con, &f, args)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&f.file, "file", "f", "", "YAML or JSON `file` with the agent; - is standard input")
	fl.StringVar(&f.agent, "agent", "", "`id` of the agent, if there are several")
	fl.StringVar(&f.model, "model", "", "`provider:model` to use instead of the agent's, such as openai:gpt-5.5")
	fl.StringVar(&f.keyFile, "key-file", "", "`file` with the API key for --model; default the provider's environment variable")
	fl.StringVar(&f.record, "record", "", "`file` to record the traffic with providers to, without keys")
	fl.StringVar(&f.playback, "playback", "", "`file` written by --record to answer from, without network or keys")
	fl.StringVar(&f.thread, "thread", "", "`id` of the thread to continue or create")
	fl.BoolVar(&f.resume, "continue", false, "continue the thread that was used last")
	fl.StringVar(&f.store, "store", "", "`file` that stores the threads; memory stores nothing")
	fl.BoolVar(&f.memory, "memory", false, "store nothing, like --store memory")
	fl.IntVar(&f.maxRounds, "max-rounds", 0, "maximum number of model calls, instead of the agent's limit")
	fl.BoolVar(&f.approve, "approve", false, "approve every call that waits for a decision")
	fl.BoolVar(&f.deny, "deny", false, "deny every call that waits for a decision")
	fl.BoolVar(&f.json, "json", false, "print every event as a line of JSON")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print only the answer")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "also print steps, tokens and a summary")
	return cmd
}

func run(ctx context.Context, con *console, f *runFlags, args []string) (err error) {
	tape, err := openCassette(f.record, f.playback)
	if err != nil {
		return configError("%w", err)
	}
	cfg, err := configure(con, f, tape.outbound())
	if err != nil {
		return err
	}
	defer func() {
		note, closeErr := tape.close()
		if closeErr != nil {
			err = errors.Join(err, failed(closeErr))
		}
		if note != "" && err == nil && !f.quiet {
			fmt.Fprintf(con.err, "awaken: warning: --playback %s: %s\n", f.playback, note)
		}
	}()
	interactive := con.inTTY && f.file != "-"
	prompt, chat, err := findPrompt(con, f, args, interactive)
	if err != nil {
		return err
	}
	if f.memory || f.store == inMemory {
		cfg.Store, cfg.Profile = memory.New(), memory.NewProfile()
	} else {
		db, openErr := openStore(ctx, f.store, true)
		if openErr != nil {
			return openErr
		}
		defer closing(db, &err)
		cfg.Store, cfg.Profile = db.Store(""), db.Profile("")
		if cfg.Restoration, err = loadRestoration(ctx, db.Profile(systemTenant)); err != nil {
			return failed(err)
		}
	}
	l, err := lookAt(ctx, cfg.Store, f)
	if err != nil {
		return withStatus(err)
	}
	if prompt == "" && !chat && l.open == nil {
		return usageError("thread %s has no run to resume, and there is no prompt", l.thread)
	}
	s := &session{con: con, print: newPrinter(con, f), thread: cmp.Or(l.thread, ids.New()), kept: !f.memory && f.store != inMemory, agent: f.agent}
	if f.agent == "" && !l.known { // a known thread has an agent
		agent, err := chooseAgent(cfg.Agents, "")
		if err != nil {
			return configError("%w", inFile(f.file, err))
		}
		s.agent = agent.ID
	}
	discover(ctx, &cfg, slog.New(slog.DiscardHandler))
	cfg.Detached = func(threadID string) awaken.Sink {
		if threadID != s.thread {
			return nil // a background task; the agent gets its result
		}
		return s.print
	}
	if s.rt, err = engine.New(cfg); err != nil {
		return configError("%w", inFile(f.file, err))
	}
	if !f.quiet {
		for _, d := range s.rt.Registry().Diagnostics() {
			fmt.Fprintln(con.err, "awaken: warning:", printable(inFile(f.file, errors.New(d.String())).Error(), false))
		}
	}
	s.sig = listen()
	defer s.sig.stop()
	switch {
	case f.approve:
		s.answers = approveAll
	case f.deny:
		s.answers = denyAll
	case interactive:
		s.answers = askPerson
	}
	l.announce(s, prompt != "", f.quiet)
	switch {
	case chat && l.open != nil:
		return s.chatAfter(ctx, l)
	case chat:
		return s.chat(ctx)
	case prompt == "":
		return s.resume(ctx, l)
	}
	return s.say(ctx, prompt)
}

func newPrinter(con *console, f *runFlags) printer {
	switch {
	case f.json:
		return jsonPrinter{con.out}
	case f.quiet:
		return quietPrinter{con}
	}
	return newHumanPrinter(con, f.verbose)
}

// findPrompt returns the prompt from the command line or standard input, or that there is to
// be a conversation. A prompt is optional when a thread is continued.
func findPrompt(con *console, f *runFlags, args []string, interactive bool) (prompt string, chat bool, err error) {
	what, goesOn := "the prompt", f.thread != "" || f.resume
	switch {
	case len(args) > 0:
		prompt = strings.Join(args, " ")
	case interactive:
		return "", true, nil
	case f.file == "-" && goesOn:
		return "", false, nil
	case f.file == "-":
		return "", false, usageError("no prompt: standard input is the agent file, so the prompt has to be an argument")
	default:
		what = "the prompt on standard input"
		data, err := io.ReadAll(io.LimitReader(con.in, maxPrompt+1))
		if err != nil {
			return "", false, usageError("%s: %w", what, err)
		}
		if prompt = string(data); goesOn && strings.TrimSpace(prompt) == "" {
			return "", false, nil
		}
	}
	if prompt, err = checkPrompt(prompt, what); err != nil {
		return "", false, usageError("%w", err)
	}
	return prompt, false, nil
}

const maxPrompt = 1 << 20

func checkPrompt(prompt, what string) (string, error) {
	prompt = strings.TrimSpace(prompt)
	switch {
	case prompt == "":
		return "", fmt.Errorf("%s is empty", what)
	case len(prompt) > maxPrompt:
		return "", fmt.Errorf("%s is longer than %d bytes", what, maxPrompt)
	case !utf8.ValidString(prompt):
		return "", fmt.Errorf("%s is not UTF-8 text", what)
	}
	return prompt, nil
}

// configure returns the configuration of the runtime, without a store. If the command line
// names an agent, configure checks that it exists.
func configure(con *console, f *runFlags, out outbound) (engine.Config, error) {
	cfg := demo.Config()
	if f.file != "" {
		file, err := readFile(con, f.file)
		if err != nil {
			return cfg, configError("%w", err)
		}
		notes, err := out.use(&cfg, file)
		if err != nil {
			return cfg, configError("%w", inFile(f.file, err))
		}
		if !f.quiet {
			for _, n := range notes {
				fmt.Fprintf(con.err, "awaken: %s: %s\n", fileName(f.file), printable(n, false))
			}
		}
	}
	if f.agent != "" || f.thread == "" && !f.resume {
		if _, err := chooseAgent(cfg.Agents, f.agent); err != nil {
			return cfg, configError("%w", inFile(f.file, err))
		}
	}
	if f.model != "" {
		if err := out.useModel(&cfg, f.model, f.keyFile); err != nil {
			return cfg, configError("%w", err)
		}
	}
	if f.maxRounds > 0 {
		for _, a := range cfg.Agents {
			a.MaxRounds = &f.maxRounds
		}
	}
	return cfg, nil
}

func readFile(con *console, name string) (*specfile.File, error) {
	if name == "-" {
		return specfile.Read(fileName(name), con.in)
	}
	r, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if st, err := r.Stat(); err == nil && st.IsDir() {
		return nil, fmt.Errorf("%s is a folder, want a file", name)
	}
	return specfile.Read(name, r)
}

func fileName(flag string) string {
	if flag == "-" {
		return "standard input"
	}
	return flag
}

// inFile prefixes every line of err with the file's name.
func inFile(flag string, err error) error {
	if flag == "" {
		return err
	}
	name := fileName(flag) + ": "
	return errors.New(name + strings.ReplaceAll(err.Error(), "\n", "\n"+name))
}

// use replaces the demo agents in cfg with those of file. It returns notes for the user.
func (o outbound) use(cfg *engine.Config, file *specfile.File) (notes []string, err error) {
	cfg.Agents = file.Agents
	var errs []error
	cfg.Providers[demo.Adapter] = llmtest.Demo()
	for i := range file.Providers {
		p := &file.Providers[i]
		if err := p.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("providers[%d]: %w", i, err))
			continue
		}
		if slices.ContainsFunc(file.Providers[:i], func(other awaken.ProviderSpec) bool { return other.ID == p.ID }) {
			errs = append(errs, fmt.Errorf("provider %q: is defined twice", p.ID))
		}
		if cfg.Providers[p.ID], err = o.openProvider(p, ""); err != nil {
			errs = append(errs, fmt.Errorf("provider %q: %w", p.ID, err))
			cfg.Providers[p.ID] = llmtest.Demo() // so that its models are not reported as well
		}
	}
	defined := map[string]bool{}
	for i := range file.Models {
		m := &file.Models[i]
		defined[m.ID] = true
		if cfg.Providers[m.ProviderID] == nil && strings.TrimSpace(m.ProviderID) != "" {
			errs = append(errs, fmt.Errorf("model %q: provider_id is %q, which is not defined: define it under providers, or use provider_id %q",
				m.ID, m.ProviderID, demo.ProviderID))
		}
	}
	if !defined[demo.ModelID] {
		file.Models = append(file.Models, demo.Model())
		defined[demo.ModelID] = true
	}
	cfg.Models = file.Models
	for _, a := range cfg.Agents {
		if a.ModelID != "" && !defined[a.ModelID] {
			notes = append(notes, fmt.Sprintf("agent %q: model %q is not defined, using model %q instead", a.ID, a.ModelID, demo.ModelID))
		}
		if !defined[a.ModelID] {
			a.ModelID = demo.ModelID
		}
	}
	return notes, errors.Join(errs...)
}

// chooseAgent returns the agent with an id; without an id, the only agent or the default one.
func chooseAgent(agents []*awaken.AgentSpec, id string) (*awaken.AgentSpec, error) {
	if id == "" && len(agents) == 1 {
		return agents[0], nil
	}
	ids := make([]string, len(agents))
	for i, a := range agents {
		ids[i] = a.ID
	}
	if i := slices.Index(ids, cmp.Or(id, engine.DefaultAgentID)); i >= 0 {
		return agents[i], nil
	}
	if id == "" {
		return nil, fmt.Errorf("there are %d agents: choose one with --agent; available: %s", len(agents), strings.Join(ids, ", "))
	}
	return nil, fmt.Errorf("agent %q not found; available: %s", id, strings.Join(ids, ", "))
}
