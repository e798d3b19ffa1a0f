package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
)

func configCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Look at the settings of the server, and move its documents to files and back", Args: cobra.NoArgs}
	check := &cobra.Command{
		Use:   "check",
		Short: "Print the settings of awaken serve and where each came from, and every mistake",
		Long: `Print the settings that awaken serve would have here, and where each came from: the
file, the environment, a flag or a default. Secrets are shown as ***. Settings that
are accepted and have no effect yet are marked as not used. Every mistake is reported
at once, and the exit status is then 2. Nothing is opened or changed.`,
		Example: "  awaken config check --config /etc/awaken/awaken.yaml",
		Args:    cobra.NoArgs,
	}
	load := addSettings(check)
	check.RunE = func(*cobra.Command, []string) error {
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
		return nil
	}
	cmd.AddCommand(check)
	cmd.AddCommand(documentCommands(con)...)
	return cmd
}

// printSettings prints a line for every setting.
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
