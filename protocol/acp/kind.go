package acp

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// kinds are the words in the names of tools that tell what kind of tool it is. The first that a name has
// counts.
var kinds = []struct {
	kind  string
	words []string
}{
	{"delete", []string{"delete", "remove", "rm", "unlink"}},
	{"move", []string{"move", "rename", "mv"}},
	{"edit", []string{"edit", "write", "patch", "replace", "insert"}},
	{"search", []string{"search", "grep", "find", "glob"}},
	{"execute", []string{"bash", "exec", "execute", "run", "shell", "terminal", "command"}},
	{"read", []string{"read", "cat", "view", "open", "list", "ls"}},
	{"think", []string{"think", "reason", "plan", "todo", "todos"}},
	{"fetch", []string{"fetch", "http", "curl", "download"}},
}

// kindOf returns the kind of a tool, judging by the words of its name.
func kindOf(tool string) string {
	words := wordsOf(tool)
	for _, k := range kinds {
		if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(k.words, w) }) {
			return k.kind
		}
	}
	return "other"
}

// wordsOf returns the words of a name such as read_file, readFile or mcp__fs__read.
func wordsOf(name string) []string {
	var out []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
		}
		word = word[:0]
	}
	lower := false
	for _, r := range name {
		if !unicode.IsLetter(r) {
			end()
			lower = false
			continue
		}
		if unicode.IsUpper(r) && lower {
			end()
		}
		word, lower = append(word, r), unicode.IsLower(r)
	}
	end()
	return out
}

// arguments are those of a call that editors can show.
type arguments struct {
	path, command    string
	line             *int
	oldText, newText *string
}

// Names that tools give such arguments.
var (
	pathNames    = []string{"path", "file_path", "filePath", "filename", "file"}
	oldNames     = []string{"old_string", "old_text", "oldText", "old_str"}
	newNames     = []string{"new_string", "new_text", "newText", "new_str", "content", "text"}
	commandNames = []string{"command", "cmd", "query", "pattern", "url", "city", "location"}
)

// argumentsOf reads the arguments of a call. A path is absolute, below cwd if it was not.
func argumentsOf(raw json.RawMessage, cwd string) (out arguments) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return out
	}
	text := func(names []string) *string {
		for _, n := range names {
			var s string
			if v, ok := fields[n]; ok && json.Unmarshal(v, &s) == nil {
				return &s
			}
		}
		return nil
	}
	if p := text(pathNames); p != nil && *p != "" && !strings.ContainsRune(*p, 0) {
		out.path = absolute(cwd, *p)
	}
	if c := text(commandNames); c != nil {
		out.command = *c
	}
	var line int
	if json.Unmarshal(fields["line"], &line) == nil && line > 0 {
		out.line = &line
	}
	out.oldText, out.newText = text(oldNames), text(newNames)
	return out
}

// absolute returns a path that is not relative to the working directory.
func absolute(cwd, path string) string {
	path = strings.TrimPrefix(path, "file://")
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(cwd, path)
}

// title says what a call does, in a few words.
func (a *arguments) title(tool, cwd string) string {
	what := a.command
	if a.path != "" {
		what = a.path
		if rel, err := filepath.Rel(cwd, a.path); cwd != "" && err == nil && !strings.HasPrefix(rel, "..") {
			what = rel
		}
	}
	what, _, _ = strings.Cut(what, "\n")
	if what == "" {
		return tool
	}
	if r := []rune(what); len(r) > 80 {
		what = string(r[:80]) + "…"
	}
	return tool + ": " + what
}

// locations returns the files that a call is about.
func (a *arguments) locations() []location {
	if a.path == "" {
		return nil
	}
	return []location{{Path: a.path, Line: a.line}}
}

// diff returns the change that a call makes to a file, or nil.
func (a *arguments) diff(kind string) []callContent {
	if a.path == "" || a.newText == nil || kind != "edit" {
		return nil
	}
	return []callContent{{Type: "diff", Path: a.path, OldText: a.oldText, NewText: a.newText}}
}
