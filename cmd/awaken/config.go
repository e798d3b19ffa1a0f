package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
)

func configCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check the settings of the server; export and apply its documents", Args: cobra.NoArgs}
	check := &cobra.Command{
		Use:   "check",
		Short: "Print the settings of awaken serve, their sources and all mistakes",
		Long: `Print the settings that awaken serve would use here, and the source of each: the file, the
environment, a flag or the default. Secrets are printed as ***. Settings that are accepted
but have no effect yet are marked as not used. All mistakes are reported at once, with
exit status 2. The command opens and changes nothing.`,
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
