package sqlstore

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/internal/threads"
)

// A list reads windows: the next rows of one index, which is chosen for the query, from a place on. A
// row that another condition excludes has no record in the window, and only says how far the window has come.
// So the cost of a page depends on the rows that it reads, which are limited, and never on the rows before
// it or on the size of the table.
const (
	mostExamined = 5_000   // rows for one page, if the caller continues from a place
	mostWindow   = 2_000   // rows in a window
	mostSkipped  = 100_000 // rows up to the page, if the caller begins behind an offset and continues from a place
	clockSkew    = 10 * time.Minute
)

// pages reads a page of a list from windows of rows R, of which some are items T.
type pages[R, T any] struct {
	// at is where the page begins, and is set to where it ends, or to "" if that is the end of the list. If it is nil,
	// the caller continues by offset.
	at    *string
	exact bool // each row is an item
	// window reads the next n rows from a place on, after the first offset ones.
	window func(at threads.Place, offset, n int) ([]R, error)
	// item returns the place of a row, and its item, or nil if the list does not have it.
	item func(row *R) (threads.Place, *T, error)

	from          threads.Place
	offset, limit int
}

// begin sets where the page begins.
func (p *pages[R, T]) begin(offset, limit int) (err error) {
	p.offset, p.limit = threads.Page(offset, limit)
	if p.at == nil {
		return nil
	}
	p.from, err = threads.ParsePlace(*p.at)
	*p.at = ""
	return err
}

// list returns the page.
func (p *pages[R, T]) list() (out []*T, err error) {
	skip, offset := 0, p.offset // in the statement
	if p.at != nil && offset > mostSkipped {
		return nil, errOffset(offset)
	}
	if p.exact && p.offset < math.MaxInt32 {
		skip, p.offset = p.offset, 0
	}
	n := min(p.limit, mostWindow-1) + 1 // one more tells whether there is another page
	var last threads.Place              // of out
	for examined, at := 0, p.from; ; n = min(4*n, mostWindow) {
		rows, err := p.window(at, skip, n)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			var item *T
			if at, item, err = p.item(&rows[i]); err != nil {
				return nil, err
			}
			switch {
			case item == nil:
			case p.offset > 0:
				p.offset--
			case len(out) == p.limit:
				if p.at != nil {
					*p.at = last.String()
				}
				return out, nil
			default:
				out, last = append(out, item), at
			}
		}
		examined, skip = examined+len(rows), 0
		switch {
		case len(rows) < n, p.at == nil && len(out) == p.limit:
			return out, nil
		case p.at != nil && p.offset == 0 && examined >= mostExamined:
			*p.at = at.String()
			return out, nil
		case p.at != nil && p.offset > 0 && examined >= mostSkipped:
			return nil, errOffset(offset)
		}
	}
}

func errOffset(n int) error {
	return fmt.Errorf("%w: offset is %d, which is behind the first %d rows", awaken.ErrInvalid, n, mostSkipped)
}

// arguments are the arguments of a statement.
type arguments []any

// param adds an argument and returns its text.
func (a *arguments) param(arg any) string {
	*a = append(*a, arg)
	return fmt.Sprintf("?%d", len(*a))
}

// among adds texts as arguments and returns the condition that a column has one of them.
func (a *arguments) among(texts []string) string {
	params := []string{`NULL`} // without any, no row is selected
	for _, text := range texts {
		params = append(params, a.param(text))
	}
	return ` IN (` + strings.Join(params, `, `) + `)`
}

// condition is a condition on a row. A condition that an index answers has the text that makes the planner
// see that.
type condition struct{ text, index string }

// choose adds the first condition that an index answers to from, unless an index is chosen already, and the others to rest.
func choose(conditions []condition, chosen bool, from *string, rest *[]string) {
	for _, c := range conditions {
		if c.index != "" && !chosen {
			chosen = true
			*from += ` AND ` + c.text + ` AND ` + c.index
		} else {
			*rest = append(*rest, c.text)
		}
	}
}

// and returns conditions that follow others.
func and(conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return ` AND ` + strings.Join(conditions, ` AND `)
}

// placeAt returns places around a time in a list whose order is about that of times: the rows up to low are older, and those
// behind high are not. Probe returns the place and the time of the last row up to place ?2 of tenant ?1.
func (s *Scope) placeAt(ctx context.Context, probe string, at int64) (low, high int64, err error) {
	err = read(ctx, s.db, "list", func(c Conn) error {
		look := func(before int64) (place, time int64, err error) {
			_, err = row(ctx, c, probe, []any{s.tenant, before}, &place, &time)
			return place, time, err
		}
		place, time, err := look(math.MaxInt64)
		if low, high = 0, place; err != nil || time < at {
			low, high = place, math.MaxInt64
			return err
		}
		for high-low > 128 {
			mid := low + (high-low)/2
			place, time, err := look(mid)
			switch {
			case err != nil:
				return err
			case place > low && time >= at:
				high = place
			default:
				low = mid
			}
		}
		return nil
	})
	return low, high, err
}
