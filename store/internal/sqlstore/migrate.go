package sqlstore

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Script is a step of a schema. There are no steps back.
type Script struct {
	Version int
	Name    string // of the file
	Text    string // with the prefix substituted
	Digest  string // of the file
}

// Scripts returns the scripts in the folder schema, by version. File names begin
// with the version, as in 0001_tables.sql; versions count from 1 without gaps.
func Scripts(files fs.FS, prefix string) ([]Script, error) {
	names, err := fs.Glob(files, "schema/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	var out []Script
	for i, name := range names {
		version, _, _ := strings.Cut(path.Base(name), "_")
		if n, err := strconv.Atoi(version); err != nil || n != i+1 {
			return nil, fmt.Errorf("script %s: the file name must begin with version %d", name, i+1)
		}
		s, err := ReadScript(files, name, prefix)
		if err != nil {
			return nil, err
		}
		s.Version = i + 1
		out = append(out, s)
	}
	return out, nil
}

// ReadScript reads a file of SQL statements.
func ReadScript(files fs.FS, name, prefix string) (Script, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return Script{}, err
	}
	sum := sha256.Sum256(text)
	return Script{Name: path.Base(name), Text: strings.ReplaceAll(string(text), "{p}", prefix), Digest: hex.EncodeToString(sum[:8])}, nil
}

// Applied is a script that a database has, as its table of scripts names it.
type Applied struct {
	Version      int
	Name, Digest string
}

// Pending returns the scripts that a schema lacks, given what its table lists, by version. It refuses a schema that is newer
// than the scripts, and one that a script of another content has made.
func Pending(scripts []Script, table string, have []Applied) ([]Script, error) {
	for i, a := range have[:min(len(have), len(scripts))] {
		if want := scripts[i]; a.Digest != want.Digest {
			return nil, &OtherSchemaError{Table: table, Script: want.Name, Have: a.Digest, Want: want.Digest}
		}
	}
	if n := len(have); n > len(scripts) {
		return nil, fmt.Errorf("the schema in %s has version %d, this program supports up to %d: use a newer program", table, have[n-1].Version, len(scripts))
	}
	return scripts[len(have):], nil
}

// OtherSchemaError is the error for a database that a version of this program made whose schema was never released: there is no
// way from it to this one.
type OtherSchemaError struct {
	Table, Script string
	Have, Want    string // digests of the script; Have is "" if the table does not name one
}

func (e *OtherSchemaError) Error() string {
	return fmt.Sprintf("the schema in %s is of an unreleased version: %s has digest %q, this program wants %q. With the version that wrote it, "+
		"export documents (`awaken config export --all`) and threads (`awaken threads export ID` on SQLite; on PostgreSQL, the traces of runs "+
		"with `awaken trace export RUN`). Then start this version with an empty database and import with `awaken config apply` and `awaken threads import`",
		e.Table, e.Script, e.Have, e.Want)
}

var prefixPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,29}$`)

// Prefix validates the prefix of all names of a schema; "" means "awaken".
func Prefix(name string) (string, error) {
	if name == "" {
		return "awaken", nil
	}
	if !prefixPattern.MatchString(name) {
		return "", fmt.Errorf("prefix is %q, want a lower case letter and up to 29 more lower case letters, digits and _", name)
	}
	return name, nil
}
