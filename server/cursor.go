package server

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/protocol"
)

// cursorText returns an opaque cursor for the next page of a list. It is bound to the list's
// filters.
func cursorText(prefix string, at any) string {
	data, err := json.Marshal(at)
	if err != nil {
		panic(err) // a struct of ours can always be encoded
	}
	return prefix + base64.RawURLEncoding.EncodeToString(data)
}

var errCursor = protocol.BadRequest("cursor must be a valid pagination token")

func parseCursor(prefix, s string, at any) error {
	raw, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return errCursor
	}
	data, err := base64.RawURLEncoding.DecodeString(raw)
	if err != nil || strict.Unmarshal(data, at) != nil {
		return errCursor
	}
	return nil
}
