package server

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/protocol"
)

// cursorText is an opaque token for the next page of a list. It is bound to the filters
// of the list.
func cursorText(prefix string, at any) string {
	data, err := json.Marshal(at)
	if err != nil {
		panic(err) // it is our own struct
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
