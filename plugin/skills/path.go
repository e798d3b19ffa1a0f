package skills

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pathError is a refused path, with the code that models see.
type pathError struct{ code, message string }

func (e *pathError) Error() string { return e.message }

// cleanPath returns the path of a file below a skill's folder in its only form. It refuses what
// could mean anything else: absolute paths, parents, other separators, control characters.
func cleanPath(p string) (string, error) {
	for strings.HasPrefix(p, "./") {
		p = p[2:]
	}
	invalid := func(why string) (string, error) { return "", &pathError{"invalid_path", "the path " + why} }
	switch {
	case p == "":
		return invalid("is empty")
	case len(p) > maxPathBytes:
		return invalid("is too long")
	case !utf8.ValidString(p):
		return invalid("is not UTF-8")
	case strings.ContainsFunc(p, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }):
		return invalid("has control characters")
	case strings.ContainsAny(p, `\:`):
		return invalid(`has \ or :, want names separated by /`)
	case p[0] == '/' || p[0] == '~':
		return "", &pathError{"path_escapes_root", "the path is not relative to the skill's folder"}
	}
	for name := range strings.SplitSeq(p, "/") {
		switch {
		case name == "..":
			return "", &pathError{"path_escapes_root", "the path leaves the skill's folder"}
		case name == "" || name == ".":
			return invalid("has an empty name")
		case strings.TrimRight(name, ". ") == "" || strings.HasPrefix(name, "."):
			return invalid("has a hidden name")
		}
	}
	return path.Clean(p), nil
}
