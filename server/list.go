package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
)

// Keyset is the cursor of a list that continues behind an item: new items do not move its pages, and no page costs
// more than the first.
type Keyset struct {
	At string `json:"at"`          // the place of the item
	Of string `json:"of"`          // digest of the list's filters
	N  int    `json:"n,omitempty"` // items on the pages before, if the list shows that
}

// FiltersOf returns the digest of a list's filters, which the cursors of the list are bound to.
func FiltersOf(req *Request, filters any) string {
	data, err := json.Marshal([]any{req.route.Path, req.Path("thread_id"), filters})
	if err != nil {
		panic(err) // queries can always be encoded
	}
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

var ErrFilters = protocol.BadRequest("cursor is of a list with other filters, want the filters of the previous page")

// Place returns where the page begins that a request asks for: the place of its cursor, with the number of items before it, or
// for a cursor that is a number the offset that it means. Cursors begin with prefix.
func (q Query) Place(prefix, filters string) (from Keyset, offset int, err error) {
	from = Keyset{Of: filters}
	text := q.Value("cursor")
	if text == "" {
		return from, 0, nil
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return from, n, nil
	}
	if err := ParseCursor(prefix, text, &from); err != nil || from.At == "" || from.N < 0 {
		return from, 0, ErrCursor
	}
	if from.Of != filters {
		return from, 0, ErrFilters
	}
	return from, 0, nil
}

// Behind is place for a list that has only cursors: a number is none of them.
func (q Query) Behind(prefix, filters string) (Keyset, error) {
	if _, err := strconv.Atoi(q.Value("cursor")); err == nil {
		return Keyset{}, ErrCursor
	}
	from, _, err := q.Place(prefix, filters)
	return from, err
}

// Next returns the cursor of the page that begins at the place, or "" if there is none.
func (k Keyset) Next(prefix string) string {
	if k.At == "" {
		return ""
	}
	return CursorText(prefix, k)
}

// BadPlace rewords the error of a list for a place that is not one, or an offset that is too far.
func BadPlace(err error, offset int) error {
	switch {
	case !errors.Is(err, awaken.ErrInvalid):
		return err
	case offset > 0:
		return protocol.BadRequest("offset is %d, too large; want next_cursor of the previous page as cursor", offset)
	}
	return ErrCursor
}
