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
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
)

const keysHelp = `Create, list and revoke the keys of a server, in its database.

A read key can read threads, runs and events. A run key can also run agents, decide calls
and cancel runs. An admin key can do everything. A key belongs to one tenant and sees only
that tenant's data. Without --tenant, that is the default tenant, which also has the runs
of clients without a key. With --user, the key acts for that user only. With --operator, it
acts for every user of the tenant. See docs/users.md.

Creating and revoking a key is recorded in the audit log.

A running server accepts a new key immediately and rejects a revoked one within five seconds.`

func keysCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Create, list and revoke the keys of a server", Long: keysHelp, Args: cobra.NoArgs}
	cmd.AddCommand(makeKeyCommand(con), listKeysCommand(con), revokeKeyCommand(con))
	return cmd
}

func makeKeyCommand(con *console) *cobra.Command {
	var kind, tenant, user, label string
	var operator bool
	cmd := &cobra.Command{
		Use:     "make",
		Short:   "Create a key and print its secret once",
		Example: "  awaken keys make --kind admin\n  awaken keys make --kind run --tenant acme --label 'the web site'",
		Args:    cobra.NoArgs,
	}
	with := withKeys(cmd, true)
	cmd.Flags().StringVar(&kind, "kind", "", "what the key allows: read, run or admin")
	cmd.Flags().StringVar(&tenant, "tenant", "", "tenant whose data the key can access; default the default tenant")
	cmd.Flags().StringVar(&user, "user", "", "user that the key acts for")
	cmd.Flags().BoolVar(&operator, "operator", false, "let the key act for all users of the tenant, as admin keys do")
	cmd.Flags().StringVar(&label, "label", "", "description of the key, for the list of keys")
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
		return with(cmd.Context(), func(keys *access.Keys, audit access.Audit) error {
			key, secret, err := keys.Make(cmd.Context(), server.Key{Kind: server.Kind(kind), Tenant: tenant, User: user, Operator: operator, Label: label}, audit)
			if err != nil {
				return err
			}
			fmt.Fprintf(con.err, "created %s; its secret is shown only once:\n", key.ID)
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
		return with(cmd.Context(), func(keys *access.Keys, _ access.Audit) error {
			list, err := keys.List(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printLines(con, list)
			}
			if len(list) == 0 {
				fmt.Fprintln(con.err, "No keys.")
				return nil
			}
			w := tabwriter.NewWriter(con.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "KEY\tKIND\tTENANT\tUSER\tCREATED\tLABEL")
			for _, k := range list {
				kind := string(k.Kind)
				if k.Operator {
					kind += ", operator"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", cell(k.ID), kind, cmp.Or(cell(k.Tenant), "-"), cmp.Or(cell(k.User), "-"), when(k.CreatedAt), cell(k.Label))
			}
			return written(w.Flush())
		})
	}
	return cmd
}

func revokeKeyCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{Use: "revoke ID", Short: "Revoke a key", Args: cobra.ExactArgs(1)}
	with := withKeys(cmd, false)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return with(cmd.Context(), func(keys *access.Keys, audit access.Audit) error {
			if err := keys.Revoke(cmd.Context(), args[0], audit); err != nil {
				return err
			}
			fmt.Fprintf(con.err, "revoked %s\n", printable(args[0], false))
			return nil
		})
	}
	return cmd
}

// withKeys is withBackend for keys.
func withKeys(cmd *cobra.Command, create bool) func(ctx context.Context, fn func(keys *access.Keys, audit access.Audit) error) error {
	with := withBackend(cmd, create)
	return func(ctx context.Context, fn func(keys *access.Keys, audit access.Audit) error) error {
		return with(ctx, func(s *settings.Settings, b *backend) error {
			var audit access.Audit
			if s.Audit.Enabled {
				audit = auditing(config.NewAuditLog(b.config), config.Actor{ID: commandActor.ID, Label: "awaken keys"})
			}
			return fn(access.NewKeys(b.keys), audit)
		})
	}
}
