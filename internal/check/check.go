// Package check collects the problems that the validation of a document finds.
package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Problems collects the problems of a document. The zero Problems is empty and ready to use.
type Problems struct {
	Prefix string // of every message
	errs   []error
}

// Add adds a problem; see [fmt.Errorf].
func (p *Problems) Add(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s%w", p.Prefix, fmt.Errorf(format, args...)))
}

// When adds a problem if cond holds.
func (p *Problems) When(cond bool, format string, args ...any) {
	if cond {
		p.Add(format, args...)
	}
}

// Include adds err as it is, unless it is nil.
func (p *Problems) Include(err error) {
	if err != nil {
		p.errs = append(p.errs, err)
	}
}

// Err returns all problems, joined, or nil if there are none.
func (p *Problems) Err() error { return errors.Join(p.errs...) }

// NotBlank adds a problem if value holds nothing but white space.
func (p *Problems) NotBlank(field, value string) {
	if strings.TrimSpace(value) == "" {
		p.Add("%s is empty", field)
	}
}

// NotNegative adds a problem if n is below 0.
func (p *Problems) NotNegative(field string, n int) {
	if n < 0 {
		p.Add("%s is %d, want 0 or more", field, n)
	}
}

// OneOf adds a problem if value is not in want. To allow an empty value, put "" first.
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

// NoDuplicates adds a problem for every id that is listed more than once.
func (p *Problems) NoDuplicates(field string, ids []string) {
	for i, id := range ids {
		if slices.Index(ids, id) < i && !slices.Contains(ids[i+1:], id) { // the last occurrence of a duplicate
			p.Add("%s lists %q twice", field, id)
		}
	}
}
