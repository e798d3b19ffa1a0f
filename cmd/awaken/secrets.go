package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/config"
)

const secretsHelp = `Look after the key that the secrets in documents are encrypted with.

The key is the setting secrets.key (AWAKEN_SECRETS_KEY), or is in a file: the setting
secrets.key_file (AWAKEN_SECRETS_KEY_FILE), or with SQLite the file secrets.key in the
storage folder, which is made at the first start. A file can have several keys, one a line:
the first encrypts, and all of them decrypt. Without the key the secrets are lost: keep a
copy of it, and not beside the copy of the database.`

func secretsCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{Use: "secrets", Short: "Look after the key of the secrets in documents", Long: secretsHelp, Args: cobra.NoArgs}
	cmd.AddCommand(secretKeyCommand(con), rotateCommand(con))
	return cmd
}

func secretKeyCommand(con *console) *cobra.Command {
	return &cobra.Command{
		Use:     "key",
		Short:   "Print a fresh key",
		Long:    "Print a fresh key: 32 random bytes in base64. Nothing is stored or changed.",
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
		Short: "Encrypt every secret with the first key",
		Long: `Encrypt every secret that is encrypted with another key with the first key of the key file.
With --new-key, a fresh key is put in front of the file before.

Where several servers share a database, put the new key in front of the file of all of them
before secrets are encrypted with it. Servers that are running look into the file again when
they meet a key that they do not know. Remove the old key when no secret needs it.`,
		Example: "  awaken secrets rotate --new-key",
		Args:    cobra.NoArgs,
	}
	with := withManager(cmd, false, func(s *settings.Settings) error {
		if !add {
			return nil
		}
		return addSecretKey(con, s)
	})
	cmd.Flags().BoolVar(&add, "new-key", false, "put a fresh key in front of the key file first")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return with(cmd.Context(), func(m *config.Manager) error {
			n, err := m.Rotate(cmd.Context(), commandActor)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(con.out, "encrypted %s again\n", count(n, "secret"))
			return written(err)
		})
	}
	return cmd
}

// addSecretKey puts a fresh key in front of the key file.
func addSecretKey(con *console, s *settings.Settings) error {
	file := keyFile(s)
	switch {
	case !s.Secrets.Key.IsZero():
		return configError("the key is the setting secrets.key (AWAKEN_SECRETS_KEY), which holds only one: put it into a file, name that with secrets.key_file (AWAKEN_SECRETS_KEY_FILE), and try again")
	case file == "":
		return configError("there is no key for secrets: set secrets.key_file (AWAKEN_SECRETS_KEY_FILE) or secrets.key (AWAKEN_SECRETS_KEY); awaken secrets key makes one")
	}
	if err := config.AddKey(file); err != nil {
		return fileError(err)
	}
	fmt.Fprintf(con.err, "put a new key in front of %s\n", printable(file, false))
	return nil
}
