// Package check has what the validation of documents shares.
package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Problems collects what is wrong with a document, so that all of it is reported at once.
type Problems struct {
	Prefix string // begins every message
	errs   []error
}

// Add reports a problem.
func (p *Problems) Add(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s%w", p.Prefix, fmt.Errorf(format, args...)))
}

// Include reports err as it is, unless it is nil.
func (p *Problems) Include(err error) {
	if err != nil {
		p.errs = append(p.errs, err)
	}
}

// Err joins everything that was reported, or is nil.
func (p *Problems) Err() error { return errors.Join(p.errs...) }

// NotBlank reports a field that holds nothing but white space.
func (p *Problems) NotBlank(field, value string) {
	if strings.TrimSpace(value) == "" {
		p.Add("%s is empty", field)
	}
}

// NotNegative reports a field below 0.
func (p *Problems) NotNegative(field string, n int) {
	if n < 0 {
		p.Add("%s is %d, want 0 or more", field, n)
	}
}

// OneOf reports a field whose value is not in want. An empty string in want allows the field
// to be left out; it comes first.
func (p *Problems) OneOf(field, value string, want ...string) {
	if slices.Contains(want, value) {
		return
	}
	if want[0] == "" {
		want = want[1:]
	}
	list, last := strings.Join(want[:len(want)-1], ", "), want[len(want)-1]
	if list != "" {
		last = list + " or " + last
	}
	p.Add("%s is %q, want %s", field, value, last)
}

// NoDuplicates reports every id that a field lists more than once.
func (p *Problems) NoDuplicates(field string, ids []string) {
	for i, id := range ids {
		if slices.Index(ids, id) < i && !slices.Contains(ids[i+1:], id) { // at the last of them
			p.Add("%s lists %q twice", field, id)
		}
	}
}
