// Package check has what the validation of documents shares.
package check

import (
	"slices"
	"strings"
)

// NotBlank tells bad of a field that has nothing in it.
func NotBlank(bad func(string, ...any), field, value string) {
	if strings.TrimSpace(value) == "" {
		bad("%s is empty", field)
	}
}

// Duplicates returns the ids that are listed more than once.
func Duplicates(ids []string) []string {
	var dup []string
	for i, id := range ids {
		if slices.Contains(ids[:i], id) && !slices.Contains(dup, id) {
			dup = append(dup, id)
		}
	}
	return dup
}
