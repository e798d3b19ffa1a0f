// Command awaken runs agents.
//
//	awaken run "hello"                 # the demo agent, with a model that needs no key
//	awaken run -f agent.yaml "hello"   # your own agent
//	awaken run                         # a conversation
//	awaken threads                     # the stored conversations
//	awaken serve                       # the server
//	awaken acp                         # an agent for an editor
//
// docs/cli.md describes every command.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	_ "time/tzdata" // schedules name time zones, and the machine may have none

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken/internal/failpoint"
)

func main() {
	if err := failpoint.EnableFromEnv(); err != nil { // for crash tests
		fmt.Fprintln(os.Stderr, "awaken:", err)
		os.Exit(exitUsage)
	}
	con := newConsole(os.Stdin, os.Stdout, os.Stderr)
	os.Exit(execute(context.Background(), con, os.Args[1:]))
}

// execute runs the command line args and returns the exit status.
func execute(ctx context.Context, con *console, args []string) int {
	root := rootCommand(con)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	e, ok := errors.AsType[*exitError](err)
	if !ok { // cobra could not parse the command line
		e = usageError("%w", err)
	}
	if e.err != nil {
		fmt.Fprintln(con.err, "awaken:", printable(e.err.Error(), true))
	}
	if e.usage {
		e.hint = fmt.Sprintf("Run 'awaken help%s' for usage.", strings.TrimPrefix(cmd.CommandPath(), "awaken"))
	}
	if e.hint != "" {
		fmt.Fprintln(con.err, e.hint)
	}
	return e.code
}

func rootCommand(con *console) *cobra.Command {
	root := &cobra.Command{
		Use:           "awaken",
		Short:         "Run AI agents",
		Long:          "Awaken runs AI agents in the terminal, over HTTP, or from your own program.",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(con.in)
	root.SetOut(con.out)
	root.SetErr(con.err)
	root.SetVersionTemplate("awaken {{.Version}}\n")
	root.Flags().Bool("version", false, "print the version") // without the -v that cobra would add
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		serveCommand(con), acpCommand(con), mcpCommand(con), mcpDemoCommand(con), runCommand(con), threadsCommand(con),
		keysCommand(con), usersCommand(con), configCommand(con), secretsCommand(con),
		backupCommand(con), restoreCommand(con), recoverCommand(con), releaseCommand(con),
		patternCommand(con), evalCommand(con), traceCommand(con), replayCommand(con), forkCommand(con), settleCommand(con),
		versionCommand(),
	)
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "awaken", version())
			return err
		},
	}
}

func version() string {
	return fmt.Sprintf("%s %s %s/%s", moduleVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
