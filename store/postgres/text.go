package postgres

import (
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// escape returns an id as text that PostgreSQL accepts: it writes NUL, \x01 and bytes that
// are not valid UTF-8 as sequences that begin with \x01. Nearly all ids stay unchanged.
func escape(id string) string {
	if plain(id) {
		return id
	}
	var sb strings.Builder
	for i := 0; i < len(id); {
		r, n := utf8.DecodeRuneInString(id[i:])
		switch {
		case id[i] == 0:
			sb.WriteString("\x010")
		case id[i] == 1:
			sb.WriteString("\x011")
		case r == utf8.RuneError && n == 1:
			sb.WriteString("\x01x" + hex.EncodeToString([]byte{id[i]}))
		default:
			sb.WriteString(id[i : i+n])
		}
		i += n
	}
	return sb.String()
}

func plain(id string) bool {
	for i := range len(id) {
		if id[i] <= 1 {
			return false
		}
	}
	return utf8.ValidString(id)
}

// unescape reverts escape.
func unescape(text string) string {
	if strings.IndexByte(text, 1) < 0 {
		return text
	}
	var sb strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != 1 || i+1 == len(text) {
			sb.WriteByte(text[i])
			continue
		}
		i++
		switch text[i] {
		case '0':
			sb.WriteByte(0)
		case '1':
			sb.WriteByte(1)
		case 'x':
			if b, err := hex.DecodeString(text[i+1 : min(i+3, len(text))]); err == nil {
				sb.Write(b)
			}
			i += 2
		}
	}
	return sb.String()
}

// text returns JSON as text, with invalid UTF-8 replaced. Only raw JSON can contain it.
func text(data []byte) string {
	if !utf8.Valid(data) {
		return strings.ToValidUTF8(string(data), "\ufffd")
	}
	return string(data)
}
