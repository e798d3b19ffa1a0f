package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/server"
)

const keysHelp = `Make, list and revoke the keys of a server, in its database.

A read key looks at threads, runs and events. A run key also runs agents, decides and
cancels. An admin key does everything. A key belongs to a tenant and sees nothing of
another's; without --tenant it belongs to the one that runs without a key belong to. With --user it is
that user's: runs that it starts are for them, and it cannot speak for anybody else.

A server that is running knows a new key at once, and a revoked one for five seconds
at most.`

func keysCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Make, list and revoke the keys of a server", Long: keysHelp, Args: cobra.NoArgs}
	cmd.AddCommand(makeKeyCommand(con), listKeysCommand(con), revokeKeyCommand(con))
	return cmd
}

func makeKeyCommand(con *console) *cobra.Command {
	var kind, tenant, user, label string
	cmd := &cobra.Command{
		Use:     "make",
		Short:   "Make a key, and print its secret, which nobody can find out again",
		Example: "  awaken keys make --kind admin\n  awaken keys make --kind run --tenant acme --label 'the web site'",
		Args:    cobra.NoArgs,
	}
	with := withKeys(cmd, true)
	cmd.Flags().StringVar(&kind, "kind", "", "what it allows: `read`, run or admin")
	cmd.Flags().StringVar(&tenant, "tenant", "", "whose threads it is for")
	cmd.Flags().StringVar(&user, "user", "", "whose it is; without it the key speaks for all users of the tenant")
	cmd.Flags().StringVar(&label, "label", "", "what it is for, to recognise it")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch server.Kind(kind) {
		case server.ReadKey, server.RunKey, server.AdminKey:
		default:
			return usageError("--kind is %q, want read, run or admin", kind)
		}
		for flag, v := range map[string]string{"tenant": tenant, "user": user, "label": label} {
			if strings.ContainsFunc(v, unicode.IsControl) || len(v) > 200 {
				return usageError("--%s must have at most 200 bytes and no control characters", flag)
			}
		}
		return with(cmd.Context(), func(keys *server.Keys) error {
			key, secret, err := keys.Make(cmd.Context(), server.Key{Kind: server.Kind(kind), Tenant: tenant, User: user, Label: label})
			if err != nil {
				return err
			}
			fmt.Fprintf(con.err, "made %s; this is its secret, shown only now:\n", key.ID)
			_, err = fmt.Fprintln(con.out, secret.Expose())
			return written(err)
		})
	}
	return cmd
}

func listKeysCommand(con *console) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "list", Short: "List the keys, without their secrets", Args: cobra.NoArgs}
	with := withKeys(cmd, false)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print every key as a line of JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return with(cmd.Context(), func(keys *server.Keys) error {
			list, err := keys.List(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printLines(con, list)
			}
			if len(list) == 0 {
				fmt.Fprintln(con.err, "There are no keys.")
				return nil
			}
			w := tabwriter.NewWriter(con.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "KEY\tKIND\tTENANT\tUSER\tMADE\tLABEL")
			for _, k := range list {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", cell(k.ID), k.Kind, cmp.Or(cell(k.Tenant), "-"), cmp.Or(cell(k.User), "-"), when(k.CreatedAt), cell(k.Label))
			}
			return written(w.Flush())
		})
	}
	return cmd
}

func revokeKeyCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{Use: "revoke ID", Short: "Make a key useless", Args: cobra.ExactArgs(1)}
	with := withKeys(cmd, false)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return with(cmd.Context(), func(keys *server.Keys) error {
			if err := keys.Revoke(cmd.Context(), args[0]); err != nil {
				return err
			}
			fmt.Fprintf(con.err, "revoked %s\n", printable(args[0], false))
			return nil
		})
	}
	return cmd
}

// withKeys is withBackend for keys.
func withKeys(cmd *cobra.Command, create bool) func(ctx context.Context, fn func(keys *server.Keys) error) error {
	with := withBackend(cmd, create)
	return func(ctx context.Context, fn func(keys *server.Keys) error) error {
		return with(ctx, func(_ *settings.Settings, b *backend) error { return fn(server.NewKeys(b.keys)) })
	}
}
