package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// The map of packages is a part of a document, between two marks: every package of product code and every kit with the first sentence of
// its documentation.
const (
	mapFile  = "docs/design.md"
	mapBegin = "<!-- packages: written by go run ./scripts/shape -map -->\n"
	mapEnd   = "<!-- end of packages -->\n"
)

// docLink is a link in a Go comment, such as [bus.Bus] or [github.com/awaken-go/awaken.Store].
var docLink = regexp.MustCompile(`\[(?:[\w./-]*/)?([\w.]+)\]`)

// packageMap returns the map of the listed packages. It fails if one has no documentation.
func packageMap(listed []pkg) (string, error) {
	var b strings.Builder
	b.WriteString("| Package | What it does |\n|---|---|\n")
	byPath := make(map[string]string)
	for _, p := range listed {
		if rel := relative(p.ImportPath); isOurs(p.ImportPath) && kindOf(rel) != beside {
			byPath[rel] = p.Doc
		}
	}
	for _, rel := range slices.Sorted(maps.Keys(byPath)) {
		words := strings.SplitN(byPath[rel], " ", 3) // Package x does
		if len(words) < 3 {
			return "", fmt.Errorf("package %s has no documentation", rel)
		}
		does := docLink.ReplaceAllString(words[2], "`$1`")
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.TrimPrefix(rel, "./"), does)
	}
	return b.String(), nil
}

// mapOf returns the map that a document has now, and its place.
func mapOf(document string) (text string, begin, end int, err error) {
	begin, end = strings.Index(document, mapBegin), strings.Index(document, mapEnd)
	if begin < 0 || end < begin {
		return "", 0, 0, fmt.Errorf("%s has no lines %q and %q", mapFile, strings.TrimSpace(mapBegin), strings.TrimSpace(mapEnd))
	}
	begin += len(mapBegin)
	return document[begin:end], begin, end, nil
}

// updateMap writes the map of the tree into a document.
func (t *tree) updateMap(file string) error {
	document, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	_, begin, end, err := mapOf(string(document))
	if err != nil {
		return err
	}
	text, err := packageMap(t.listed)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(string(document[:begin])+text+string(document[end:])), 0o644)
}
