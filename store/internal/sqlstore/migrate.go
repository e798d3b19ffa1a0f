package sqlstore

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Script is a migration. There are no down migrations.
type Script struct {
	Version int
	Name    string // of the file
	Text    string // with the prefix substituted
}

// Scripts returns the migrations in the folder migrations, by version. File names begin
// with the version, as in 0001_init.sql; versions count from 1 without gaps.
func Scripts(files fs.FS, prefix string) ([]Script, error) {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	var out []Script
	for i, name := range names {
		version, _, _ := strings.Cut(path.Base(name), "_")
		if n, err := strconv.Atoi(version); err != nil || n != i+1 {
			return nil, fmt.Errorf("migration %s: the file name must begin with version %d", name, i+1)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		out = append(out, Script{i + 1, path.Base(name), strings.ReplaceAll(string(text), "{p}", prefix)})
	}
	return out, nil
}

// Pending returns the scripts that a schema at a version lacks. It refuses a schema that is
// newer than the scripts.
func Pending(scripts []Script, table string, version int) ([]Script, error) {
	if version > len(scripts) {
		return nil, fmt.Errorf("the schema in %s has version %d, this program supports up to %d: use a newer program", table, version, len(scripts))
	}
	return scripts[version:], nil
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
