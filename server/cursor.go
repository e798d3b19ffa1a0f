package server

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/protocol"
)

// CursorText returns an opaque cursor for the next page of a list. It is bound to the list's
// filters.
func CursorText(prefix string, at any) string {
	data, err := json.Marshal(at)
	if err != nil {
		panic(err) // a struct of ours can always be encoded
	}
	return prefix + base64.RawURLEncoding.EncodeToString(data)
}

var ErrCursor = protocol.BadRequest("cursor must be a valid pagination token")

func ParseCursor(prefix, s string, at any) error {
	raw, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return ErrCursor
	}
	data, err := base64.RawURLEncoding.DecodeString(raw)
	if err != nil || strict.Unmarshal(data, at) != nil {
		return ErrCursor
	}
	return nil
}
