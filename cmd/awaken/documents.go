package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/cmd/awaken/internal/specfile"
	"github.com/awaken-go/awaken/config"
)

const filesHelp = `
Documents are YAML or JSON. A file contains lists by namespace (agents, models, model-pools,
providers, mcp-servers, a2a-servers, skills, tools). A folder contains such files, and files
with one document each, named by namespace and id: agents/helper.yaml.

A record in the form {spec, meta} stands for its document, with its overrides.

Secrets are never exported. A secret that a file omits or gives as *** keeps its stored
value. In place of a secret, ${NAME} stands for an environment variable and ${file:PATH}
for the content of a file.`

const documentsHelp = filesHelp + `

The command uses the same database as awaken serve. A running server picks up changes at
once with PostgreSQL, and within two seconds with SQLite.`

// documentCommands returns the commands that move documents between files and the database.
func documentCommands(con *console) []*cobra.Command {
	return []*cobra.Command{exportCommand(con), importCommand(con), diffCommand(con), applyCommand(con)}
}

func exportCommand(con *console) *cobra.Command {
	var all bool
	var out string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the documents of a server as YAML",
		Long: `Write the documents that users created, and the built-in documents that they changed, as
YAML: as lists to standard output or to a file, or to a folder with one file each.
` + documentsHelp,
		Example: "  awaken config export > awaken-documents.yaml\n  awaken config export --all -o documents/",
		Args:    cobra.NoArgs,
	}
	with := withManager(cmd, false, nil)
	cmd.Flags().BoolVar(&all, "all", false, "include unchanged built-in documents")
	cmd.Flags().StringVarP(&out, "output", "o", "", "`path` to write to: a file if it ends in .yaml or .yml, otherwise a folder")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return with(cmd.Context(), func(m *config.Manager) error {
			docs, err := m.Export(cmd.Context(), all)
			if err != nil {
				return err
			}
			switch filepath.Ext(out) {
			case ".yaml", ".yml":
				var buf bytes.Buffer
				if err := specfile.WriteLists(&buf, docs); err != nil {
					return err
				}
				return fileError(os.WriteFile(out, buf.Bytes(), 0o600))
			}
			if out == "" {
				return written(specfile.WriteLists(con.out, docs))
			}
			return exportFolder(con, out, docs)
		})
	}
	return cmd
}

// exportFolder writes one file per document. It removes nothing, and warns about files in the
// folder that are not part of the export.
func exportFolder(con *console, dir string, docs []config.Document) error {
	wrote := map[string]bool{}
	for _, d := range docs {
		name := specfile.FileName(d.Key)
		if fold := strings.ToLower(name); wrote[fold] {
			return configError("%s: its file name differs from another's only in case; export to one file instead", d.Key)
		}
		wrote[strings.ToLower(name)] = true
		var buf bytes.Buffer
		if err := specfile.WriteDocument(&buf, d); err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fileError(err)
		}
		if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
			return fileError(err)
		}
	}
	for _, ns := range config.Namespaces {
		entries, err := os.ReadDir(filepath.Join(dir, string(ns)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fileError(err)
		}
		for _, e := range entries {
			if name := filepath.Join(string(ns), e.Name()); !wrote[strings.ToLower(name)] {
				fmt.Fprintf(con.err, "awaken: %s is not part of the export\n", printable(filepath.Join(dir, name), false))
			}
		}
	}
	fmt.Fprintf(con.err, "wrote %s to %s\n", count(len(docs), "document"), printable(dir, false))
	return nil
}

func importCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE|FOLDER...",
		Short: "Import documents as drafts, without publishing them",
		Long: `Import documents as drafts. They are validated like live documents, but do not affect runs
until you publish them with POST /v1/registry/publish or awaken config apply. Documents that
have not changed are skipped.
` + documentsHelp,
		Example: "  awaken config import documents/",
	}
	withDocuments(con, cmd, true, func(ctx context.Context, m *config.Manager, docs []specfile.Document) error {
		applied, err := m.Apply(ctx, bare(docs), false, true, commandActor)
		if err != nil {
			return located(docs, err)
		}
		printWarnings(con, docs, applied.Warnings)
		for _, d := range applied.Differences {
			i := slices.IndexFunc(docs, func(doc specfile.Document) bool { return doc.Key == d.Key })
			if d.Key.Namespace == config.Tools {
				return located(docs, fmt.Errorf("%s: tool documents cannot be drafts; use awaken config apply", d.Key))
			}
			if _, err := m.Put(ctx, d.Key, docs[i].Spec, true, config.Condition{}, commandActor); err != nil {
				return located(docs, err)
			}
		}
		done := nothingToDo
		if n := len(applied.Differences); n > 0 {
			done = "wrote " + count(n, "draft")
		}
		return printChanges(con, applied.Differences, done)
	})
	return cmd
}

func diffCommand(con *console) *cobra.Command {
	var prune bool
	cmd := &cobra.Command{
		Use:   "diff FILE|FOLDER...",
		Short: "Show the changes that apply would make",
		Long: `Show the changes that awaken config apply would make. The exit status is 0 if
there are no differences, 1 if there are, and 2 if the files are invalid.
` + documentsHelp,
		Example: "  awaken config diff documents/",
	}
	withDocuments(con, cmd, false, func(ctx context.Context, m *config.Manager, docs []specfile.Document) error {
		applied, err := m.Apply(ctx, bare(docs), prune, true, commandActor)
		if err != nil {
			return located(docs, err)
		}
		printWarnings(con, docs, applied.Warnings)
		for _, d := range applied.Differences {
			if err := printDifference(con.out, d); err != nil {
				return written(err)
			}
		}
		if len(applied.Differences) > 0 {
			return failed(nil)
		}
		return nil
	})
	cmd.Flags().BoolVar(&prune, "prune", false, "include documents that the files do not contain")
	return cmd
}

func applyCommand(con *console) *cobra.Command {
	var prune, dry bool
	cmd := &cobra.Command{
		Use:   "apply FILE|FOLDER...",
		Short: "Write and publish documents",
		Long: `Write the documents that differ from the stored ones, and publish them, all or none.
Documents that have not changed are skipped, so applying twice publishes once. --prune
removes documents that users created and the files do not contain, and resets built-in
documents.
` + documentsHelp,
		Example: "  awaken config apply documents/\n  awaken config apply --prune --dry-run documents/",
	}
	withDocuments(con, cmd, true, func(ctx context.Context, m *config.Manager, docs []specfile.Document) error {
		applied, version, err := applyDocuments(ctx, m, docs, prune, dry, commandActor)
		if err != nil {
			return err
		}
		printWarnings(con, docs, applied.Warnings)
		done := nothingToDo
		switch n := len(applied.Differences); {
		case version > 0: // perhaps of drafts that equal the files
			done = fmt.Sprintf("published version %d", version)
		case n > 0:
			done = "would change " + count(n, "document")
		}
		return printChanges(con, applied.Differences, done)
	})
	cmd.Flags().BoolVar(&prune, "prune", false, "remove documents that the files do not contain")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print the changes without making them")
	return cmd
}

// commandActor is the actor of changes made by commands.
var commandActor = config.Actor{ID: "system:command", Label: "awaken config"}

// applyDocuments applies documents. Version is the published version; 0 if nothing was
// published.
func applyDocuments(ctx context.Context, m *config.Manager, docs []specfile.Document, prune, dry bool, by config.Actor) (applied *config.Applied, version int64, err error) {
	before, err := m.Versions().Head(ctx)
	if err != nil {
		return nil, 0, err
	}
	if applied, err = m.Apply(ctx, bare(docs), prune, dry, by); err != nil {
		return nil, 0, located(docs, err)
	}
	after, err := m.Versions().Head(ctx)
	if err != nil || after.Live == before.Live {
		return applied, 0, err
	}
	return applied, after.Live, nil
}

// printWarnings prints warnings about documents, each with its file and line.
func printWarnings(con *console, docs []specfile.Document, warnings []awaken.Diagnostic) {
	for _, d := range warnings {
		fmt.Fprintln(con.err, "awaken: warning:", printable(specfile.Locate(docs, errors.New(d.String())).Error(), false))
	}
}

// located adds file and line to a mistake in documents.
func located(docs []specfile.Document, err error) error {
	if isUsage(err) || errors.Is(err, config.ErrReadOnly) {
		return configError("%w", specfile.Locate(docs, err))
	}
	if dep, ok := errors.AsType[*config.DependencyError](err); ok {
		return configError("%w", dep)
	}
	return specfile.Locate(docs, err)
}

func bare(docs []specfile.Document) []config.Document {
	out := make([]config.Document, len(docs))
	for i := range docs {
		out[i] = docs[i].Document
	}
	return out
}

// readDocuments reads documents from files and folders; - is standard input.
func readDocuments(con *console, paths []string) ([]specfile.Document, error) {
	var all []specfile.Document
	for _, path := range paths {
		var docs []specfile.Document
		var err error
		if path == "-" {
			docs, err = specfile.ReadDocuments(fileName(path), con.in, os.LookupEnv)
		} else {
			docs, err = specfile.Documents(path, os.LookupEnv)
		}
		if err != nil {
			return nil, configError("%w", err)
		}
		all = append(all, docs...)
	}
	return all, nil
}

const nothingToDo = "nothing to do"

// printChanges prints one line per document, and a summary.
func printChanges(con *console, diffs []config.Difference, done string) error {
	for _, d := range diffs {
		if _, err := fmt.Fprintf(con.out, "%s %s\n", mark(d), printable(d.Key.String(), false)); err != nil {
			return written(err)
		}
	}
	fmt.Fprintln(con.err, done)
	return nil
}

// mark returns + for a new document, - for a removed one and ~ for a changed one.
func mark(d config.Difference) string {
	switch {
	case d.Before == nil:
		return "+"
	case d.After == nil:
		return "-"
	}
	return "~"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// printDifference prints the changed lines of a document as YAML.
func printDifference(w io.Writer, d config.Difference) error {
	var sides [2][]string
	for i, spec := range [][]byte{d.Before, d.After} {
		if spec == nil {
			continue
		}
		var buf bytes.Buffer
		if err := specfile.WriteDocument(&buf, config.Document{Key: d.Key, Spec: spec}); err != nil {
			return err
		}
		sides[i] = strings.Split(strings.TrimSuffix(buf.String(), "\n"), "\n")
	}
	head := fmt.Sprintf("%s %s", mark(d), d.Key)
	if slices.Equal(sides[0], sides[1]) {
		head += " (a secret)"
	}
	var sb strings.Builder
	fmt.Fprintln(&sb, printable(head, false))
	for _, line := range lineDiff(sides[0], sides[1]) {
		fmt.Fprintln(&sb, "  "+printable(line, false))
	}
	_, err := io.WriteString(w, sb.String())
	return err
}

// lineDiff returns the lines that differ, prefixed with - or +.
func lineDiff(a, b []string) []string {
	// longest[i][j] is how many lines a[i:] and b[j:] have in common.
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && longest[i+1][j] >= longest[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return out
}

// withBackend adds the flags that select the database, and others. The function that it
// returns opens the database. If create is set, it creates a missing one.
func withBackend(cmd *cobra.Command, create bool, flags ...string) func(ctx context.Context, fn func(s *settings.Settings, b *backend) error) error {
	load := addSettings(cmd, append([]string{"storage-dir", "database"}, flags...)...)
	return func(ctx context.Context, fn func(s *settings.Settings, b *backend) error) (err error) {
		s, err := load()
		if err != nil {
			return configError("%w", err)
		}
		b, err := openBackend(ctx, s, create, nil)
		if err != nil {
			return err
		}
		defer b.close(&err)
		return withStatus(fn(s, b))
	}
}

// withManager is withBackend for documents. It contacts no provider and needs no provider
// keys. A new database is seeded with the documents of the profile. Before is called with the
// settings first.
func withManager(cmd *cobra.Command, create bool, before func(*settings.Settings) error) func(ctx context.Context, fn func(m *config.Manager) error) error {
	with := withBackend(cmd, create, "seed")
	return func(ctx context.Context, fn func(m *config.Manager) error) error {
		return with(ctx, func(s *settings.Settings, b *backend) error {
			if before != nil {
				if err := before(s); err != nil {
					return err
				}
			}
			m, err := openQuietly(ctx, s, b)
			if err != nil {
				return err
			}
			defer m.Close()
			head, err := m.Versions().Head(ctx)
			if err != nil {
				return failed(err)
			}
			if create && head.Last == 0 {
				if err := seedManager(ctx, m, s); err != nil {
					return err
				}
			}
			return fn(m)
		})
	}
}

// openQuietly opens the manager of a command: it logs nothing, contacts no provider and needs no provider keys.
func openQuietly(ctx context.Context, s *settings.Settings, b *backend) (*config.Manager, error) {
	quiet := slog.New(slog.DiscardHandler)
	shop, err := openSkills(s, quiet)
	if err != nil {
		return nil, err
	}
	return openManager(ctx, s, b, newCode(s), shop, outbound{keyless: true}, quiet)
}

// withDocuments makes cmd read documents from the files and folders in its arguments.
func withDocuments(con *console, cmd *cobra.Command, create bool, fn func(ctx context.Context, m *config.Manager, docs []specfile.Document) error) {
	with := withManager(cmd, create, nil)
	cmd.Args = cobra.MinimumNArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		docs, err := readDocuments(con, args)
		if err != nil {
			return err
		}
		return with(cmd.Context(), func(m *config.Manager) error { return fn(cmd.Context(), m, docs) })
	}
}

// applyFolder applies the documents in the folder config_dir.
func applyFolder(ctx context.Context, con *console, m *config.Manager, s *settings.Settings) error {
	if s.ConfigDir == "" {
		return nil
	}
	docs, err := readDocuments(con, []string{s.ConfigDir})
	if err != nil {
		return err
	}
	_, _, err = applyDocuments(ctx, m, docs, false, false, config.Actor{ID: "system:file", Label: filepath.Base(s.ConfigDir)})
	return withStatus(err)
}
