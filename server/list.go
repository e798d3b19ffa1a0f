package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
)

// keyset is the cursor of a list that continues behind an item: new items do not move its pages, and no page costs
// more than the first.
type keyset struct {
	At string `json:"at"`          // the place of the item
	Of string `json:"of"`          // digest of the list's filters
	N  int    `json:"n,omitempty"` // items on the pages before, if the list shows that
}

// filtersOf returns the digest of a list's filters, which the cursors of the list are bound to.
func filtersOf(req *request, filters any) string {
	data, err := json.Marshal([]any{req.route.Path, req.path("thread_id"), filters})
	if err != nil {
		panic(err) // queries can always be encoded
	}
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

var errFilters = protocol.BadRequest("cursor is of a list with other filters, want the filters of the previous page")

// place returns where the page begins that a request asks for: the place of its cursor, with the number of items before it, or
// for a cursor that is a number the offset that it means. Cursors begin with prefix.
func (req *request) place(prefix, filters string) (from keyset, offset int, err error) {
	from = keyset{Of: filters}
	text := req.value("cursor")
	if text == "" {
		return from, 0, nil
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return from, n, nil
	}
	if err := parseCursor(prefix, text, &from); err != nil || from.At == "" || from.N < 0 {
		return from, 0, errCursor
	}
	if from.Of != filters {
		return from, 0, errFilters
	}
	return from, 0, nil
}

// behind is place for a list that has only cursors: a number is none of them.
func (req *request) behind(prefix, filters string) (keyset, error) {
	if _, err := strconv.Atoi(req.value("cursor")); err == nil {
		return keyset{}, errCursor
	}
	from, _, err := req.place(prefix, filters)
	return from, err
}

// next returns the cursor of the page that begins at the place, or "" if there is none.
func (k keyset) next(prefix string) string {
	if k.At == "" {
		return ""
	}
	return cursorText(prefix, k)
}

// badPlace rewords the error of a list for a place that is not one, or an offset that is too far.
func badPlace(err error, offset int) error {
	switch {
	case !errors.Is(err, awaken.ErrInvalid):
		return err
	case offset > 0:
		return protocol.BadRequest("offset is %d, which is too far, want next_cursor of the previous page as cursor", offset)
	}
	return errCursor
}

// times returns the parameters since and until as Unix ms; 0 if they are not set.
func (req *request) times() (since, until int64, err error) {
	parse := func(name string) (int64, error) {
		t, err := timeOf(name, req.value(name))
		if err != nil || t.IsZero() {
			return 0, err
		}
		if t.Before(time.UnixMilli(1)) {
			return 0, protocol.BadRequest("%s is %q, want a time after 1970", name, req.value(name))
		}
		return t.UnixMilli(), nil
	}
	if since, err = parse("since"); err != nil {
		return 0, 0, err
	}
	until, err = parse("until")
	return since, until, err
}
