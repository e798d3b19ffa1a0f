package main

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/memory"
)

func configCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check the settings of the server; export and apply its documents", Args: cobra.NoArgs}
	check := &cobra.Command{
		Use:   "check [FILE|FOLDER...]",
		Short: "Print the settings of awaken serve, and check them and documents",
		Long: `Print the settings that awaken serve would use here, and the source of each: the file, the
environment, a flag or the default. Secrets are printed as ***. Settings that are accepted
but have no effect yet are marked as not used. All mistakes are reported together, with
exit status 2. The command opens no database and changes nothing.

Documents in the arguments, or else in config_dir, are checked as a new server with these
settings would check them. Mistakes, and warnings such as a rule that names no tool, are
printed with file and line. MCP servers are not contacted, so names of their tools are
reported as unknown yet. awaken config diff checks documents against a database.
` + filesHelp,
		Example: "  awaken config check --config /etc/awaken/awaken.yaml\n  awaken config check documents/",
	}
	load := addSettings(check)
	check.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := load()
		if err := printSettings(con, s); err != nil {
			return written(err)
		}
		for _, stranger := range s.Strangers(os.Environ()) {
			fmt.Fprintln(con.err, "awaken: warning:", stranger)
		}
		if err != nil {
			return configError("%w", err)
		}
		if len(args) == 0 && s.ConfigDir != "" {
			args = []string{s.ConfigDir}
		}
		return checkDocuments(cmd.Context(), con, *s, args)
	}
	cmd.AddCommand(check)
	cmd.AddCommand(documentCommands(con)...)
	return cmd
}

// checkDocuments applies documents to a new server in memory, and prints the warnings about them.
func checkDocuments(ctx context.Context, con *console, s settings.Settings, paths []string) error {
	docs, err := readDocuments(con, paths)
	if err != nil || len(docs) == 0 && s.AgentsFile == "" {
		return err
	}
	s.Secrets.Key, s.Secrets.KeyFile = awaken.NewSecret(config.NewKey()), "" // which encrypts nothing that lasts
	db, values := memory.NewDB(), memory.NewProfile()
	m, err := openQuietly(ctx, &s, &backend{queue: db, config: db.Config(), keys: values, profile: func(string) profile.Store { return values }})
	if err != nil {
		return err
	}
	defer m.Close()
	s.ConfigDir = "" // the documents in question
	if err := (&control{manager: m}).fill(ctx, con, &s); err != nil {
		return err
	}
	applied, err := m.Apply(ctx, bare(docs), false, true, commandActor)
	if err != nil {
		return withStatus(located(docs, err))
	}
	printWarnings(con, docs, applied.Warnings)
	if len(docs) > 0 {
		fmt.Fprintf(con.err, "checked %s\n", count(len(docs), "document"))
	}
	return nil
}

// printSettings prints one line per setting.
func printSettings(con *console, s *settings.Settings) error {
	w := tabwriter.NewWriter(con.out, 0, 0, 2, ' ', 0)
	for _, v := range s.Values() {
		note := v.Source
		if v.Unused != "" {
			note += "; not used: " + v.Unused
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", v.Name, cell(v.String()), cell(note))
	}
	return w.Flush()
}
