package strict

import (
	"fmt"
	"slices"
	"strings"
)

// Unknown returns the error of a field that does not exist. It suggests the known one that was
// probably meant, if there is one.
func Unknown(name string, known []string) error {
	e := &FieldError{Path: name, Unknown: true}
	if best := Nearest(name, known); best != "" {
		e.problem = fmt.Sprintf(", did you mean %q?", best)
	}
	return e
}

// Nearest returns the known name that is most like name, or "" if none is close: all but a few
// letters are equal, or name is a word of it.
func Nearest(name string, known []string) string {
	if len(name) > 64 {
		return ""
	}
	best, least := "", max(2, len(name)/3)+1
	lower := strings.ToLower(name)
	for _, k := range slices.Sorted(slices.Values(known)) {
		d := Distance(lower, strings.ToLower(k))
		if len(name) > 2 && (strings.HasPrefix(k, lower+"_") || strings.HasSuffix(k, "_"+lower)) {
			d = min(d, 2)
		}
		if d < least && d < len(name) {
			best, least = k, d
		}
	}
	return best
}

// Distance returns how many letters have to be changed, added or removed to turn a into b.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
