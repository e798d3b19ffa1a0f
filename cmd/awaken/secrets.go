package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/config"
)

const secretsHelp = `Manage the key that encrypts the secrets in documents.

The key is the value of the setting secrets.key (AWAKEN_SECRETS_KEY), or the content of a
file: the one that the setting secrets.key_file (AWAKEN_SECRETS_KEY_FILE) names or, with
SQLite, secrets.key in the storage folder, which the server creates at its first start. A
file can hold several keys, one per line: the first encrypts, and all of them decrypt.
Without the key the secrets are lost: keep a copy of it, but not next to the copy of the
database.`

func secretsCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{Use: "secrets", Short: "Manage the key that encrypts secrets in documents", Long: secretsHelp, Args: cobra.NoArgs}
	cmd.AddCommand(secretKeyCommand(con), rotateCommand(con))
	return cmd
}

func secretKeyCommand(con *console) *cobra.Command {
	return &cobra.Command{
		Use:     "key",
		Short:   "Print a new key",
		Long:    "Print a new key: 32 random bytes in base64. The command stores nothing.",
		Example: "  (umask 077; awaken secrets key > secrets.key)",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(con.out, config.NewKey())
			return written(err)
		},
	}
}

func rotateCommand(con *console) *cobra.Command {
	var add bool
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Re-encrypt every secret with the first key",
		Long: `Re-encrypt with the first key of the key file every secret that uses another key. With
--new-key, first add a new key at the top of the file.

If several servers share a database, add the new key to the key file of each of them before
you re-encrypt. Running servers reread the file when they find an unknown key. Remove
the old key when no secret needs it.`,
		Example: "  awaken secrets rotate --new-key",
		Args:    cobra.NoArgs,
	}
	with := withManager(cmd, false, func(s *settings.Settings) error {
		if !add {
			return nil
		}
		return addSecretKey(con, s)
	})
	cmd.Flags().BoolVar(&add, "new-key", false, "add a new key at the top of the key file first")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return with(cmd.Context(), func(m *config.Manager) error {
			n, err := m.Rotate(cmd.Context(), commandActor)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(con.out, "re-encrypted %s\n", count(n, "secret"))
			return written(err)
		})
	}
	return cmd
}

// addSecretKey adds a new key at the top of the key file.
func addSecretKey(con *console, s *settings.Settings) error {
	file := keyFile(s)
	switch {
	case !s.Secrets.Key.IsZero():
		return configError("the setting secrets.key (AWAKEN_SECRETS_KEY) holds only one key: move it to a file, set secrets.key_file (AWAKEN_SECRETS_KEY_FILE) and try again")
	case file == "":
		return configError("no key for secrets: set secrets.key_file (AWAKEN_SECRETS_KEY_FILE) or secrets.key (AWAKEN_SECRETS_KEY); awaken secrets key prints a new one")
	}
	if err := config.AddKey(file); err != nil {
		return fileError(err)
	}
	fmt.Fprintf(con.err, "added a new key to %s\n", printable(file, false))
	return nil
}
